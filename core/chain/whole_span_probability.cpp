// The probability that a labelling has exactly a span: a forward pass over its tokens with the labels of its type, between
// log α before it, from which a pair of labels begins the span, and log β behind it, to which one ends it.
#include "chain/batch.h"

#include "chain/blocks.h"
#include "chain/fallback.h"
#include "chain/log_sum_exp.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

// One sentence with the rows of log α and log β next to its spans.
struct Lattice {
    const Scores<double>& s;
    const double *log_alpha, *log_beta;  // [T, L]
    const SpanReading& reading;

    const double* transitions(int64_t t) const { return s.per_position ? s.transitions + t * s.L * s.L : s.transitions; }
    bool continues(int64_t i, int64_t j) const { return reading.continues[i * s.L + j]; }
};

class Inside {
public:
    explicit Inside(const SpanReading& reading) : reading_(reading) {}

    // log Σ exp(score) of the labellings that have the span.
    double of(const Lattice& lattice, int64_t start, int64_t end, int64_t type) {
        members_.clear();
        for (int64_t w = 0; w < reading_.width; ++w)
            if (const int64_t label = reading_.members[type * reading_.width + w]; label >= 0) members_.push_back(label);
        const Scores<double>& s = lattice.s;
        now_.clear();
        for (const int64_t j : members_) now_.push_back(enter(lattice, start, j) + s.emissions[start * s.L + j]);
        for (int64_t t = start + 1; t < end; ++t) step(lattice, t);
        for (size_t m = 0; m < members_.size(); ++m) now_[m] += leave(lattice, end, members_[m]);
        return log_sum_exp(now_);
    }

private:
    const SpanReading& reading_;
    std::vector<int64_t> members_;
    std::vector<double> now_, next_, terms_;

    double enter(const Lattice& lattice, int64_t start, int64_t j) {
        const int64_t L = lattice.s.L;
        if (start == 0) return lattice.s.start[j];
        const double *before = lattice.log_alpha + (start - 1) * L, *transitions = lattice.transitions(start);
        terms_.clear();
        for (int64_t i = 0; i < L; ++i)
            if (!lattice.continues(i, j)) terms_.push_back(before[i] + transitions[i * L + j]);
        return log_sum_exp(terms_);
    }

    void step(const Lattice& lattice, int64_t t) {
        const int64_t L = lattice.s.L;
        const double* transitions = lattice.transitions(t);
        next_.clear();
        for (const int64_t j : members_) {
            terms_.clear();
            for (size_t m = 0; m < members_.size(); ++m)
                if (lattice.continues(members_[m], j)) terms_.push_back(now_[m] + transitions[members_[m] * L + j]);
            next_.push_back(log_sum_exp(terms_) + lattice.s.emissions[t * L + j]);
        }
        std::swap(now_, next_);
    }

    double leave(const Lattice& lattice, int64_t end, int64_t i) {
        const Scores<double>& s = lattice.s;
        if (end == s.T) return s.end[i];
        const double *after = lattice.log_beta + end * s.L, *emissions = s.emissions + end * s.L;
        const double* transitions = lattice.transitions(end);
        terms_.clear();
        for (int64_t j = 0; j < s.L; ++j)
            if (!lattice.continues(i, j)) terms_.push_back(transitions[i * s.L + j] + (emissions[j] + after[j]));
        return log_sum_exp(terms_);
    }
};

// What all sentences share, in float64.
struct WideCommon {
    std::vector<double> transitions, start, end;

    template <class Real>
    explicit WideCommon(const Batch<Real>& batch)
        : start(batch.start, batch.start + batch.L), end(batch.end, batch.end + batch.L) {
        if (!batch.per_position) transitions.assign(batch.transitions, batch.transitions + batch.L * batch.L);
    }
};

