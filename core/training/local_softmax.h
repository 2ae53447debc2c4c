// The local distributions of a maximum-entropy Markov model: each token is normalised by itself, given the label before.
//
//   p(y_t = j | y_(t−1) = i) = exp(s_t(i, j)) / N_t(i),  s_t(i, j) = emission + transition (+ start, + end)
//
// Expectations asks here where a TransitionLayout is local; all else of training stays as it is for a CRF.
#pragma once

#include "chain/fallback.h"

#include <cstdint>
#include <vector>

namespace tagline {

template <class Real>
class LocalSoftmax {
public:
    LocalSoftmax(const Variant& variant, int64_t L, const int* stop);

    // A sentence whose labels are known: log_z is Σ_t log N_t(y_(t−1)), nodes [T, L] is p(· | y_(t−1)), and the counts
    // are those of `want`. False where no label may stand at a token.
    bool observed(const Scores<Real>& scores, const int32_t* labels, const Answers<Real>& want);

    // A sentence of which `allowed` [T, L] says what its labels may be: log_z is −log of the summed probability of the
    // labellings that it allows, nodes and edges are the expected counts less those given what is allowed.
    Status allowed(const Scores<Real>& scores, const uint8_t* allowed, const Answers<Real>& want);

private:
    const Variant& variant_;
    std::vector<Real> zeros_, emissions_, logs_, nodes_, edges_;
    Prepared prepared_;
    SafePosterior<Real> forward_backward_;
};

}  // namespace tagline
