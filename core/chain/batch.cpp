#include "chain/batch.h"

#include "chain/blocks.h"
#include "chain/fallback.h"
#include "runtime/memory.h"

#include <algorithm>
#include <functional>

namespace tagline {

namespace {

template <class Real>
Scores<Real> common_part(const Batch<Real>& batch) {
    return {batch.symbols ? batch.emissions : nullptr, batch.transitions, batch.start, batch.end, 0, batch.L,
            batch.per_position, nullptr, batch.rows};
}

template <class Real>
Answers<Real> answers_at(const Batch<Real>& batch, const BatchAnswers<Real>& want, int64_t b) {
    const int64_t cell = batch.offsets[b] * batch.L;
    const auto from = [](auto* base, int64_t n) { return base ? base + n : nullptr; };
    Answers<Real> answers{};
    answers.log_z = from(want.log_z, b);
    answers.nodes = from(want.nodes, cell);
    answers.negative_nodes = want.negative_nodes;
    answers.edges = from(want.edges, cell * batch.L);
    answers.log_alpha = from(want.log_alpha, cell);
    answers.log_beta = from(want.log_beta, cell);
    answers.entropy = from(want.entropy, b);
    return answers;
}

// Whether lanes are a way at all; fallback.cpp chooses.
template <class Real>
bool may_go_abreast(const Batch<Real>& batch, const Prepared& prepared) {
    return (batch.L <= kMostLabelsAbreast || prepared.legal()) && !batch.per_position && !batch.symbols;
}

// The sums over the sentences of each block, added up in the order of the blocks.
class BlockSums {
public:
    BlockSums(int64_t blocks, int64_t size)
        : blocks_(blocks), size_(size), memory_(size ? aligned_allocate(size_t(blocks * size), sizeof(double)) : nullptr) {
        if (size) std::fill_n(values(), blocks * size, 0.0);
    }

    double* of(int64_t block) { return size_ ? values() + block * size_ : nullptr; }

    void total(double* out) const {
        if (!size_) return;
        std::copy_n(values(), size_, out);
        for (int64_t k = 1; k < blocks_; ++k)
            std::transform(out, out + size_, values() + k * size_, out, std::plus<>());
    }

private:
    int64_t blocks_, size_;
    AlignedPointer<void> memory_;

