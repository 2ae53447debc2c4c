// From α to answers: β, the probabilities of pairs and triples, and what they are asked for.
#include "runtime/growing.h"
#include "runtime/pool.h"
#include "second_order/posterior.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

constexpr double kLeastTotal = 1e-280;  // of Σ α β: what is lost below 10^−308 is no part of it that matters

}  // namespace

// β_(t−1)(·, b) for t ≥ 2, with E_t β_t given.
void PairPosterior::step_backward(int64_t t, int64_t b, double* earlier) {
    const int64_t C = lattice_.width(t), W = lattice_.width(t - 1);
    const double *gamma = edges_.data() + lattice_.row(t, b), *alpha = alpha_.data() + lattice_.pair(t - 1, 0, b);
    const auto& group = rows_.at(t, b);
    double* products = products_.data();
    if (lattice_.all(t))
        kernels_.dots(group.count, rows_.factors(group), gamma, C, products);
    else
        kernels_.multiply(group.count, rows_.gathered(t, group), gamma, C, products);
    for (int64_t a = 0; group.ones && a < lattice_.count(t - 2); ++a)
        if (alpha[a * W] > 0) earlier[a * W + b] = products[group.count - 1];
    const int32_t* before = rows_.before(group);
    for (int64_t k = 0; k < group.contexts(); ++k) earlier[before[k] * W + b] = products[k];
}

Status PairPosterior::backward() {
    const int64_t T = lattice_.T();
    double* beta = at_least(beta_, lattice_.size());
    totals_.resize(size_t(T));
    for (int64_t b = 0; b < lattice_.count(T - 2); ++b) {
        double* row = beta + lattice_.row(T - 1, b);
        std::fill(row, row + lattice_.width(T - 1), 0.0);
        for (int64_t c = 0; c < lattice_.count(T - 1); ++c) row[c] = std::exp(lattice_.end(c));
    }
    for (int64_t t = T - 1; t >= 0; --t) {
        if (stopped(stop_)) return Status::stopped;
        const int64_t B = lattice_.count(t - 1), size = B * lattice_.width(t);
        const double* alpha = alpha_.data() + lattice_.row(t, 0);
        double *here = beta + lattice_.row(t, 0), *gamma = edges_.data() + lattice_.row(t, 0);
        int power = 0;
        if (!find_power(here, size, power)) return Status::guard;
        const double total = kernels_.weigh(size, alpha, std::ldexp(1.0, -power), here, gamma);
        if (total < kLeastTotal || total * scales_[size_t(t)] < kLeastTotal) return Status::guard;
        totals_[size_t(t)] = total;
        if (t == 0) break;
        const int64_t W = lattice_.width(t - 1);
        double* earlier = beta + lattice_.row(t - 1, 0);
        std::fill(earlier, earlier + lattice_.count(t - 2) * W, 0.0);
        for (int64_t b = 0; b < B; ++b) {
            if (t >= 2) {
                step_backward(t, b, earlier);
                continue;
            }
            for (int64_t c = 0; c < lattice_.width(t); ++c) earlier[b] += gamma[b * lattice_.width(t) + c];
        }
    }
    return Status::done;
}

// P(b, c) of token t into pairs_, P(c) into nodes_.
void PairPosterior::pair_probabilities(int64_t t, double log_z) {
    const int64_t first = lattice_.row(t, 0), size = lattice_.count(t - 1) * lattice_.width(t);
    const double *alpha = alpha_.data() + first, *beta = beta_.data() + first;
    const int64_t B = lattice_.count(t - 1), W = lattice_.width(t);
    double *out = at_least(pairs_, size), *nodes = at_least(nodes_, W);
    if (!in_logs_) return kernels_.share(B, W, alpha, beta, 1 / totals_[size_t(t)], out, nodes);  // at most 10^280
    for (int64_t k = 0; k < size; ++k) out[k] = std::exp(alpha[k] + beta[k] - log_z);
    std::fill(nodes, nodes + W, 0.0);
    for (int64_t k = 0; k < size; ++k) nodes[k % W] += out[k];
}

void PairPosterior::tell_pairs(int64_t t, const Answers<double>& want) {
    const int64_t L = lattice_.scores().L, C = lattice_.count(t);
    const int32_t* labels = lattice_.labels(t);
    if (want.nodes) std::fill(want.nodes + t * L, want.nodes + (t + 1) * L, 0.0);
    if (want.edges) std::fill(want.edges + t * L * L, want.edges + (t + 1) * L * L, 0.0);
    const double* nodes = nodes_.data();
    for (int64_t b = 0; t > 0 && b < lattice_.count(t - 1); ++b) {
        const double* row = pairs_.data() + b * lattice_.width(t);
        const int64_t from = int64_t(lattice_.label(t - 1, b)) * L;
        for (int64_t c = 0; want.edges && c < C; ++c) want.edges[t * L * L + from + labels[c]] = row[c];
        for (int64_t c = 0; want.transition_counts && c < C; ++c) want.transition_counts[from + labels[c]] += row[c];
    }
    for (int64_t c = 0; c < C; ++c) {
        const int32_t label = lattice_.label(t, c);
        if (want.nodes) want.nodes[t * L + label] = nodes[c];
        if (want.start_counts && t == 0) want.start_counts[label] += nodes[c];
        if (want.end_counts && t == lattice_.T() - 1) want.end_counts[label] += nodes[c];
    }
}

