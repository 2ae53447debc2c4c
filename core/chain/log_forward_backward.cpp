// α̂_t = log α_t less its maximum, the maxima carried apart (κ), so that no number grows with the sentence:
//     α̂_t(j) = log Σ_i exp(α̂_(t−1)(i) + T(i, j)) + e_t(j) − κ_t
// With c_t = log Σ_j exp(α̂_t(j) + β̂_t(j)):  P(y_t = j) = exp(α̂_t(j) + β̂_t(j) − c_t)  and
//     P(y_(t−1) = i, y_t = j) = exp(α̂_(t−1)(i) + T(i, j) + e_t(j) + β̂_t(j) − κ_t − c_t).
#include "chain/log_forward_backward.h"

#include "chain/log_sum_exp.h"
#include "runtime/arena.h"
#include "runtime/pool.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

// Take the maximum off a row and return it; 0 from a row of −∞.
double normalise(double* row, int64_t L) {
    const double high = *std::max_element(row, row + L);
    if (high == -kInf) return 0;
    for (int64_t j = 0; j < L; ++j) row[j] -= high;
    return high;
}

struct LogTrellis {
    const Scores<double>& s;
    const int* stop;
    const int64_t T, L;
    double *alpha, *beta;   // [T, L]
    double *kappa, *lambda;  // [T] what was taken off α and β at t
    double* terms;           // [L]

    LogTrellis(const Scores<double>& sentence, Arena& scratch, const int* stop)
        : s(sentence), stop(stop), T(s.T), L(s.L) {
        const auto doubles = [&](int64_t n) { return static_cast<double*>(scratch.take(size_t(n), sizeof(double))); };
        alpha = doubles(T * L);
        beta = doubles(T * L);
        kappa = doubles(T);
        lambda = doubles(T);
        terms = doubles(L);
    }

    bool gives_up(int64_t t) const { return t % 64 == 0 && stopped(stop); }

    const double* into(int64_t t) const { return s.per_position ? s.transitions + t * L * L : s.transitions; }

    // Call work(i) for the labels that may stand before label j, and work(j, number of the pair) for those that may
    // follow label i: all of them, or those in the lists.
    template <class Work>
    void each_previous(int64_t j, const Work& work) const {
        if (!s.legal)
            for (int64_t i = 0; i < L; ++i) work(i);
        else
            for (int64_t k = s.legal->entering[j]; k < s.legal->entering[j + 1]; ++k)
                work(s.legal->previous[s.legal->numbers[k]]);
    }

    template <class Work>
    void each_next(int64_t i, const Work& work) const {
        if (!s.legal)
            for (int64_t j = 0; j < L; ++j) work(j, i * L + j);
        else
            for (int64_t k = s.legal->leaving[i]; k < s.legal->leaving[i + 1]; ++k) work(s.legal->next[k], k);
    }

    bool forward() {
        for (int64_t t = 0; t < T; ++t) {
            if (gives_up(t)) return false;
            double* row = alpha + t * L;
            for (int64_t j = 0; j < L; ++j) {
                if (t == 0) {
                    row[j] = s.start[j];
                } else {
                    int64_t count = 0;
                    each_previous(j, [&](int64_t i) { terms[count++] = row[i - L] + into(t)[i * L + j]; });
                    row[j] = log_sum_exp(terms, size_t(count));
                }
                row[j] += s.emissions[t * L + j];
            }
            kappa[t] = normalise(row, L);
        }
        return true;
    }

    bool backward() {
        for (int64_t t = T - 1; t >= 0; --t) {
            if (gives_up(t)) return false;
            double* row = beta + t * L;
            for (int64_t i = 0; i < L; ++i) {
                if (t == T - 1) {
                    row[i] = s.end[i];
                    continue;
                }
                int64_t count = 0;
                each_next(i, [&](int64_t j, int64_t) {
                    terms[count++] = into(t + 1)[i * L + j] + (s.emissions[(t + 1) * L + j] + row[L + j]);
                });
                row[i] = log_sum_exp(terms, size_t(count));
            }
            lambda[t] = normalise(row, L);
        }
        return true;
    }

