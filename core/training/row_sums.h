// Sums of rows of a table: what sparse features do with weights and, feature by feature, with a gradient.
#pragma once

#include "runtime/outcome.h"

#include <cstdint>

namespace tagline {

// out[r] = Σ values[k]·table[ids[k]] over the entries k of row r; table [A, K], out [R, K]; values may be null, for all
// of them 1. Threads share the rows, and each sum has one order. False where it was interrupted.
bool row_sums(const int64_t* offsets, int64_t R, const int32_t* ids, const float* values, const double* table,
              int64_t K, double* out, const Interrupted& interrupted);

}  // namespace tagline
