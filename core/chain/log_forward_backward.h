// Forward–backward in the log domain, float64, normalised at each token: the last way of fallback.h, and the safest.
#pragma once

#include "chain/kernels.h"

namespace tagline {

// The same answers as Kernels<double>::posterior. Only this one decides that a sentence has no legal labelling.
Status log_posterior(const Scores<double>& sentence, const Answers<double>& want, Arena& scratch, const int* stop);

}  // namespace tagline
