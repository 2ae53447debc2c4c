// The probability of a span: a forward pass over its tokens, restricted to the allowed labels, between the tables of
// log α before it and log β behind it.
#include "chain/batch.h"

#include "chain/log_sum_exp.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

// log Σ exp(score) of the labellings whose tokens in the span have labels in `allowed` [length, L].
double log_inside(const Scores<double>& s, const double* log_alpha, const double* log_beta, const SpanQuery& query,
                  const bool* allowed) {
    const int64_t L = s.L;
    std::vector<double> now(static_cast<size_t>(L)), next(now), terms;
    for (int64_t j = 0; j < L; ++j) now[size_t(j)] = allowed[j] ? log_alpha[query.first * L + j] : -kInf;
    for (int64_t t = query.first + 1; t < query.first + query.length; ++t) {
        const double* transitions = s.per_position ? s.transitions + t * L * L : s.transitions;
        allowed += L;
        for (int64_t j = 0; j < L; ++j) {
            terms.clear();
            for (int64_t i = 0; allowed[j] && i < L; ++i)
                if (now[size_t(i)] > -kInf) terms.push_back(now[size_t(i)] + transitions[i * L + j]);
            next[size_t(j)] = log_sum_exp(terms) + s.emissions[t * L + j];
        }
        std::swap(now, next);
    }
    const double* onward = log_beta + (query.first + query.length - 1) * L;
    for (int64_t j = 0; j < L; ++j) now[size_t(j)] += onward[j];
    return log_sum_exp(now);
}

}  // namespace

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
        out[m] = part_of(inside, log_z[size_t(query.sentence)]);
    }
    return asked;
}

}  // namespace tagline
