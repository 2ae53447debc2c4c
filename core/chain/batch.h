// The engine: questions about a whole batch of chains. Sentences are spread over threads in blocks that do not depend
// on the number of threads. batch.cpp answers most of the questions through the kernels; k_best.cpp, sampling.cpp and
// span_probability.cpp and whole_span_probability.cpp answer the rest.
#pragma once

#include "chain/kernels.h"
#include "runtime/outcome.h"

#include <vector>

namespace tagline {

template <class Real>
struct Batch {
    const Real* emissions;    // [N, L]; or a table [rows, L], of which `symbols` names one row for each token
    const Real* transitions;  // [L, L] or [N, L, L]
    const Real* start;        // [L]
    const Real* end;          // [L]
    const int64_t* offsets;   // [B + 1]
    int64_t B, L;
    bool per_position;
    const int64_t* symbols = nullptr;  // [N], below rows; a negative one stands for the last row
    int64_t rows = 0;                  // of the table; 0 where there is none

    Scores<Real> sentence(int64_t b) const {
        const int64_t first = offsets[b];
        return {symbols ? emissions : emissions + first * L,
                per_position ? transitions + first * L * L : transitions,
                start,
                end,
                offsets[b + 1] - first,
                L,
                per_position,
                symbols ? symbols + first : nullptr,
                rows};
    }
};

// Outputs over the batch; null where nobody asks. Sums over sentences are float64 and overwritten, not added to.
template <class Real>
struct BatchAnswers {
    double* log_z = nullptr;              // [B], −∞ without a legal path
    Real* nodes = nullptr;                // [N, L]
    bool negative_nodes = false;          // write −P there
    Real* edges = nullptr;                // [N, L, L]
    double* transition_counts = nullptr;  // [L, L]
    double* start_counts = nullptr;       // [L]
    double* end_counts = nullptr;         // [L]
    double* log_alpha = nullptr;          // [N, L], float64 batches only
    double* log_beta = nullptr;           // [N, L], float64 batches only
    double* entropy = nullptr;            // [B], float64 batches only
};

// Forward–backward for every sentence.
template <class Real>
Outcome posterior(const Batch<Real>& batch, const BatchAnswers<Real>& want, const Interrupted& interrupted);

// The same with the counts of the given labels less the expected ones in their place; log_z becomes log p.
template <class Real>
Outcome gradients(const Batch<Real>& batch, const int64_t* labels, const BatchAnswers<Real>& want,
                  const Interrupted& interrupted);

// The best labelling of each sentence, labels [N], and its score [B].
template <class Real>
Outcome viterbi(const Batch<Real>& batch, int64_t* labels, double* scores, const Interrupted& interrupted);

// The most probable label of each token.
template <class Real>
Outcome max_marginal(const Batch<Real>& batch, int64_t* labels, const Interrupted& interrupted);

// The score of given labels, which must be in range; −∞ where they are forbidden.
template <class Real>
Outcome score(const Batch<Real>& batch, const int64_t* labels, double* scores, const Interrupted& interrupted);

// How labels make spans: a pair of labels goes on with a span or does not, and every type has its labels.
struct SpanReading {
    const bool* continues;   // [L, L]
    const int64_t* members;  // [types, width], −1 where a type has fewer labels
    int64_t types, width;
};

// Spans of whole sentences, sorted by sentence: tokens start … end − 1 of it.
struct PlacedSpans {
    const int64_t *sentence, *start, *end, *type;
    int64_t count;
};

// The probability that a labelling has exactly this span, [count]: it begins here with this type, goes on, and ends
// here. The formulas are those of models/entities.py.
template <class Real>
Outcome whole_span_probability(const Batch<Real>& batch, const PlacedSpans& spans, const SpanReading& reading,
                               double* out, const Interrupted& interrupted);

// The K best labellings of one sentence, the best first.
struct Ranked {
    std::vector<int64_t> labels;  // [K, T]
    std::vector<double> scores;   // [K]
};

Outcome k_best(const Batch<double>& batch, int64_t k, std::vector<Ranked>& out, const Interrupted& interrupted);

// Labellings drawn by their probability: uniforms [samples, N] in, labels [samples, N] out.
Outcome sample(const Batch<double>& batch, const double* uniforms, int64_t samples, int64_t* labels,
               const Interrupted& interrupted);

// Asks whether tokens first … first + length − 1 of a sentence have labels in allowed[row …], [length, L].
struct SpanQuery {
    int64_t sentence, first, length, row;
};

Outcome span_probability(const Batch<double>& batch, const std::vector<SpanQuery>& queries, const bool* allowed,
                         double* out, const Interrupted& interrupted);

}  // namespace tagline
