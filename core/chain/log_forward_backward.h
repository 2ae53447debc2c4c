// The safe way for sentences that the kernels flag: float64, log domain, normalised at each token.
#pragma once

#include "chain/kernels.h"

namespace tagline {

// Same answers as Kernels<double>::posterior; decides that a sentence has no legal path.
Status log_posterior(const Scores<double>& sentence, const Answers<double>& want, Arena& scratch, const int* stop);

}  // namespace tagline
