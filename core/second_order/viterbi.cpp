#include "second_order/viterbi.h"

#include "runtime/growing.h"
#include "runtime/pool.h"

#include <algorithm>

namespace tagline {

// δ_t(b, ·) for t ≥ 2.
void PairViterbi::step(int64_t t, int64_t b) {
    const int64_t A = lattice_.count(t - 2), C = lattice_.count(t), W = lattice_.width(t);
    double* out = delta_.data() + lattice_.row(t, b);
    double *compact = lattice_.all(t) ? nullptr : at_least(compact_, A * W), bare = -kInf;
    amounts_.clear();
    rows_.clear();
    for (int64_t a = 0; a < A; ++a) {
        const double amount = delta_[size_t(lattice_.pair(t - 1, a, b))];
        if (amount == -kInf) continue;
        const int32_t context = triples_.row(lattice_.label(t - 2, a), lattice_.label(t - 1, b));
        if (context < 0) {
            bare = std::max(bare, amount);
            continue;
        }
        const double* row = triples_.table() + context * triples_.stride();
        if (compact) {
            for (int64_t c = 0; c < C; ++c) compact[c] = row[lattice_.label(t, c)];
            std::fill(compact + C, compact + W, 0.0);
            row = compact;
            compact += W;
        }
        amounts_.push_back(amount);
        rows_.push_back(row);
    }
    if (bare > -kInf) {
        amounts_.push_back(bare);
        rows_.push_back(zeros_.data());
    }
    kernels_.best_of(int64_t(rows_.size()), amounts_.data(), rows_.data(), W, out);
    for (int64_t c = 0; c < C; ++c) out[c] += lattice_.local(t, b, c);
    std::fill(out + C, out + W, -kInf);
}

bool PairViterbi::forward() {
    double* delta = at_least(delta_, lattice_.size());
    for (int64_t t = 0; t < lattice_.T(); ++t) {
        if (stopped(stop_)) return false;
        for (int64_t b = 0; b < lattice_.count(t - 1); ++b) {
            if (t >= 2) {
                step(t, b);
                continue;
            }
            const double before = t == 0 ? 0.0 : delta[lattice_.pair(0, 0, b)];
            for (int64_t c = 0; c < lattice_.count(t); ++c)
                delta[lattice_.pair(t, b, c)] = before + lattice_.local(t, b, c);
        }
    }
    return true;
}

// The a on the best way to the pair (b, c) of token t; the smallest of equals.
int64_t PairViterbi::best_before(int64_t t, int64_t b, int64_t c) const {
    int64_t best = 0;
    double high = -kInf;
    for (int64_t a = 0; a < lattice_.count(t - 2); ++a) {
        const double score = delta_[size_t(lattice_.pair(t - 1, a, b))] +
                             triples_.score(lattice_.label(t - 2, a), lattice_.label(t - 1, b), lattice_.label(t, c));
        if (score > high) {
            high = score;
            best = a;
        }
    }
    return best;
}

Status PairViterbi::compute(const Scores<double>& sentence, int64_t* labels, double& score) {
    score = -kInf;
    if (!lattice_.enter(sentence)) return Status::no_path;
    if (!forward()) return Status::stopped;
    const int64_t last = sentence.T - 1;
    int64_t best_b = 0, best_c = 0;
    for (int64_t c = 0; c < lattice_.count(last); ++c)
        for (int64_t b = 0; b < lattice_.count(last - 1); ++b) {
            const double total = delta_[size_t(lattice_.pair(last, b, c))] + lattice_.end(c);
            if (total > score) {
                score = total;
                best_b = b;
                best_c = c;
            }
        }
    if (score == -kInf) return Status::no_path;
    for (int64_t t = last; t >= 0; --t) {
        labels[t] = lattice_.label(t, best_c);
        const int64_t before = t >= 2 ? best_before(t, best_b, best_c) : 0;
        best_c = best_b;
        best_b = before;
    }
    return Status::done;
}


}  // namespace tagline
