// Segments of up to D tokens. With s and t between tokens, from 0 to T:
//
//     γ_0(j) = start(j)      γ_s(j) = log Σ_i exp(α_s(i) + T(i, j))
//     α_t(j) = log Σ_d exp(γ_(t−d)(j) + segment(t, d, j))      log Z = log Σ_j exp(α_T(j) + end(j))
//
// in T·(D·L + L²) steps (Sarawagi and Cohen, NIPS 2004). Each sum leaves the shares of its terms: q(d | t, j) of the
// lengths, r(i | s, j) of the labels before. Probabilities follow from the end to the start by products and sums of
// numbers from 0 to 1, without another exp:
//
//     P(ends at T with j) = exp(α_T(j) + end(j) − log Z)      P(segment t, d, j) = P(ends at t with j)·q(d | t, j)
//     P(begins at s with j) = Σ_d P(segment s + d, d, j)      P(ends at s with i) = Σ_j P(begins at s with j)·r(i | s, j)
//
// and so does the entropy: that of the last label and, weighed by where they are used, those of q and of r.
#include "chain/segments.h"

#include "chain/blocks.h"
#include "chain/log_sum_exp.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tagline {

namespace {

using Doubles = std::vector<double>;

// The scores of one sentence.
struct Sentence {
    const double *scores, *transitions, *start, *end;
    int64_t T, D, L;

    Sentence(const SegmentBatch& batch, int64_t b)
        : scores(batch.scores + batch.offsets[b] * batch.D * batch.L),
          transitions(batch.transitions),
          start(batch.start),
          end(batch.end),
          T(batch.offsets[b + 1] - batch.offsets[b]),
          D(batch.D),
          L(batch.L) {}

    // Segments of d + 1 tokens that end between tokens at t.
    const double* segment(int64_t t, int64_t d) const { return scores + ((t - 1) * D + d) * L; }
};

// −Σ p log p.
double entropy_of(const double* shares, int64_t count, int64_t stride) {
    double sum = 0;
    for (int64_t k = 0; k < count; ++k)
        if (const double p = shares[k * stride]; p > 0) sum -= p * std::log(p);
    return sum;
}

// Turn terms into their shares of the sum, in place; return the log of the sum. Shares of nothing are 0.
double share(double* terms, int64_t count, int64_t stride) {
    double high = -kInf, sum = 0;
    for (int64_t k = 0; k < count; ++k) high = std::max(high, terms[k * stride]);
    if (high == -kInf) {
        for (int64_t k = 0; k < count; ++k) terms[k * stride] = 0;
        return -kInf;
    }
    for (int64_t k = 0; k < count; ++k) sum += terms[k * stride] = std::exp(terms[k * stride] - high);
    const double factor = 1 / sum;
    for (int64_t k = 0; k < count; ++k) terms[k * stride] *= factor;
    return high + std::log(sum);
}

// One sentence's sums: the tables are used again for the next.
class Sums {
public:
    // Fill the tables; returns log Z.
    double forward(const Sentence& s) {
        const size_t rows = size_t(s.T + 1), L = size_t(s.L);
        gamma_.resize(rows * L);
        alpha_.resize(rows * L);
        lengths_.resize(rows * size_t(s.D) * L);
        labels_.resize(rows * L * L);
        last_.resize(L);
        std::copy(s.start, s.start + s.L, gamma_.begin());
        for (int64_t t = 1; t <= s.T; ++t) {
            const int64_t most = std::min(s.D, t);
            double* q = lengths_.data() + t * s.D * s.L;
            for (int64_t d = 0; d < most; ++d) {
                const double* segment = s.segment(t, d);
                const double* gamma = gamma_.data() + (t - d - 1) * s.L;
                for (int64_t j = 0; j < s.L; ++j) q[d * s.L + j] = gamma[j] + segment[j];
            }
            double* alpha = alpha_.data() + t * s.L;
            for (int64_t j = 0; j < s.L; ++j) alpha[j] = share(q + j, most, s.L);
            if (t == s.T) break;
            double* r = labels_.data() + t * s.L * s.L;  // [next, previous]
            double* gamma = gamma_.data() + t * s.L;
            for (int64_t j = 0; j < s.L; ++j) {
                for (int64_t i = 0; i < s.L; ++i) r[j * s.L + i] = alpha[i] + s.transitions[i * s.L + j];
                gamma[j] = share(r + j * s.L, s.L, 1);
            }
        }
        for (int64_t j = 0; j < s.L; ++j) last_[size_t(j)] = alpha_[size_t(s.T * s.L + j)] + s.end[j];
        return share(last_.data(), s.L, 1);
    }

