// From weights to the scores of one sentence: what expectations.cpp and decoder.cpp have in common.
#pragma once

#include "chain/kernels.h"
#include "runtime/growing.h"

namespace tagline {

// The score of a labelling. Two sums, so that an addition does not wait for the one before it.
template <class Real, class Label>
double score_of(const Scores<Real>& s, const Label* labels) {
    double at = double(s.start[labels[0]]) + double(s.end[labels[s.T - 1]]) + double(s.emissions[labels[0]]);
    double between = 0;
    const int64_t step = s.per_position ? s.L * s.L : 0;
    for (int64_t t = 1; t < s.T; ++t) {
        at += double(s.emissions[t * s.L + labels[t]]);
        between += double(s.transitions[t * step + labels[t - 1] * s.L + labels[t]]);
    }
    return at + between;
}

}  // namespace tagline
