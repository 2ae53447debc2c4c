// Sums of rows of a table: what sparse 0/1 features do with weights, and, feature by feature, with a gradient.
#pragma once

#include "runtime/outcome.h"

#include <cstdint>

namespace tagline {

// out[r] = Σ table[ids[k]] over the entries k of row r; table [A, K], out [R, K]. Threads share the rows, and each sum
// has one order. False where it was interrupted.
bool row_sums(const int64_t* offsets, int64_t R, const int32_t* ids, const double* table, int64_t K, double* out,
              const Interrupted& interrupted);

}  // namespace tagline
