// The E step of an HMM over a whole batch: expected counts, summed over sentences in blocks that do not depend on the
// number of threads.
#pragma once

#include "chain/batch.h"

namespace tagline {

// What tokens emit, besides the ways of a batch (a row of scores for each token, or a table and symbols): vectors, and
// for each label a Gaussian with diagonal covariance. The batch's own emissions are null then.
struct Gaussians {
    const double* x;                   // [N, D]
    const double *means, *variances;   // [L, D]
    int64_t D;
};

// Where the counts go, all overwritten. One of the last three is asked for: nodes, emissions where the batch has symbols,
// moments where it has Gaussians.
struct ExpectedCounts {
    double* log_z;        // [B]
    double* start;        // [L]
    double* transitions;  // [L, L]
    double* nodes;        // [N, L] P(y_n)
    double* emissions;    // [rows − 1, L] P(y_n) summed by symbol
    double* moments;      // [1 + 2 D, L] Σ P, Σ P (x − μ), Σ P (x − μ)²
};

struct Expectation : Outcome {
    int64_t bad = -1;  // the first sentence with NaN or +∞ among its emissions
};

// `allowed` [N, L], or null: the labels that each token may have. `gaussians` may be null.
Expectation expected_counts(const Batch<double>& batch, const bool* allowed, const Gaussians* gaussians,
                            const ExpectedCounts& want, const Interrupted& interrupted);

// Log densities of all vectors, out [N, L].
bool log_densities(const Gaussians& gaussians, int64_t N, int64_t L, double* out, const Interrupted& interrupted);

}  // namespace tagline
