// From weights to the scores of one sentence: what expectations.cpp and decoder.cpp have in common.
#pragma once

#include "chain/kernels.h"
#include "runtime/growing.h"

namespace tagline {

// The score of a labelling.
template <class Real, class Label>
double score_of(const Scores<Real>& s, const Label* labels) {
    double total = double(s.start[labels[0]]) + double(s.end[labels[s.T - 1]]);
    for (int64_t t = 0; t < s.T; ++t) {
        total += double(s.emissions[t * s.L + labels[t]]);
        if (t == 0) continue;
        const Real* transitions = s.per_position ? s.transitions + t * s.L * s.L : s.transitions;
        total += double(transitions[labels[t - 1] * s.L + labels[t]]);
    }
    return total;
}

}  // namespace tagline
