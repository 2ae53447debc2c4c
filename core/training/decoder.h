// Viterbi on weights in a table, one sentence at a time: what online learning asks about every sentence.
#pragma once

#include "chain/fallback.h"
#include "training/examples.h"
#include "training/transitions.h"

#include <vector>

namespace tagline {

template <class Real>
class Decoder {
public:
    Decoder(const TransitionLayout& transitions, const Examples& examples, const Variant& variant, const int* stop)
        : transitions_(transitions), examples_(examples), variant_(variant), viterbi_(variant, stop) {}

    // Use these scores between labels from now on; they outlive their use.
    void use(const TransitionTable<Real>& scores);

    // Find the best of all labellings, or of those that the sentence's label sets allow; false where there is none.
    bool find(const WeightTable<Real>& weights, int64_t b, bool allowed, int64_t* labels);

    // The score of a labelling of the sentence that was asked about last.
    double score(const int64_t* labels) const;

private:
    const TransitionLayout& transitions_;
    const Examples& examples_;
    const Variant& variant_;
    const TransitionTable<Real>* scores_ = nullptr;
    std::shared_ptr<const PairLists> lists_;
    Prepared prepared_;
    SafeViterbi<Real> viterbi_;
    std::vector<Real> emissions_, masked_, matrices_;
    Scores<Real> sentence_{};
};

}  // namespace tagline