// The expected score of the triples of one b, by probabilities up to their shares: X · gamma, or products of the two.
double PairPosterior::expected_score(int64_t t, const TripleRows::Group& group, const double* gamma,
                                     const double* products) const {
    const int64_t C = lattice_.count(t), W = lattice_.width(t), stride = triples_->stride();
    const int32_t *labels = lattice_.labels(t), *contexts = rows_.contexts(group);
    double expected = 0;
    for (int64_t k = 0; k < group.contexts(); ++k)
        for (int64_t c = 0; c < C; ++c) {
            const int64_t cell = contexts[k] * stride + labels[c];
            const double p = shares_[size_t(k)] * (products ? products[k * W + c] : triples_->exps()[cell] * gamma[c]);
            if (p > 0) expected += p * triples_->table()[cell];
        }
    return expected;
}

// Add the probabilities of the triples that end at token t to counts; returns their expected score, if asked for.
double PairPosterior::tell_triples(int64_t t, double* counts, double factor, bool entropy) {
    const int64_t W = lattice_.width(t), stride = triples_->stride();
    const double portion = 1 / (totals_[size_t(t)] * scales_[size_t(t)]);  // of Σ α_(t−1) X E β_t; at most 10^280
    double expected = 0, *shares = shares_.data(), *nobodys = at_least(nobodys_, stride);
    for (int64_t b = 0; b < lattice_.count(t - 1); ++b) {
        const double* gamma = edges_.data() + lattice_.row(t, b);
        const auto& group = rows_.at(t, b);
        const int64_t count = group.contexts();
        double* products = lattice_.all(t) ? nullptr : rows_.gathered(t, group);
        if (products && group.kept < 0) kernels_.multiply(group.count, products, gamma, W, products_.data());
        for (int64_t k = 0; k < count; ++k) shares[k] = rows_.amounts(group)[k] * portion;
        if (entropy) expected += expected_score(t, group, gamma, products);
        if (!counts) continue;
        for (int64_t k = 0; k < count; ++k) {
            const int32_t context = rows_.contexts(group)[k];
            shares[k] *= factor;
            sums_[size_t(k)] = context < triples_->rows() ? counts + context * stride : nobodys;
        }
        if (products)
            kernels_.scatter(count, shares, products, W, lattice_.labels(t), lattice_.count(t), sums_.data());
        else
            kernels_.add_products(count, shares, rows_.factors(group), gamma, W, sums_.data());
    }
    return expected;
}

double PairPosterior::tell_triples_in_logs(int64_t t, double* counts, double factor, double log_z) {
    double expected = 0;
    for (int64_t a = 0; a < lattice_.count(t - 2); ++a)
        for (int64_t b = 0; b < lattice_.count(t - 1); ++b) {
            const int32_t context = triples_->row(lattice_.label(t - 2, a), lattice_.label(t - 1, b));
            const double alpha = alpha_[size_t(lattice_.pair(t - 1, a, b))];
            for (int64_t c = 0; context >= 0 && alpha > -kInf && c < lattice_.count(t); ++c) {
                const int64_t cell = context * triples_->stride() + lattice_.label(t, c);
                const double score = triples_->table()[cell];
                const double p = std::exp(alpha + score + lattice_.local(t, b, c) +
                                          beta_[size_t(lattice_.pair(t, b, c))] - log_z);
                if (p > 0) expected += p * score;
                if (counts) counts[cell] += factor * p;
            }
        }
    return expected;
}

Status PairPosterior::tell(const Answers<double>& want, double* triple_counts, double factor, double log_z) {
    const int64_t T = lattice_.T();
    double expected = 0;
    for (int64_t t = 0; t < T; ++t) {
        if (stopped(stop_)) return Status::stopped;
        pair_probabilities(t, log_z);
        tell_pairs(t, want);
        for (int64_t b = 0; want.entropy && b < lattice_.count(t - 1); ++b)
            for (int64_t c = 0; c < lattice_.count(t); ++c) {
                const double p = pairs_[size_t(b * lattice_.width(t) + c)];
                if (p > 0) expected += p * (lattice_.local(t, b, c) + (t == T - 1 ? lattice_.end(c) : 0.0));
            }
        if (t < 2 || (!triple_counts && !want.entropy)) continue;
        expected += in_logs_ ? tell_triples_in_logs(t, triple_counts, factor, log_z)
                             : tell_triples(t, triple_counts, factor, want.entropy != nullptr);
    }
    if (want.entropy) *want.entropy = std::max(0.0, log_z - expected);
    return Status::done;
}

}  // namespace tagline