    double* values() const { return static_cast<double*>(memory_.get()); }
};

template <class Real>
double path_score(const Scores<Real>& s, const int64_t* y) {
    if (s.T == 0) return 0;
    const int64_t step = s.per_position ? s.L * s.L : 0;
    double between = s.start[y[0]], emitted = s.emissions[row_at(s, 0) * s.L + y[0]];  // neither waits for the other
    for (int64_t t = 1; t < s.T; ++t) {
        between += s.transitions[t * step + y[t - 1] * s.L + y[t]];
        emitted += s.emissions[row_at(s, t) * s.L + y[t]];
    }
    return between + emitted + s.end[y[s.T - 1]];
}

// The number of a legal pair; −1 where it is forbidden.
int64_t number_of(const LegalPairs& legal, int64_t previous, int64_t next) {
    const int32_t *begin = legal.next + legal.leaving[previous], *end = legal.next + legal.leaving[previous + 1];
    const int32_t* place = std::lower_bound(begin, end, next);
    return place != end && *place == next ? place - legal.next : -1;
}

// The counts of a labelling and its score, as path_score adds it up, where the transitions are one matrix.
template <class Real>
void take_off_in_one_pass(const Scores<Real>& s, const int64_t* y, const Answers<Real>& answers) {
    const int64_t L = s.L, T = s.T;
    const Real *transitions = s.transitions, *emissions = s.emissions + y[0];
    Real* nodes = answers.nodes + y[0];
    double* counts = answers.transition_counts;
    double between = s.start[y[0]], emitted = *emissions;
    *nodes += 1;
    for (int64_t t = 1, previous = y[0]; t < T; ++t) {
        const int64_t next = y[t], pair = previous * L + next, step = L + next - previous;
        emissions += step;
        nodes += step;
        between += transitions[pair];
        emitted += *emissions;
        *nodes += 1;
        counts[pair] -= 1;
        previous = next;
    }
    *answers.log_z = between + emitted + s.end[y[T - 1]] - *answers.log_z;
}

// The same of answers that have something else.
template <class Real>
void take_off_in_turn(const Scores<Real>& s, const int64_t* y, const Answers<Real>& answers) {
    const int64_t L = s.L, T = s.T;
    *answers.log_z = path_score(s, y) - *answers.log_z;
    for (int64_t t = 0; t < T; ++t) answers.nodes[t * L + y[t]] += 1;
    for (int64_t t = 1; answers.transition_counts && t < T; ++t) {
        const int64_t pair = s.legal ? number_of(*s.legal, y[t - 1], y[t]) : y[t - 1] * L + y[t];
        if (pair >= 0) answers.transition_counts[pair] -= 1;
    }
    if (!answers.edges) return;
    for (int64_t k = 0; k < T * L * L; ++k) answers.edges[k] = -answers.edges[k];
    for (int64_t t = 1; t < T; ++t) answers.edges[(t * L + y[t - 1]) * L + y[t]] += 1;
}

// Turn answers about a sentence, with −P for nodes, into the gradient of log p(y): the counts of its labels are added
// to nodes and taken off the sums, which are negated in the end.
template <class Real>
void take_off_labels(const Scores<Real>& s, const int64_t* y, const Answers<Real>& answers) {
    if (answers.transition_counts && !s.legal && !s.symbols)
        take_off_in_one_pass(s, y, answers);
    else
        take_off_in_turn(s, y, answers);
    answers.start_counts[y[0]] -= 1;
    answers.end_counts[y[s.T - 1]] -= 1;  // last: by then the label is in the cache
}

// Forward–backward for every sentence. after(sentence, scores, answers) is called for each sentence with tokens, while
// its numbers are in the cache.
template <class Real, class After>
Outcome posterior_then(const Batch<Real>& batch, const BatchAnswers<Real>& want, const Interrupted& interrupted,
                       const After& after) {
    const Variant& variant = active_variant();
    const Kernels<Real>& kernels = kernels_of<Real>(variant);
    const Scores<Real> common = common_part(batch);
    const Prepared prepared = Prepared::sums(kernels, common, PairLists::choose(common, kernels));
    const LegalPairs* legal = prepared.legal();
    const ByLength sorted(batch.offsets, batch.B);
    const Blocks blocks(sorted.token_offsets.data(), batch.B, batch.L, kMostBlocks, may_go_abreast(batch, prepared));
    BlockSums transitions(blocks.count(), !want.transition_counts ? 0 : legal ? legal->count : batch.L * batch.L);
    BlockSums starts(blocks.count(), want.start_counts ? batch.L : 0);
    BlockSums ends(blocks.count(), want.end_counts ? batch.L : 0);
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t k, int64_t first, int64_t last, const int* stop) {
        for (; last > first && sorted.is_empty(last - 1); --last) {  // one labelling, score 0
            const Answers<Real> answers = answers_at(batch, want, sorted.order[size_t(last - 1)]);
            if (answers.log_z) *answers.log_z = 0;
            if (answers.entropy) *answers.entropy = 0;
        }
        SafePosterior<Real> forward_backward(variant, prepared, stop);
        for (; first < last; first += kMostAbreast) {
            const int count = int(std::min<int64_t>(kMostAbreast, last - first));
            const int64_t* members = sorted.order.data() + first;
            Scores<Real> scores[kMostAbreast];
            Answers<Real> answers[kMostAbreast];
            Status status[kMostAbreast];
            for (int g = 0; g < count; ++g) {
                scores[g] = batch.sentence(members[g]);
                scores[g].legal = legal;
                answers[g] = answers_at(batch, want, members[g]);
                answers[g].transition_counts = transitions.of(k);
                answers[g].start_counts = starts.of(k);
                answers[g].end_counts = ends.of(k);
            }
            forward_backward.compute(count, scores, answers, status);
            for (int g = 0; g < count; ++g) {
                if (status[g] == Status::stopped) return;
                if (status[g] == Status::done) after(members[g], scores[g], answers[g]);
                if (status[g] != Status::no_path) continue;
                if (answers[g].log_z) *answers[g].log_z = -kInf;
                dead.report(members[g]);
            }
        }
    });
    if (legal && want.transition_counts) {
        std::vector<double> counts(static_cast<size_t>(legal->count));
        transitions.total(counts.data());
        std::fill(want.transition_counts, want.transition_counts + batch.L * batch.L, 0.0);
        for (int64_t k = 0; k < legal->count; ++k)
            want.transition_counts[legal->previous[k] * batch.L + legal->next[k]] = counts[size_t(k)];
    } else {
        transitions.total(want.transition_counts);
    }
    starts.total(want.start_counts);
    ends.total(want.end_counts);
    outcome.sentence = dead.value();
    return outcome;
}

}  // namespace

