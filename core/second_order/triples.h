// Second-order chains: the scores of a first-order chain, and scores of some triples of neighbouring labels.
//
//     score(y) = start[y_0] + Σ_t e_t[y_t] + Σ_(t ≥ 1) transitions[y_(t−1), y_t] + Σ_(t ≥ 2) w[y_(t−2), y_(t−1), y_t]
//                + end[y_(T−1)]
//
// A pair of labels after which no triple has a score has no row, so that its triples score 0: only the transition counts.
#pragma once

#include "chain/kernels.h"
#include "runtime/growing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace tagline {

// w[a, b, c] = table[rows[a · L + b], c]; 0 where the row is −1. Rows of the table are padded to whole vectors, and one more
// follows them: of zeros, for all pairs that have none.
class Triples {
public:
    Triples() = default;
    // rows [L, L] below R, or −1.
    Triples(int64_t L, int64_t R, std::vector<int32_t> rows)
        : L_(L), R_(R), rows_(std::move(rows)), table_(size_t((R + 1) * padded(L)), 0.0), exps_(table_.size(), 1.0) {}

    // Take over scores, finite or −∞, of a table [R, padded L].
    template <class Real>
    void load(const Real* scores) {
        fits_ = true;
        for (size_t k = 0; k < size_t(R_ * stride()); ++k) {
            take(k, double(scores[k]));
            exps_[k] = std::exp(table_[k]);
        }
    }

    // The same where all scores but those of some cells are 0, now and before.
    template <class Real>
    void load(const Real* scores, const std::vector<int64_t>& cells, const TripleKernels& kernels) {
        fits_ = true;
        values_.assign(size_t(padded(int64_t(cells.size()))), 0.0);
        for (size_t k = 0; k < cells.size(); ++k) {
            take(size_t(cells[k]), double(scores[cells[k]]));
            values_[k] = table_[size_t(cells[k])];
        }
        kernels.exps(values_.data(), int64_t(values_.size()), values_.data());
        for (size_t k = 0; k < cells.size(); ++k) exps_[size_t(cells[k])] = values_[k];
    }

    explicit operator bool() const { return L_ > 0; }
    int64_t labels() const { return L_; }
    int64_t rows() const { return R_; }
    int64_t stride() const { return padded(L_); }
    int32_t row(int64_t a, int64_t b) const { return rows_[size_t(a * L_ + b)]; }
    const double* table() const { return table_.data(); }
    const double* exps() const { return exps_.data(); }
    bool fits() const { return fits_; }  // whether exps are neither too large nor too small to be multiplied
    double score(int64_t a, int64_t b, int64_t c) const {
        const int32_t found = row(a, b);
        return found < 0 ? 0.0 : table_[size_t(found * stride() + c)];
    }

    static int64_t padded(int64_t count) { return (count + 7) / 8 * 8; }
    static constexpr double kWidest = 57;  // e^57 = 10^25

private:
    int64_t L_ = 0, R_ = 0;
    std::vector<int32_t> rows_;
    std::vector<double> table_, exps_, values_;
    bool fits_ = true;

    void take(size_t cell, double score) {
        table_[cell] = score;
        fits_ = fits_ && (score == -kInf || std::abs(score) < kWidest);
    }
};

// The lattice of one sentence: which labels its tokens may have, and the scores between those. A value stands for a pair of candidates
// (b at token t − 1, c at token t); token 0 has one nameless candidate before it. Rows of pairs are padded with zeros.
class PairLattice {
public:
    // False where a token has no candidate.
    bool enter(const Scores<double>& scores);

    int64_t T() const { return scores_.T; }
    int64_t count(int64_t t) const { return t < 0 ? 1 : counts_[size_t(t)]; }
    int32_t label(int64_t t, int64_t c) const { return labels_[size_t(offsets_[size_t(t)] + c)]; }
    // As many as the width, with the first again behind the last.
    const int32_t* labels(int64_t t) const { return labels_.data() + offsets_[size_t(t)]; }
    bool all(int64_t t) const { return count(t) == scores_.L; }

    int64_t width(int64_t t) const { return Triples::padded(count(t)); }
    int64_t row(int64_t t, int64_t b) const { return begins_[size_t(t)] + b * width(t); }
    int64_t pair(int64_t t, int64_t b, int64_t c) const { return row(t, b) + c; }
    int64_t size() const { return begins_.back(); }  // of the values

    // The score of the pair (b, c) without triples and ends: the transition and the emission.
    double local(int64_t t, int64_t b, int64_t c) const {
        const int32_t to = label(t, c);
        const double emission = scores_.emissions[t * scores_.L + to];
        return emission + (t == 0 ? scores_.start[to] : transition(t, label(t - 1, b), to));
    }
    double end(int64_t c) const { return scores_.end[label(scores_.T - 1, c)]; }
    double transition(int64_t t, int32_t from, int32_t to) const { return transitions(t)[from * scores_.L + to]; }
    const double* transitions(int64_t t) const {
        return scores_.transitions + (scores_.per_position ? t * scores_.L * scores_.L : 0);
    }
    const Scores<double>& scores() const { return scores_; }

private:
    Scores<double> scores_{};
    std::vector<int64_t> counts_, offsets_, begins_;
    std::vector<int32_t> labels_;
};

inline bool PairLattice::enter(const Scores<double>& scores) {
    scores_ = scores;
    counts_.resize(size_t(scores.T));
    offsets_.resize(size_t(scores.T));
    begins_.assign(1, 0);
    int64_t used = 0;
    for (int64_t t = 0; t < scores.T; ++t) {
        const double* emissions = scores.emissions + t * scores.L;
        int32_t* labels = at_least(labels_, used + Triples::padded(scores.L)) + used;
        int64_t count = 0;
        for (int64_t c = 0; c < scores.L; ++c) {  // without a jump: which labels are left is hard to foresee
            labels[count] = int32_t(c);
            count += emissions[c] > -kInf;
        }
        if (count == 0) return false;
        std::fill(labels + count, labels + Triples::padded(count), labels[0]);
        counts_[size_t(t)] = count;
        offsets_[size_t(t)] = used;
        used += width(t);
        begins_.push_back(begins_.back() + this->count(t - 1) * width(t));
    }
    return true;
}

}  // namespace tagline
