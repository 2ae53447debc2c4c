// Second-order chains in the log domain, for sentences whose scores span too much for exp space; and samples, drawn by α
// of either kind.
#include "chain/log_sum_exp.h"
#include "runtime/growing.h"
#include "runtime/pool.h"
#include "second_order/posterior.h"

#include <algorithm>
#include <cmath>

namespace tagline {

Status PairPosterior::forward_in_logs(double& log_z) {
    const int64_t T = lattice_.T();
    double* alpha = at_least(alpha_, lattice_.size());
    std::fill(alpha, alpha + lattice_.size(), -kInf);
    std::vector<double> terms;
    for (int64_t t = 0; t < T; ++t) {
        if (stopped(stop_)) return Status::stopped;
        for (int64_t b = 0; b < lattice_.count(t - 1); ++b)
            for (int64_t c = 0; c < lattice_.count(t); ++c) {
                terms.assign(1, t == 0 ? 0.0 : alpha[t == 1 ? lattice_.pair(0, 0, b) : 0]);
                if (t > 1) terms.clear();
                for (int64_t a = 0; t > 1 && a < lattice_.count(t - 2); ++a)
                    terms.push_back(alpha[lattice_.pair(t - 1, a, b)] +
                                    triples_->score(lattice_.label(t - 2, a), lattice_.label(t - 1, b),
                                                    lattice_.label(t, c)));
                alpha[lattice_.pair(t, b, c)] = log_sum_exp(terms) + lattice_.local(t, b, c);
            }
    }
    terms.clear();
    for (int64_t b = 0; b < lattice_.count(T - 2); ++b)
        for (int64_t c = 0; c < lattice_.count(T - 1); ++c)
            terms.push_back(alpha[lattice_.pair(T - 1, b, c)] + lattice_.end(c));
    log_z = log_sum_exp(terms);
    return log_z == -kInf ? Status::no_path : Status::done;
}

Status PairPosterior::backward_in_logs() {
    const int64_t T = lattice_.T();
    double* beta = at_least(beta_, lattice_.size());
    std::fill(beta, beta + lattice_.size(), -kInf);
    for (int64_t b = 0; b < lattice_.count(T - 2); ++b)
        for (int64_t c = 0; c < lattice_.count(T - 1); ++c) beta[lattice_.pair(T - 1, b, c)] = lattice_.end(c);
    std::vector<double> terms;
    for (int64_t t = T - 1; t > 0; --t) {
        if (stopped(stop_)) return Status::stopped;
        terms.resize(size_t(lattice_.count(t)));
        for (int64_t a = 0; a < lattice_.count(t - 2); ++a)
            for (int64_t b = 0; b < lattice_.count(t - 1); ++b) {
                for (int64_t c = 0; c < lattice_.count(t); ++c) {
                    const double triple = t == 1 ? 0.0
                                                 : triples_->score(lattice_.label(t - 2, a), lattice_.label(t - 1, b),
                                                                   lattice_.label(t, c));
                    terms[size_t(c)] = triple + lattice_.local(t, b, c) + beta[lattice_.pair(t, b, c)];
                }
                beta[lattice_.pair(t - 1, a, b)] = log_sum_exp(terms);
            }
    }
    return Status::done;
}

// --- samples ----------------------------------------------------------------------------------------------------

namespace {

// The entry in which the share u of the summed weights falls.
int64_t invert(const std::vector<double>& weights, double u) {
    double total = 0;
    for (double weight : weights) total += weight;
    int64_t last = 0;
    u *= total;
    for (int64_t n = 0; n < int64_t(weights.size()); ++n) {
        if (weights[size_t(n)] == 0) continue;
        last = n;
        if ((u -= weights[size_t(n)]) < 0) break;
    }
    return last;
}

// Logarithms to shares of their largest.
void to_shares(std::vector<double>& terms) {
    const double high = *std::max_element(terms.begin(), terms.end());
    for (double& term : terms) term = high == -kInf ? 0.0 : std::exp(term - high);
}

}  // namespace

// How probable each first label of a triple (·, b, c) that ends at token t is, up to a factor.
void PairPosterior::weigh_before(int64_t t, int64_t b, int64_t c, std::vector<double>& weights) const {
    weights.clear();
    for (int64_t a = 0; a < lattice_.count(t - 2); ++a) {
        const double alpha = alpha_[size_t(lattice_.pair(t - 1, a, b))];
        const double score =
            t < 2 ? 0.0 : triples_->score(lattice_.label(t - 2, a), lattice_.label(t - 1, b), lattice_.label(t, c));
        weights.push_back(in_logs_ ? alpha + score : alpha * std::exp(score));
    }
    if (in_logs_) to_shares(weights);
}

Status PairPosterior::draw(const Scores<double>& sentence, const double* uniforms, int64_t samples, int64_t stride,
                           int64_t* labels) {
    double log_z = 0;
    if (const Status status = begin(sentence, log_z); status != Status::done) return status;
    const int64_t last = sentence.T - 1;
    std::vector<double> weights, ends;
    for (int64_t c = 0; c < lattice_.count(last); ++c) {
        std::vector<double> ways;
        for (int64_t b = 0; b < lattice_.count(last - 1); ++b) ways.push_back(alpha_[size_t(lattice_.pair(last, b, c))]);
        double sum = 0;
        for (double way : ways) sum += way;
        ends.push_back(in_logs_ ? log_sum_exp(ways) + lattice_.end(c) : sum * std::exp(lattice_.end(c)));
    }
    if (in_logs_) to_shares(ends);
    for (int64_t n = 0; n < samples; ++n, uniforms += stride, labels += stride) {
        if (stopped(stop_)) return Status::stopped;
        int64_t c = invert(ends, uniforms[last]), b = 0;
        labels[last] = lattice_.label(last, c);
        if (last == 0) continue;
        weights.clear();
        for (int64_t k = 0; k < lattice_.count(last - 1); ++k)
            weights.push_back(alpha_[size_t(lattice_.pair(last, k, c))]);
        if (in_logs_) to_shares(weights);
        b = invert(weights, uniforms[last - 1]);
        labels[last - 1] = lattice_.label(last - 1, b);
        for (int64_t t = last; t >= 2; --t) {
            weigh_before(t, b, c, weights);
            c = b;
            b = invert(weights, uniforms[t - 2]);
            labels[t - 2] = lattice_.label(t - 2, b);
        }
    }
    return Status::done;
}

}  // namespace tagline