template <class Real>
Outcome posterior(const Batch<Real>& batch, const BatchAnswers<Real>& want, const Interrupted& interrupted) {
    return posterior_then(batch, want, interrupted,
                          [](int64_t, const Scores<Real>&, const Answers<Real>&) {});
}

template <class Real>
Outcome gradients(const Batch<Real>& batch, const int64_t* labels, const BatchAnswers<Real>& want,
                  const Interrupted& interrupted) {
    BatchAnswers<Real> expected = want;
    expected.negative_nodes = true;
    const auto take_off = [&](int64_t b, const Scores<Real>& s, const Answers<Real>& answers) {
        take_off_labels(s, labels + batch.offsets[b], answers);
    };
    const Outcome outcome = posterior_then(batch, expected, interrupted, take_off);
    const auto negate = [](double* values, int64_t n) {
        for (int64_t k = 0; values && k < n; ++k) values[k] = -values[k];
    };
    negate(want.start_counts, batch.L);
    negate(want.end_counts, batch.L);
    negate(want.transition_counts, batch.L * batch.L);
    return outcome;
}

template <class Real>
Outcome viterbi(const Batch<Real>& batch, int64_t* labels, double* scores, const Interrupted& interrupted) {
    const Variant& variant = active_variant();
    const Kernels<Real>& kernels = kernels_of<Real>(variant);
    const Scores<Real> common = common_part(batch);
    const Prepared prepared = Prepared::maxima(kernels, common, PairLists::choose(common, kernels));
    const ByLength sorted(batch.offsets, batch.B);
    const Blocks blocks(sorted.token_offsets.data(), batch.B, batch.L, kMostBlocks, may_go_abreast(batch, prepared));
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int* stop) {
        SafeViterbi<Real> viterbi(variant, prepared, stop);
        for (; last > first && sorted.is_empty(last - 1); --last) scores[sorted.order[size_t(last - 1)]] = 0;
        for (; first < last; first += kMostAbreast) {
            const int count = int(std::min<int64_t>(kMostAbreast, last - first));
            const int64_t* members = sorted.order.data() + first;
            Scores<Real> group[kMostAbreast];
            int64_t* paths[kMostAbreast];
            Status status[kMostAbreast];
            for (int g = 0; g < count; ++g) {
                group[g] = batch.sentence(members[g]);
                paths[g] = labels + batch.offsets[members[g]];
            }
            viterbi.compute(count, group, paths, status);
            for (int g = 0; g < count; ++g) {
                if (status[g] == Status::stopped) return;
                scores[members[g]] = 0;
                if (status[g] == Status::no_path)
                    dead.report(members[g]);
                else
                    scores[members[g]] = path_score(group[g], paths[g]);
            }
        }
    });
    outcome.sentence = dead.value();
    return outcome;
}

template <class Real>
Outcome max_marginal(const Batch<Real>& batch, int64_t* labels, const Interrupted& interrupted) {
    std::vector<Real> nodes(size_t(batch.offsets[batch.B] * batch.L));
    BatchAnswers<Real> want;
    want.nodes = nodes.data();
    return posterior_then(batch, want, interrupted,
                          [&](int64_t b, const Scores<Real>& s, const Answers<Real>& answers) {
                              for (int64_t t = 0; t < s.T; ++t) {
                                  const Real* row = answers.nodes + t * s.L;
                                  labels[batch.offsets[b] + t] = std::max_element(row, row + s.L) - row;
                              }
                          });
}

template <class Real>
Outcome score(const Batch<Real>& batch, const int64_t* labels, double* scores, const Interrupted& interrupted) {
    const Blocks blocks(batch.offsets, batch.B, 1);
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int*) {
        for (int64_t b = first; b < last; ++b)
            scores[b] = path_score(batch.sentence(b), labels + batch.offsets[b]);
    });
    return outcome;
}

#define TAGLINE_INSTANTIATE(Real)                                                                                   \
    template Outcome posterior(const Batch<Real>&, const BatchAnswers<Real>&, const Interrupted&);                  \
    template Outcome gradients(const Batch<Real>&, const int64_t*, const BatchAnswers<Real>&, const Interrupted&);  \
    template Outcome viterbi(const Batch<Real>&, int64_t*, double*, const Interrupted&);                            \
    template Outcome max_marginal(const Batch<Real>&, int64_t*, const Interrupted&);                                \
    template Outcome score(const Batch<Real>&, const int64_t*, double*, const Interrupted&);
TAGLINE_INSTANTIATE(float)
TAGLINE_INSTANTIATE(double)

}  // namespace tagline
