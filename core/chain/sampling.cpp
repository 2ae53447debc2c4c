// Labellings drawn by their probability: forward filtering, backward sampling. The table of log α comes from the
// kernels; then labels are drawn from the last token to the first, P(y_t | y_(t+1)) ∝ α_t(y_t) exp T(y_t, y_(t+1)).
#include "chain/batch.h"

#include "chain/blocks.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

// The first label whose cumulative weight exceeds u of the total; weights are given as logarithms, and overwritten.
int64_t invert(std::vector<double>& weights, double u) {
    const double high = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) weight = total += std::exp(weight - high);
    return std::upper_bound(weights.begin(), weights.end(), u * total) - weights.begin();  // u < 1: below the total
}

// The transitions into token t.
const double* into(const Scores<double>& s, int64_t t) {
    return s.per_position ? s.transitions + t * s.L * s.L : s.transitions;
}

void draw(const Scores<double>& s, const double* log_alpha, const double* uniforms, int64_t* path,
          std::vector<double>& weights) {
    for (int64_t t = s.T - 1; t >= 0; --t) {
        for (int64_t i = 0; i < s.L; ++i) {
            const double onward = t == s.T - 1 ? s.end[i] : into(s, t + 1)[i * s.L + path[t + 1]];
            weights[size_t(i)] = log_alpha[t * s.L + i] + onward;
        }
        path[t] = invert(weights, uniforms[t]);
    }
}

}  // namespace

Outcome sample(const Batch<double>& batch, const double* uniforms, int64_t samples, int64_t* labels,
               const Interrupted& interrupted) {
    const int64_t N = batch.offsets[batch.B];
    std::vector<double> log_alpha(size_t(N * batch.L)), log_z(size_t(batch.B));
    BatchAnswers<double> want;
    want.log_alpha = log_alpha.data();
    want.log_z = log_z.data();
    Outcome outcome = posterior(batch, want, interrupted);
    if (!outcome.finished || outcome.sentence >= 0) return outcome;
    Blocks blocks(batch.offsets, batch.B, batch.L);
    blocks.small = blocks.small && samples * N * batch.L < kBlockWork / 10;
    blocks.take_longer();
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int* stop) {
        std::vector<double> weights(static_cast<size_t>(batch.L));
        for (int64_t b = first; b < last; ++b)
            for (int64_t k = 0; k < samples; ++k) {
                if (stopped(stop)) return;
                const int64_t at = k * N + batch.offsets[b];
                draw(batch.sentence(b), log_alpha.data() + batch.offsets[b] * batch.L, uniforms + at, labels + at,
                     weights);
            }
    });
    return outcome;
}

}  // namespace tagline
