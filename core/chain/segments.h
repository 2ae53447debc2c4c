// Questions about a batch of segment chains: every sentence is cut into segments of up to D tokens, and every segment
// has one of L labels. Everything is float64 in the log domain.
#pragma once

#include "runtime/outcome.h"

#include <cstdint>

namespace tagline {

struct SegmentBatch {
    const double* scores;       // [N, D, L]: the segment that ends with token n and has d + 1 tokens
    const double* transitions;  // [L, L]
    const double* start;        // [L]
    const double* end;          // [L]
    const int64_t* offsets;     // [B + 1]
    int64_t B, D, L;
};

// Outputs over the batch; null where nobody asks. Sums over sentences are overwritten, not added to.
struct SegmentAnswers {
    double* log_z = nullptr;              // [B], −∞ without a legal segmentation
    double* segments = nullptr;           // [N, D, L], the probability of each segment
    double* transition_counts = nullptr;  // [L, L]
    double* start_counts = nullptr;       // [L]
    double* end_counts = nullptr;         // [L]
    double* entropy = nullptr;            // [B]
    const double* weights = nullptr;      // [B], how much each sentence counts in segments and counts; 1 for all
};

// Forward sums, and the probabilities that follow from them.
Outcome segment_posterior(const SegmentBatch& batch, const SegmentAnswers& want, const Interrupted& interrupted);

// The best segmentation: the label of each token's segment [N], whether a segment begins there [N], and its score [B].
Outcome segment_viterbi(const SegmentBatch& batch, int64_t* labels, bool* begins, double* scores,
                        const Interrupted& interrupted);

}  // namespace tagline