    // Probabilities times `weight`, after forward with a finite log Z. `segments` [T, D, L] and `entropy` may be null, the
    // entropy for a weight of 1 only; the counts are added to.
    void backward(const Sentence& s, double weight, double* segments, double* entropy, double* transitions,
                  double* start, double* end) {
        ends_.assign(size_t(s.T + 1) * size_t(s.L), 0.0);
        begins_.assign(ends_.size(), 0.0);
        double h = entropy_of(last_.data(), s.L, 1);
        double* closing = ends_.data() + s.T * s.L;
        for (int64_t j = 0; j < s.L; ++j) end[j] += closing[j] = weight * last_[size_t(j)];
        for (int64_t t = s.T; t >= 1; --t) {
            const int64_t most = std::min(s.D, t);
            const double* q = lengths_.data() + t * s.D * s.L;
            double* ends = ends_.data() + t * s.L;
            if (t < s.T) {  // begins_ at t is complete: all segments that begin there end later
                const double *begins = begins_.data() + t * s.L, *r = labels_.data() + t * s.L * s.L;
                for (int64_t j = 0; j < s.L; ++j) {
                    if (begins[j] == 0) continue;
                    for (int64_t i = 0; i < s.L; ++i) {
                        const double p = begins[j] * r[j * s.L + i];
                        ends[i] += p;
                        transitions[i * s.L + j] += p;
                    }
                    if (entropy) h += begins[j] * entropy_of(r + j * s.L, s.L, 1);
                }
            }
            double* out = segments ? segments + (t - 1) * s.D * s.L : nullptr;
            for (int64_t d = 0; d < most; ++d) {
                double* begins = begins_.data() + (t - d - 1) * s.L;
                for (int64_t j = 0; j < s.L; ++j) {
                    const double p = ends[j] * q[d * s.L + j];
                    begins[j] += p;
                    if (out) out[d * s.L + j] = p;
                }
            }
            if (out) std::fill(out + most * s.L, out + s.D * s.L, 0.0);
            if (entropy)
                for (int64_t j = 0; j < s.L; ++j)
                    if (ends[j] > 0) h += ends[j] * entropy_of(q + j, most, s.L);
        }
        for (int64_t j = 0; j < s.L; ++j) start[j] += begins_[size_t(j)];
        if (entropy) *entropy = h;
    }

private:
    Doubles gamma_, alpha_, lengths_, labels_, last_, ends_, begins_;
};

}  // namespace

Outcome segment_posterior(const SegmentBatch& batch, const SegmentAnswers& want, const Interrupted& interrupted) {
    const Blocks blocks(batch.offsets, batch.B, batch.L + batch.D);
    const size_t L = size_t(batch.L), width = L * L + 2 * L;
    std::vector<Doubles> counts(size_t(blocks.count()), Doubles(width, 0.0));
    const bool probabilities =
        want.segments || want.transition_counts || want.start_counts || want.end_counts || want.entropy;
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](long k, int64_t first, int64_t last, const int* stop) {
        Sums sums;
        double* own = counts[size_t(k)].data();
        for (int64_t b = first; b < last && !stopped(stop); ++b) {
            const Sentence s(batch, b);
            double* segments = want.segments ? want.segments + batch.offsets[b] * s.D * s.L : nullptr;
            if (s.T == 0) {
                if (want.log_z) want.log_z[b] = 0;
                if (want.entropy) want.entropy[b] = 0;
                continue;
            }
            const double log_z = sums.forward(s);
            if (want.log_z) want.log_z[b] = log_z;
            if (log_z == -kInf) {
                dead.report(b);
                if (segments) std::fill(segments, segments + s.T * s.D * s.L, 0.0);
                if (want.entropy) want.entropy[b] = 0;
            } else if (probabilities) {
                sums.backward(s, want.weights ? want.weights[b] : 1.0, segments,
                              want.entropy ? want.entropy + b : nullptr, own, own + L * L, own + L * L + L);
            }
        }
    });
    const auto add = [&](double* out, size_t from, size_t count) {
        if (!out) return;
        std::fill(out, out + count, 0.0);
        for (const Doubles& own : counts)
            for (size_t k = 0; k < count; ++k) out[k] += own[from + k];
    };
    add(want.transition_counts, 0, L * L);
    add(want.start_counts, L * L, L);
    add(want.end_counts, L * L + L, L);
    outcome.sentence = dead.value();
    return outcome;
}

