#include "training/local_softmax.h"

#include "training/scoring.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

// The scores of the labels at token t after label `before`, which is not read at the first token.
template <class Real>
void local_scores(const Scores<Real>& s, int64_t t, int64_t before, Real* out) {
    const Real* emissions = s.emissions + t * s.L;
    const Real* lead = s.start;
    if (t > 0) lead = (s.per_position ? s.transitions + t * s.L * s.L : s.transitions) + before * s.L;
    for (int64_t j = 0; j < s.L; ++j) out[j] = emissions[j] + lead[j];
    if (t == s.T - 1)
        for (int64_t j = 0; j < s.L; ++j) out[j] += s.end[j];
}

// Turn scores into probabilities and return the logarithm of their normaliser: −∞, and zeros, where all are forbidden.
template <class Real>
double normalise(Real* scores, int64_t L) {
    const Real top = *std::max_element(scores, scores + L);
    if (top == Real(-kInf)) {
        std::fill(scores, scores + L, Real(0));
        return -kInf;
    }
    Real sum = 0;
    for (int64_t j = 0; j < L; ++j) {
        scores[j] = std::exp(scores[j] - top);
        sum += scores[j];
    }
    const Real share = 1 / sum;
    for (int64_t j = 0; j < L; ++j) scores[j] *= share;
    return double(top) + std::log(double(sum));
}

// Turn scores into logarithms of probabilities; where all are forbidden they stay so.
template <class Real>
void to_logs(Real* scores, int64_t L) {
    const Real top = *std::max_element(scores, scores + L);
    if (top == Real(-kInf)) return;
    double sum = 0;
    for (int64_t j = 0; j < L; ++j) sum += std::exp(double(scores[j] - top));
    const Real log_sum = top + Real(std::log(sum));
    for (int64_t j = 0; j < L; ++j) scores[j] -= log_sum;
}

void add(double* sums, const float* values, int64_t L) {
    for (int64_t j = 0; sums && j < L; ++j) sums[j] += double(values[j]);
}
void add(double* sums, const double* values, int64_t L) {
    for (int64_t j = 0; sums && j < L; ++j) sums[j] += values[j];
}

}  // namespace

template <class Real>
LocalSoftmax<Real>::LocalSoftmax(const Variant& variant, int64_t L, const int* stop)
    : variant_(variant), zeros_(size_t(L), 0), forward_backward_(variant, stop) {}

template <class Real>
bool LocalSoftmax<Real>::observed(const Scores<Real>& scores, const int32_t* labels, const Answers<Real>& want) {
    const int64_t L = scores.L, T = scores.T;
    *want.log_z = 0;
    if (want.edges) std::fill(want.edges, want.edges + T * L * L, Real(0));
    for (int64_t t = 0; t < T; ++t) {
        Real* nodes = want.nodes + t * L;
        const int64_t before = t > 0 ? labels[t - 1] : 0;
        local_scores(scores, t, before, nodes);
        const double log_n = normalise(nodes, L);
        if (log_n == -kInf) return false;
        *want.log_z += log_n;
        if (t == 0) {
            add(want.start_counts, nodes, L);
        } else {
            if (want.transition_counts) add(want.transition_counts + before * L, nodes, L);
            if (want.edges) std::copy(nodes, nodes + L, want.edges + (t * L + before) * L);
        }
        if (t == T - 1) add(want.end_counts, nodes, L);
    }
    return true;
}

template <class Real>
Status LocalSoftmax<Real>::allowed(const Scores<Real>& scores, const uint8_t* allowed, const Answers<Real>& want) {
    const int64_t L = scores.L, T = scores.T;
    if (!prepared_) {
        const Scores<Real> common{nullptr, nullptr, zeros_.data(), zeros_.data(), 0, L, true};
        prepared_ = Prepared::sums(kernels_of<Real>(variant_), common);
        forward_backward_.use(prepared_);
    }
    // The chain of the local distributions: log p(j | i) between tokens, log p(j) at the first.
    Real* emissions = at_least(emissions_, T * L);
    Real* logs = at_least(logs_, T * L * L);
    Real* inner_nodes = at_least(nodes_, T * L);
    Real* inner_edges = at_least(edges_, T * L * L);
    for (int64_t t = 0; t < T; ++t) {
        Real* row = emissions + t * L;
        std::fill(row, row + L, Real(0));
        if (t == 0) {
            local_scores(scores, 0, 0, row);
            to_logs(row, L);
        }
        for (int64_t j = 0; j < L; ++j)
            if (!allowed[t * L + j]) row[j] = Real(-kInf);
        for (int64_t i = 0; i < L; ++i) {
            Real* next = logs + (t * L + i) * L;
            if (t == 0) {
                std::fill(next, next + L, Real(0));
                continue;
            }
            local_scores(scores, t, i, next);
            to_logs(next, L);
        }
    }
    Scores<Real> chain{emissions, logs, zeros_.data(), zeros_.data(), T, L, true};
    Answers<Real> inner{};
    inner.log_z = want.log_z;
    inner.nodes = inner_nodes;
    inner.edges = inner_edges;
    Status status;
    forward_backward_.compute(1, &chain, &inner, &status);
    if (status != Status::done) return status;
    *want.log_z = -*want.log_z;

    // Expected: the labels before as they are given what is allowed, each followed by its own distribution.
    Real* pairs = logs;  // p(j | i) · P(i) from here on
    for (int64_t t = 0; t < T; ++t) {
        Real* nodes = want.nodes + t * L;
        std::fill(nodes, nodes + L, Real(0));
        if (t == 0) {
            local_scores(scores, 0, 0, nodes);
            normalise(nodes, L);
        }
        for (int64_t i = 0; t > 0 && i < L; ++i) {
            Real* row = pairs + (t * L + i) * L;
            const Real mass = inner_nodes[(t - 1) * L + i];
            for (int64_t j = 0; j < L; ++j) {
                row[j] = mass * std::exp(row[j]);
                nodes[j] += row[j];
                row[j] -= inner_edges[(t * L + i) * L + j];
            }
            if (want.transition_counts) add(want.transition_counts + i * L, row, L);
            if (want.edges) std::copy(row, row + L, want.edges + (t * L + i) * L);
        }
        for (int64_t j = 0; j < L; ++j) nodes[j] -= inner_nodes[t * L + j];
        if (t == 0) {
            add(want.start_counts, nodes, L);
            if (want.edges) std::fill(want.edges, want.edges + L * L, Real(0));
        }
        if (t == T - 1) add(want.end_counts, nodes, L);
    }
    return Status::done;
}

template class LocalSoftmax<float>;
template class LocalSoftmax<double>;

}  // namespace tagline