// The sentences of one group in float64, with room for the tables that are asked for.
class Member {
public:
    template <class Real>
    void load(const Batch<Real>& batch, const WideCommon& common, int64_t b, const PlacedSpans& spans, int64_t first,
              int64_t last) {
        const Scores<Real> narrow = batch.sentence(b);
        const int64_t T = narrow.T, L = narrow.L;
        emissions_.assign(narrow.emissions, narrow.emissions + T * L);
        if (narrow.per_position) transitions_.assign(narrow.transitions, narrow.transitions + T * L * L);
        scores = {emissions_.data(), narrow.per_position ? transitions_.data() : common.transitions.data(),
                  common.start.data(), common.end.data(), T, L, narrow.per_position};
        rows_.assign(size_t(T), 0);
        for (int64_t m = first; m < last; ++m) {
            if (spans.start[m] > 0) rows_[size_t(spans.start[m] - 1)] = 1;
            if (spans.end[m] < T) rows_[size_t(spans.end[m])] = 1;
        }
        log_alpha_.resize(size_t(T * L));
        log_beta_.resize(size_t(T * L));
        want = {};
        want.log_z = &log_z;
        want.log_alpha = log_alpha_.data();
        want.log_beta = log_beta_.data();
        want.rows = rows_.data();
    }

    Scores<double> scores{};
    Answers<double> want{};
    double log_z = 0;

private:
    UnsetVector<double> emissions_, transitions_, log_alpha_, log_beta_;
    std::vector<uint8_t> rows_;
};

}  // namespace

template <class Real>
Outcome whole_span_probability(const Batch<Real>& batch, const PlacedSpans& spans, const SpanReading& reading,
                               double* out, const Interrupted& interrupted) {
    const Variant& variant = active_variant();
    const WideCommon common(batch);
    const Scores<double> shared{nullptr, common.transitions.data(), common.start.data(), common.end.data(), 0, batch.L,
                                batch.per_position};
    const Prepared prepared = Prepared::sums(variant.float64, shared, PairLists::choose(shared, variant.float64));
    const Blocks blocks(batch.offsets, batch.B, batch.L);
    std::vector<int64_t> firsts(size_t(batch.B) + 1);  // spans of sentence b: firsts[b] … firsts[b + 1] − 1
    for (int64_t m = 0; m < spans.count; ++m) ++firsts[size_t(spans.sentence[m]) + 1];
    for (size_t b = 0; b < size_t(batch.B); ++b) firsts[b + 1] += firsts[b];
    const auto asked = [&](int64_t b) { return firsts[size_t(b) + 1] > firsts[size_t(b)]; };
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int* stop) {
        SafePosterior<double> forward_backward(variant, prepared, stop);
        Inside inside(reading);
        Member members[kGroup];
        for_groups(batch.offsets, first, last, asked, [&](int count, const int64_t* sentences) {
            Scores<double> scores[kGroup];
            Answers<double> want[kGroup] = {};
            Status status[kGroup];
            for (int g = 0; g < count; ++g) {
                const int64_t b = sentences[g];
                members[g].load(batch, common, b, spans, firsts[size_t(b)], firsts[size_t(b) + 1]);
                scores[g] = members[g].scores;
                scores[g].legal = prepared.legal();
                want[g] = members[g].want;
            }
            forward_backward.compute(count, scores, want, status);
            for (int g = 0; g < count; ++g) {
                if (status[g] == Status::stopped) return false;
                if (status[g] == Status::no_path) dead.report(sentences[g]);
                if (status[g] != Status::done) continue;
                const Lattice lattice{scores[g], want[g].log_alpha, want[g].log_beta, reading};
                for (int64_t m = firsts[size_t(sentences[g])]; m < firsts[size_t(sentences[g]) + 1]; ++m)
                    out[m] = part_of(inside.of(lattice, spans.start[m], spans.end[m], spans.type[m]), members[g].log_z);
            }
            return true;
        });
    });
    outcome.sentence = dead.value();
    return outcome;
}

template Outcome whole_span_probability(const Batch<float>&, const PlacedSpans&, const SpanReading&, double*,
                                        const Interrupted&);
template Outcome whole_span_probability(const Batch<double>&, const PlacedSpans&, const SpanReading&, double*,
                                        const Interrupted&);

}  // namespace tagline
