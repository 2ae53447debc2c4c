#include "training/expectations.h"

#include "training/scoring.h"

#include <algorithm>

namespace tagline {

template <class Real>
Expectations<Real>::Expectations(const TransitionLayout& transitions, const Examples& examples, const Variant& variant,
                                 const int* stop)
    : transitions_(transitions),
      examples_(examples),
      variant_(variant),
      per_position_(examples.edges.offsets != nullptr),
      alike_(!examples.weights && !examples.allowed && !per_position_),
      forward_backward_(variant, stop),
      local_(variant, transitions.L, stop),
      pairs_(transitions, variant, stop) {}

template <class Real>
Answers<Real> Expectations<Real>::ask(const Sentence& sentence, double* log_z) const {
    const int64_t L = transitions_.L;
    Answers<Real> want{};
    want.log_z = log_z;
    want.nodes = sentence.nodes;
    want.edges = sentence.edges;
    want.transition_counts = !sentence.counts ? sums_->transitions.data() : per_position_ ? nullptr : sentence.counts;
    want.start_counts = sentence.counts ? sentence.counts + num_pairs_ : sums_->start.data();
    want.end_counts = sentence.counts ? sentence.counts + num_pairs_ + L : sums_->end.data();
    return want;
}

template <class Real>
void Expectations<Real>::use(const TransitionTable<Real>& scores, const Prepared& prepared,
                             TransitionTable<double>& sums) {
    scores_ = &scores;
    sums_ = &sums;
    num_pairs_ = int64_t(sums.transitions.size());
    own_counts_.resize(alike_ ? 0 : size_t(num_pairs_ + 2 * transitions_.L) * kGroup);
    inner_counts_.resize(examples_.allowed ? size_t(num_pairs_ + 2 * transitions_.L) : 0);
    if (transitions_.second_order())
        pairs_.use(scores, per_position_);
    else
        forward_backward_.use(prepared);
}

template <class Real>
bool Expectations<Real>::compute(const WeightTable<Real>& weights, Real scale, int count, const int64_t* members) {
    const int64_t L = transitions_.L;
    int64_t tokens = 0;
    for (int g = 0; g < count; ++g) tokens += examples_.offsets[members[g] + 1] - examples_.offsets[members[g]];
    Real* emissions = at_least(emissions_, tokens * L);
    Real* nodes = at_least(nodes_, tokens * L);
    Real* matrices = per_position_ ? at_least(matrices_, tokens * L * L) : nullptr;
    Real* edges = per_position_ ? at_least(edges_, tokens * L * L) : nullptr;
    if (!alike_) std::fill(own_counts_.begin(), own_counts_.begin() + count * (num_pairs_ + 2 * L), 0.0);

    Answers<Real> want[kMostAbreast];
    Status status[kMostAbreast];
    count_ = count;
    for (int64_t g = 0, row = 0; g < count; ++g) {
        Sentence& sentence = members_[g];
        sentence.index = members[g];
        sentence.first = examples_.offsets[members[g]];
        sentence.T = examples_.offsets[members[g] + 1] - sentence.first;
        sentence.nodes = nodes + row * L;
        sentence.edges = per_position_ ? edges + row * L * L : nullptr;
        sentence.counts = alike_ ? nullptr : own_counts_.data() + g * (num_pairs_ + 2 * L);
        const int64_t last = sentence.first + sentence.T;
        kernels_of<Real>(variant_).emit(weights, examples_.states, sentence.first - examples_.first_token,
                                         last - examples_.first_token, scale, false, emissions + row * L);
        if (per_position_)
            edge_matrices(transitions_, *scores_, examples_.edges, sentence.first, last, matrices + row * L * L);
        group_[g] = scores_->common(per_position_);
        group_[g].emissions = emissions + row * L;
        group_[g].T = sentence.T;
        group_[g].legal = sums_->legal;
        if (per_position_) group_[g].transitions = matrices + row * L * L;
        want[g] = ask(sentence, &sentence.log_z);
        row += sentence.T;
    }
    if (transitions_.local) return compute_local(want);
    posterior(count, members_, group_, want, status, 1);
    for (int g = 0; g < count; ++g) {
        if (status[g] == Status::stopped) return false;
        Sentence& sentence = members_[g];
        sentence.dead = status[g] == Status::no_path;
        if (!sentence.dead && examples_.partial(sentence.index) && !subtract_allowed(sentence, group_[g])) return false;
    }
    return true;
}

// Forward–backward. The counts of triples go straight to the sums, times the sentence's weight and the sign.
template <class Real>
void Expectations<Real>::posterior(int count, const Sentence* members, const Scores<Real>* scores,
                                   const Answers<Real>* want, Status* status, double sign) {
    if (!transitions_.second_order()) return forward_backward_.compute(count, scores, want, status);
    for (int g = 0; g < count; ++g) {
        const uint8_t* kept = examples_.kept ? examples_.kept + members[g].first * transitions_.L : nullptr;
        const double factor = sign * examples_.weight(members[g].index);
        status[g] = pairs_.compute(scores[g], kept, want[g], sums_->triples.data(), factor);
    }
}

template <class Real>
bool Expectations<Real>::compute_local(const Answers<Real>* want) {
    const int64_t L = transitions_.L;
    for (int g = 0; g < count_; ++g) {
        Sentence& sentence = members_[g];
        if (!examples_.partial(sentence.index)) {
            sentence.dead = !local_.observed(group_[g], examples_.labels + sentence.first, want[g]);
            continue;
        }
        const Status status = local_.allowed(group_[g], examples_.allowed + sentence.first * L, want[g]);
        if (status == Status::stopped) return false;
        sentence.dead = status == Status::no_path;
    }
    return true;
}

template <class Real>
double Expectations<Real>::path_score(int g, const int32_t* labels) const {
    return score_of(group_[g], labels) + (transitions_.second_order() ? pairs_.score(labels, group_[g].T) : 0.0);
}

template <class Real>
bool Expectations<Real>::subtract_allowed(Sentence& sentence, const Scores<Real>& scores) {
    const int64_t L = transitions_.L, cells = sentence.T * L;
    Real* masked = at_least(masked_, cells);
    for (int64_t k = 0; k < cells; ++k)
        masked[k] = examples_.allowed[sentence.first * L + k] ? scores.emissions[k] : Real(-kInf);
    Scores<Real> narrowed = scores;
    narrowed.emissions = masked;
    Sentence inner = sentence;
    inner.nodes = at_least(inner_nodes_, cells);
    inner.edges = per_position_ ? at_least(inner_edges_, cells * L) : nullptr;
    inner.counts = inner_counts_.data();
    std::fill(inner_counts_.begin(), inner_counts_.end(), 0.0);
    const Answers<Real> want = ask(inner, &inner.log_z);
    Status status;
    posterior(1, &sentence, &narrowed, &want, &status, -1);
    if (status == Status::stopped) return false;
    sentence.dead = status == Status::no_path;
    if (sentence.dead) return true;
    sentence.log_z -= inner.log_z;
    for (int64_t k = 0; k < cells; ++k) sentence.nodes[k] -= inner.nodes[k];
    for (int64_t k = 0; per_position_ && k < cells * L; ++k) sentence.edges[k] -= inner.edges[k];
    for (size_t k = 0; k < inner_counts_.size(); ++k) sentence.counts[k] -= inner_counts_[k];
    return true;
}

template <class Real>
void Expectations<Real>::add_counts(const Sentence& sentence, double factor) const {
    if (!sentence.counts) return;
    TransitionTable<double>& sums = *sums_;
    const int64_t L = transitions_.L;
    const double *start = sentence.counts + num_pairs_, *end = start + L;
    for (int64_t j = 0; j < L; ++j) {
        sums.start[size_t(j)] += factor * start[j];
        sums.end[size_t(j)] += factor * end[j];
    }
    if (!per_position_) {
        for (int64_t k = 0; k < num_pairs_; ++k) sums.transitions[size_t(k)] += factor * sentence.counts[k];
        return;
    }
    const AttributeIds& edges = examples_.edges;
    for (int64_t t = 1; t < sentence.T; ++t) {
        const Real* pairs = sentence.edges + t * L * L;
        for (int64_t k = 0; k < L * L; ++k) sums.transitions[size_t(k)] += factor * double(pairs[k]);
        for (int64_t k = edges.offsets[sentence.first + t]; k < edges.offsets[sentence.first + t + 1]; ++k) {
            const double value = factor * (edges.values ? edges.values[k] : 1);
            const size_t attribute = size_t(edges.ids[k]);
            for (int64_t q = transitions_.edge_offsets[attribute]; q < transitions_.edge_offsets[attribute + 1]; ++q)
                sums.edges[size_t(q)] += value * double(pairs[transitions_.edge_pairs[size_t(q)]]);
        }
    }
}

template class Expectations<float>;
template class Expectations<double>;

}  // namespace tagline
