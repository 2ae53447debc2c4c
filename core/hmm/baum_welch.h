// Baum–Welch: the E step of an HMM over a whole batch. Expected counts are summed over sentences, in blocks that do not
// depend on the number of threads. The kernel is chain/kernels/expected_counts.h; the M step is Python's.
#pragma once

#include "chain/batch.h"

namespace tagline {

// A third way to emit, besides those of a batch (a row of scores for each token, or a table and symbols): tokens are
// vectors, and each label has a Gaussian with diagonal covariance. The batch's own emissions are null then.
struct Gaussians {
    const double* x;                   // [N, D]
    const double *means, *variances;   // [L, D]
    int64_t D;
};

// Where the counts go, all overwritten. Of the last three one is asked for: nodes, or emissions where the batch has
// symbols, or moments where it has Gaussians.
struct ExpectedCounts {
    double* log_z;        // [B]
    double* start;        // [L]
    double* transitions;  // [L, L]
    double* nodes;        // [N, L] P(y_n)
    double* emissions;    // [rows − 1, L] P(y_n) summed by symbol
    double* moments;      // [1 + 2 D, L] Σ P, Σ P (x − μ), Σ P (x − μ)²
};

struct CountsOutcome : Outcome {
    int64_t bad = -1;  // the first sentence with NaN or +∞ among its emissions
};

// `allowed` [N, L], or null: the labels that each token may have. `gaussians` may be null.
CountsOutcome expected_counts(const Batch<double>& batch, const bool* allowed, const Gaussians* gaussians,
                              const ExpectedCounts& want, const Interrupted& interrupted);

// Log densities of all vectors, out [N, L].
bool log_densities(const Gaussians& gaussians, int64_t N, int64_t L, double* out, const Interrupted& interrupted);

}  // namespace tagline
