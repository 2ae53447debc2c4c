// How many labels, and how many sentences, the best labellings under some weights have wrong: what training logs.
#pragma once

#include "training/likelihood.h"

namespace tagline {

struct Mistakes {
    int64_t labels = 0, sentences = 0;
};

// Of the sentences whose labels are all known, under the weights that were evaluated last.
template <class Real>
Outcome count_mistakes(const Likelihood<Real>& likelihood, Mistakes& mistakes, const Interrupted& interrupted);

}  // namespace tagline