namespace {

// The best segmentation of one sentence; among equal scores the one that is smaller when read from the last segment to
// the first, a segment by its label, then by its length.
double best(const Sentence& s, std::vector<Doubles>& tables, std::vector<int32_t>& lengths,
            std::vector<int32_t>& labels, int64_t* out_labels, bool* out_begins) {
    const size_t rows = size_t(s.T + 1), L = size_t(s.L);
    Doubles &into = tables[0], &until = tables[1];
    into.assign(rows * L, -kInf);
    until.assign(rows * L, -kInf);
    lengths.assign(rows * L, 0);
    labels.assign(rows * L, -1);
    std::copy(s.start, s.start + s.L, into.begin());
    for (int64_t t = 1; t <= s.T; ++t) {
        double* alpha = until.data() + t * s.L;
        for (int64_t d = 0; d < std::min(s.D, t); ++d) {
            const double *segment = s.segment(t, d), *gamma = into.data() + (t - d - 1) * s.L;
            for (int64_t j = 0; j < s.L; ++j)
                if (gamma[j] + segment[j] > alpha[j]) {
                    alpha[j] = gamma[j] + segment[j];
                    lengths[size_t(t * s.L + j)] = int32_t(d + 1);
                }
        }
        if (t == s.T) break;
        double* gamma = into.data() + t * s.L;
        for (int64_t i = 0; i < s.L; ++i)
            for (int64_t j = 0; j < s.L; ++j)
                if (alpha[i] + s.transitions[i * s.L + j] > gamma[j]) {
                    gamma[j] = alpha[i] + s.transitions[i * s.L + j];
                    labels[size_t(t * s.L + j)] = int32_t(i);
                }
    }
    int64_t label = 0;
    const double* alpha = until.data() + s.T * s.L;
    for (int64_t j = 1; j < s.L; ++j)
        if (alpha[j] + s.end[j] > alpha[label] + s.end[label]) label = j;
    const double score = alpha[label] + s.end[label];
    if (score == -kInf) return score;
    for (int64_t t = s.T; t > 0;) {
        const int64_t begin = t - lengths[size_t(t * s.L + label)];
        for (int64_t n = begin; n < t; ++n) {
            out_labels[n] = label;
            out_begins[n] = n == begin;
        }
        label = labels[size_t(begin * s.L + label)];
        t = begin;
    }
    return score;
}

}  // namespace

Outcome segment_viterbi(const SegmentBatch& batch, int64_t* labels, bool* begins, double* scores,
                        const Interrupted& interrupted) {
    const Blocks blocks(batch.offsets, batch.B, batch.L + batch.D);
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](long, int64_t first, int64_t last, const int* stop) {
        std::vector<Doubles> tables(2);
        std::vector<int32_t> lengths, previous;
        for (int64_t b = first; b < last && !stopped(stop); ++b) {
            const Sentence s(batch, b);
            const int64_t n = batch.offsets[b];
            scores[b] = s.T == 0 ? 0.0 : best(s, tables, lengths, previous, labels + n, begins + n);
            if (scores[b] == -kInf) {
                dead.report(b);
                std::fill(labels + n, labels + n + s.T, 0);
                std::fill(begins + n, begins + n + s.T, false);
            }
        }
    });
    outcome.sentence = dead.value();
    return outcome;
}

}  // namespace tagline
