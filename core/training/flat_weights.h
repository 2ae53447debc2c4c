// Weights of (attribute, label) and (label, label) in float64, one after the other, and what they say of one sentence.
//
// Every sum is taken in the order in which the attributes of a token are given, without fused operations, so that scores,
// ties and rounding are those of CRFsuite to the last bit: where its models are to answer as they do there, and where
// learning has to follow it through thousands of close decisions. Training by objectives does not need that, and
// `Layout` is faster.
#pragma once

#include "chain/fallback.h"

#include <cstdint>
#include <vector>

namespace tagline {

struct FlatWeights {
    FlatWeights(int64_t L, int64_t A, const int64_t* offsets, const int32_t* labels);

    int64_t L;
    std::vector<int64_t> offsets;            // [A + 1]
    std::vector<WeightCell<double>> cells;   // those of attribute a: offsets[a] … offsets[a + 1] − 1; labels ascend
    std::vector<double> transitions;         // [L, L]

    // Write the scores of T tokens, [T, L]. Token t has ids[begins[t] − begins[0]] …; values null where all are 1.
    void emit(int64_t T, const int64_t* begins, const int32_t* ids, const double* values, double* out) const;
};

// The best labelling under scores of tokens and transitions.
class FlatDecoder {
public:
    explicit FlatDecoder(int64_t L) : L_(L), ends_(size_t(L), 0.0), viterbi_(active_variant(), &stop_) {}

    // Take these transitions [L, L] from now on; they outlive their use.
    void use(const double* transitions);
    // Labels [T] with the highest score; of several, the one that is smaller when read from the last label.
    void find(const double* emissions, int64_t T, int64_t* labels);
    // The score of a labelling.
    double score(const double* emissions, int64_t T, const int64_t* labels) const;

private:
    int64_t L_;
    int stop_ = 0;
    const double* transitions_ = nullptr;
    std::vector<double> ends_;
    Prepared prepared_;
    SafeViterbi<double> viterbi_;

    Scores<double> scores(const double* emissions, int64_t T) const {
        return {emissions, transitions_, ends_.data(), ends_.data(), T, L_, false};
    }
};

}  // namespace tagline