    double log_z() const {
        double total = 0;
        for (int64_t t = 0; t < T; ++t) total += kappa[t];
        for (int64_t j = 0; j < L; ++j) terms[j] = alpha[(T - 1) * L + j] + s.end[j];
        return total + log_sum_exp(terms, size_t(L));
    }

    double log_mass(int64_t t) const {
        for (int64_t j = 0; j < L; ++j) terms[j] = alpha[t * L + j] + beta[t * L + j];
        return log_sum_exp(terms, size_t(L));
    }

    void write_tables(const Answers<double>& want) const {
        double total = 0;
        for (int64_t t = 0; want.log_alpha && t < T; ++t) {
            total += kappa[t];
            for (int64_t j = 0; j < L; ++j) want.log_alpha[t * L + j] = alpha[t * L + j] + total;
        }
        total = 0;
        for (int64_t t = T - 1; want.log_beta && t >= 0; --t) {
            total += lambda[t];
            for (int64_t j = 0; j < L; ++j) want.log_beta[t * L + j] = beta[t * L + j] + total;
        }
    }

    bool write_posterior(const Answers<double>& want) const {
        double surprise = 0;
        for (int64_t t = 0; t < T; ++t) {
            if (gives_up(t)) return false;
            const double c = log_mass(t);
            for (int64_t j = 0; j < L; ++j) {
                const double log_p = alpha[t * L + j] + beta[t * L + j] - c, p = std::exp(log_p);
                if (want.nodes) want.nodes[t * L + j] = want.negative_nodes ? -p : p;
                if (want.start_counts && t == 0) want.start_counts[j] += p;
                if (want.end_counts && t == T - 1) want.end_counts[j] += p;
                if (p > 0 && T == 1) surprise -= p * log_p;
                if (p > 0 && t > 0 && t < T - 1) surprise += p * log_p;
            }
            if (t > 0)
                surprise += write_edges(want, t, c);
            else if (want.edges)
                std::fill(want.edges, want.edges + L * L, 0.0);
        }
        if (want.entropy) *want.entropy = std::max(surprise, 0.0);
        return true;
    }

    // Returns −Σ p log p over the edge into t.
    double write_edges(const Answers<double>& want, int64_t t, double c) const {
        if (!want.edges && !want.transition_counts && !want.entropy) return 0;
        double surprise = 0;
        if (want.edges && s.legal) std::fill(want.edges + t * L * L, want.edges + (t + 1) * L * L, 0.0);
        for (int64_t i = 0; i < L; ++i)
            each_next(i, [&](int64_t j, int64_t number) {
                const double ahead = s.emissions[t * L + j] + beta[t * L + j] - kappa[t] - c;
                const double log_p = alpha[(t - 1) * L + i] + into(t)[i * L + j] + ahead, p = std::exp(log_p);
                if (want.edges) want.edges[(t * L + i) * L + j] = p;
                if (want.transition_counts) want.transition_counts[number] += p;
                if (p > 0) surprise -= p * log_p;
            });
        return surprise;
    }
};

}  // namespace

Status log_posterior(const Scores<double>& sentence, const Answers<double>& want, Arena& scratch, const int* stop) {
    LogTrellis trellis(sentence, scratch, stop);
    if (!trellis.forward()) return Status::stopped;
    const double log_z = trellis.log_z();
    if (want.log_z) *want.log_z = log_z;
    const bool all = want.nodes || want.edges || want.transition_counts || want.start_counts || want.entropy;
    if (want.log_beta || all)
        if (!trellis.backward()) return Status::stopped;
    trellis.write_tables(want);
    if (log_z == -kInf) return Status::no_path;
    return !all || trellis.write_posterior(want) ? Status::done : Status::stopped;
}

}  // namespace tagline
