// Answers read off the tables of log α and log β: samples, and the probability of a span.
#include "chain/batch.h"

#include "chain/blocks.h"

#include <cmath>
#include <limits>

namespace tagline {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The first label whose cumulative weight exceeds u of the total; weights are given as logarithms, and overwritten.
int64_t invert(std::vector<double>& weights, double u) {
    const double high = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) weight = total += std::exp(weight - high);
    return std::upper_bound(weights.begin(), weights.end(), u * total) - weights.begin();  // u < 1: below the total
}

const double* moves_into(const Scores<double>& s, int64_t t) {
    return s.per_position ? s.transitions + t * s.L * s.L : s.transitions;
}

void draw(const Scores<double>& s, const double* log_alpha, const double* uniforms, int64_t* path,
          std::vector<double>& weights) {
    for (int64_t t = s.T - 1; t >= 0; --t) {
        for (int64_t i = 0; i < s.L; ++i) {
            const double onward = t == s.T - 1 ? s.end[i] : moves_into(s, t + 1)[i * s.L + path[t + 1]];
            weights[size_t(i)] = log_alpha[t * s.L + i] + onward;
        }
        path[t] = invert(weights, uniforms[t]);
    }
}

double log_sum_exp(const std::vector<double>& values) {
    double high = -kInf, sum = 0;
    for (double value : values) high = std::max(high, value);
    if (high == -kInf) return -kInf;
    for (double value : values) sum += std::exp(value - high);
    return high + std::log(sum);
}

// log Σ exp(score) of the labellings whose tokens first … have labels in `allowed`.
double log_inside(const Scores<double>& s, const double* log_alpha, const double* log_beta, const SpanQuery& query,
                  const bool* allowed) {
    const int64_t L = s.L;
    std::vector<double> now(static_cast<size_t>(L)), next(now), terms;
    for (int64_t j = 0; j < L; ++j) now[size_t(j)] = allowed[j] ? log_alpha[query.first * L + j] : -kInf;
    for (int64_t t = query.first + 1; t < query.first + query.length; ++t) {
        allowed += L;
        for (int64_t j = 0; j < L; ++j) {
            terms.clear();
            for (int64_t i = 0; allowed[j] && i < L; ++i)
                if (now[size_t(i)] > -kInf) terms.push_back(now[size_t(i)] + moves_into(s, t)[i * L + j]);
            next[size_t(j)] = log_sum_exp(terms) + s.emissions[t * L + j];
        }
        std::swap(now, next);
    }
    const double* onward = log_beta + (query.first + query.length - 1) * L;
    for (int64_t j = 0; j < L; ++j) now[size_t(j)] += onward[j];
    return log_sum_exp(now);
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
    blocks.small = blocks.small && samples * N * batch.L < kSmallWork / 10;
    blocks.brief = false;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int* stop) {
        std::vector<double> weights(static_cast<size_t>(batch.L));
        for (int64_t b = first; b < last; ++b)
            for (int64_t k = 0; k < samples; ++k) {
                if (__atomic_load_n(stop, __ATOMIC_RELAXED)) return;
                const int64_t at = k * N + batch.offsets[b];
                draw(batch.sentence(b), log_alpha.data() + batch.offsets[b] * batch.L, uniforms + at, labels + at,
                     weights);
            }
    });
    return outcome;
}

Outcome span_probability(const Batch<double>& batch, const std::vector<SpanQuery>& queries, const bool* allowed,
                         double* out, const Interrupted& interrupted) {
    const size_t cells = size_t(batch.offsets[batch.B] * batch.L);
    std::vector<double> log_alpha(cells), log_beta(cells), log_z(size_t(batch.B));
    BatchAnswers<double> want;
    want.log_alpha = log_alpha.data();
    want.log_beta = log_beta.data();
    want.log_z = log_z.data();
    const Outcome outcome = posterior(batch, want, interrupted);
    if (!outcome.finished) return outcome;
    Outcome asked;
    for (size_t m = 0; m < queries.size(); ++m) {
        const SpanQuery& query = queries[m];
        if (log_z[size_t(query.sentence)] == -kInf) {
            asked.sentence = query.sentence;
            return asked;
        }
        const int64_t cell = batch.offsets[query.sentence] * batch.L;
        const double inside = log_inside(batch.sentence(query.sentence), log_alpha.data() + cell,
                                         log_beta.data() + cell, query, allowed + query.row * batch.L);
        out[m] = std::exp(std::min(inside - log_z[size_t(query.sentence)], 0.0));
    }
    return asked;
}

}  // namespace tagline
