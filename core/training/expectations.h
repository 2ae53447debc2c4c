// Expected counts of a few sentences at a time, from weights in a table: the step that every gradient is made of.
#pragma once

#include "chain/fallback.h"
#include "training/examples.h"
#include "training/local_softmax.h"
#include "training/pair_expectations.h"
#include "training/transitions.h"

#include <vector>

namespace tagline {

template <class Real>
class Expectations {
public:
    // The expected counts of a sentence; where its labels are not all known, less those of what its label sets allow.
    struct Sentence {
        int64_t index, first, T;
        bool dead;       // no legal labelling
        double log_z;    // less that of the labellings which the sets allow
        Real* nodes;     // [T, L]
        Real* edges;     // [T, L, L] where there are edge attributes
        double* counts;  // of transitions, as in the common sums, start, end; null where they went straight to those
    };

    Expectations(const TransitionLayout& transitions, const Examples& examples, const Variant& variant,
                 const int* stop);

    // What holds from now on: the scores between labels, what the kernels prepared from them, and where counts of
    // transitions are summed, for the pairs that were prepared. All of it outlives its use.
    void use(const TransitionTable<Real>& scores, const Prepared& prepared, TransitionTable<double>& sums);

    // How many sentences go together: more where they can go abreast.
    int most() const { return alike_ && !transitions_.local && !transitions_.second_order() ? kMostAbreast : kGroup; }

    // Compute those of up to `most` sentences with tokens, longest first. False when stopped.
    bool compute(const WeightTable<Real>& weights, Real scale, int count, const int64_t* members);

    int count() const { return count_; }
    const Sentence& operator[](int g) const { return members_[g]; }
    // The score of a labelling of the g-th sentence.
    double path_score(int g, const int32_t* labels) const;

    // Add factor · the counts of a sentence's transitions to the sums, unless they are there already: sentences of
    // weight 1, without label sets and edge attributes, add to the sums on the way.
    void add_counts(const Sentence& sentence, double factor) const;

private:
    const TransitionLayout& transitions_;
    const Examples& examples_;
    const Variant& variant_;
    bool per_position_, alike_;
    SafePosterior<Real> forward_backward_;
    LocalSoftmax<Real> local_;
    PairExpectations<Real> pairs_;
    const TransitionTable<Real>* scores_ = nullptr;
    TransitionTable<double>* sums_ = nullptr;
    int64_t num_pairs_ = 0;  // in the sums
    std::vector<Real> emissions_, nodes_, matrices_, edges_, masked_, inner_nodes_, inner_edges_;
    std::vector<double> own_counts_, inner_counts_;
    int count_ = 0;
    Sentence members_[kMostAbreast];
    Scores<Real> group_[kMostAbreast];

    Answers<Real> ask(const Sentence& sentence, double* log_z) const;
    bool compute_local(const Answers<Real>* want);
    void posterior(int count, const Sentence* members, const Scores<Real>* scores, const Answers<Real>* want,
                   Status* status, double sign);
    bool subtract_allowed(Sentence& sentence, const Scores<Real>& scores);
};

}  // namespace tagline
