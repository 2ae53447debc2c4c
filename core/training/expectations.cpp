#include "training/expectations.h"

#include <algorithm>
#include <limits>

namespace tagline {

namespace {

// Memory that only grows.
template <class T>
T* at_least(std::vector<T>& memory, int64_t count) {
    if (int64_t(memory.size()) < count) memory.resize(size_t(count));
    return memory.data();
}

template <class Real>
void write_forbidden(const std::vector<uint8_t>& allowed, std::vector<Real>& scores) {
    for (size_t k = 0; k < allowed.size(); ++k)
        if (!allowed[k]) scores[k] = -std::numeric_limits<Real>::infinity();
}

// Transitions into each token of a sentence whose edge attributes have weights, [T, L, L].
template <class Real>
void edge_matrices(const Moves& moves, const MoveTable<Real>& scores, const AttributeRows& edges, int64_t first,
                   int64_t last, Real* out) {
    const size_t cells = scores.transitions.size();
    for (int64_t n = first; n < last; ++n, out += cells) {
        std::copy(scores.transitions.begin(), scores.transitions.end(), out);
        for (int64_t k = edges.offsets[n]; n > first && k < edges.offsets[n + 1]; ++k) {
            const Real value = edges.values ? Real(edges.values[k]) : Real(1);
            const size_t attribute = size_t(edges.ids[k]);
            for (int64_t q = moves.edge_offsets[attribute]; q < moves.edge_offsets[attribute + 1]; ++q)
                out[moves.edge_pairs[size_t(q)]] += value * scores.edges[size_t(q)];
        }
    }
}

template <class Real, class Label>
double score_of(const Scores<Real>& s, const Label* labels) {
    double total = double(s.start[labels[0]]) + double(s.end[labels[s.T - 1]]);
    for (int64_t t = 0; t < s.T; ++t) {
        total += double(s.emissions[t * s.L + labels[t]]);
        if (t == 0) continue;
        const Real* moves = s.per_position ? s.transitions + t * s.L * s.L : s.transitions;
        total += double(moves[labels[t - 1] * s.L + labels[t]]);
    }
    return total;
}

}  // namespace

bool Examples::partial(int64_t b) const {
    return allowed &&
           std::any_of(labels + bounds[b], labels + bounds[b + 1], [](int32_t label) { return label < 0; });
}

template <class Real>
void MoveTable<Real>::clear() {
    for (auto* values : {&transitions, &start, &end, &edges}) std::fill(values->begin(), values->end(), Real(0));
}

template <class Real>
void MoveTable<Real>::load(const Moves& moves, const double* flat) {
    clear();
    for (int32_t pair : moves.pairs) transitions[size_t(pair)] = Real(*flat++);
    for (Real& score : edges) score = Real(*flat++);
    for (size_t j = 0; moves.start && j < start.size(); ++j) start[j] = Real(*flat++);
    for (size_t j = 0; moves.end && j < end.size(); ++j) end[j] = Real(*flat++);
}

template <class Real>
void MoveTable<Real>::forbid(const Moves& moves) {
    write_forbidden(moves.may_follow, transitions);
    write_forbidden(moves.may_start, start);
    write_forbidden(moves.may_end, end);
}

template <class Real>
void MoveTable<Real>::add_to(const Moves& moves, double* flat) const {
    for (int32_t pair : moves.pairs) *flat++ += double(transitions[size_t(pair)]);
    for (Real sum : edges) *flat++ += double(sum);
    for (size_t j = 0; moves.start && j < start.size(); ++j) *flat++ += double(start[j]);
    for (size_t j = 0; moves.end && j < end.size(); ++j) *flat++ += double(end[j]);
}

template <class Real>
Scores<Real> MoveTable<Real>::common(bool per_position) const {
    return {nullptr, transitions.data(), start.data(), end.data(), 0, int64_t(start.size()), per_position};
}

template struct MoveTable<float>;
template struct MoveTable<double>;

template <class Real>
Expectations<Real>::Expectations(const Moves& moves, const Examples& examples, const Variant& variant, const int* stop)
    : moves_(moves),
      examples_(examples),
      variant_(variant),
      per_position_(examples.edges.offsets != nullptr),
      alike_(!examples.weights && !examples.allowed && !per_position_),
      sentences_(variant, stop),
      own_moves_(size_t(moves.L * (moves.L + 2)) * kGroup),
      inner_moves_(size_t(moves.L * (moves.L + 2))) {}

template <class Real>
Answers<Real> Expectations<Real>::ask(const One& one, double* log_z) const {
    const int64_t L = moves_.L;
    Answers<Real> want{};
    want.log_z = log_z;
    want.nodes = one.nodes;
    want.edges = one.edges;
    want.transition_counts = !one.moves ? sums_->transitions.data() : per_position_ ? nullptr : one.moves;
    want.start_counts = one.moves ? one.moves + L * L : sums_->start.data();
    want.end_counts = one.moves ? one.moves + L * L + L : sums_->end.data();
    return want;
}

template <class Real>
void Expectations<Real>::use(const MoveTable<Real>& scores, const Prepared& prepared, MoveTable<double>& sums) {
    scores_ = &scores;
    sums_ = &sums;
    sentences_.use(prepared);
}

template <class Real>
bool Expectations<Real>::compute(const Table<Real>& weights, Real scale, int count, const int64_t* members) {
    const int64_t L = moves_.L;
    int64_t tokens = 0;
    for (int g = 0; g < count; ++g) tokens += examples_.bounds[members[g] + 1] - examples_.bounds[members[g]];
    Real* emissions = at_least(emissions_, tokens * L);
    Real* nodes = at_least(nodes_, tokens * L);
    Real* matrices = per_position_ ? at_least(matrices_, tokens * L * L) : nullptr;
    Real* edges = per_position_ ? at_least(edges_, tokens * L * L) : nullptr;
    if (!alike_) std::fill(own_moves_.begin(), own_moves_.begin() + count * L * (L + 2), 0.0);

    Answers<Real> want[kGroup];
    Status status[kGroup];
    count_ = count;
    for (int64_t g = 0, row = 0; g < count; ++g) {
        One& one = ones_[g];
        one.sentence = members[g];
        one.first = examples_.bounds[members[g]];
        one.T = examples_.bounds[members[g] + 1] - one.first;
        one.nodes = nodes + row * L;
        one.edges = per_position_ ? edges + row * L * L : nullptr;
        one.moves = alike_ ? nullptr : own_moves_.data() + g * L * (L + 2);
        const int64_t last = one.first + one.T;
        kernels_of<Real>(variant_).emit(weights, examples_.states, one.first, last, scale, emissions + row * L);
        if (per_position_) edge_matrices(moves_, *scores_, examples_.edges, one.first, last, matrices + row * L * L);
        group_[g] = scores_->common(per_position_);
        group_[g].emissions = emissions + row * L;
        group_[g].T = one.T;
        if (per_position_) group_[g].transitions = matrices + row * L * L;
        want[g] = ask(one, &one.log_z);
        row += one.T;
    }
    sentences_.posterior(count, group_, want, status);
    for (int g = 0; g < count; ++g) {
        if (status[g] == Status::stopped) return false;
        ones_[g].dead = status[g] == Status::no_path;
        if (!ones_[g].dead && examples_.partial(members[g]) && !subtract_allowed(ones_[g], group_[g])) return false;
    }
    return true;
}

template <class Real>
double Expectations<Real>::path_score(int g, const int32_t* labels) const {
    return score_of(group_[g], labels);
}

template <class Real>
bool Expectations<Real>::subtract_allowed(One& one, const Scores<Real>& scores) {
    const int64_t L = moves_.L, cells = one.T * L;
    Real* masked = at_least(masked_, cells);
    for (int64_t k = 0; k < cells; ++k)
        masked[k] = examples_.allowed[one.first * L + k] ? scores.emissions[k] : -std::numeric_limits<Real>::infinity();
    Scores<Real> narrowed = scores;
    narrowed.emissions = masked;
    One inner = one;
    inner.nodes = at_least(inner_nodes_, cells);
    inner.edges = per_position_ ? at_least(inner_edges_, cells * L) : nullptr;
    inner.moves = inner_moves_.data();
    std::fill(inner_moves_.begin(), inner_moves_.end(), 0.0);
    const Answers<Real> want = ask(inner, &inner.log_z);
    Status status;
    sentences_.posterior(1, &narrowed, &want, &status);
    if (status == Status::stopped) return false;
    one.dead = status == Status::no_path;
    if (one.dead) return true;
    one.log_z -= inner.log_z;
    for (int64_t k = 0; k < cells; ++k) one.nodes[k] -= inner.nodes[k];
    for (int64_t k = 0; per_position_ && k < cells * L; ++k) one.edges[k] -= inner.edges[k];
    for (size_t k = 0; k < inner_moves_.size(); ++k) one.moves[k] -= inner_moves_[k];
    return true;
}

template <class Real>
void Expectations<Real>::add_moves(const One& one, double factor) const {
    if (!one.moves) return;
    MoveTable<double>& sums = *sums_;
    const int64_t L = moves_.L;
    const double *start = one.moves + L * L, *end = start + L;
    for (int64_t j = 0; j < L; ++j) {
        sums.start[size_t(j)] += factor * start[j];
        sums.end[size_t(j)] += factor * end[j];
    }
    if (!per_position_) {
        for (int64_t k = 0; k < L * L; ++k) sums.transitions[size_t(k)] += factor * one.moves[k];
        return;
    }
    const AttributeRows& edges = examples_.edges;
    for (int64_t t = 1; t < one.T; ++t) {
        const Real* pairs = one.edges + t * L * L;
        for (int64_t k = 0; k < L * L; ++k) sums.transitions[size_t(k)] += factor * double(pairs[k]);
        for (int64_t k = edges.offsets[one.first + t]; k < edges.offsets[one.first + t + 1]; ++k) {
            const double value = factor * (edges.values ? edges.values[k] : 1);
            const size_t attribute = size_t(edges.ids[k]);
            for (int64_t q = moves_.edge_offsets[attribute]; q < moves_.edge_offsets[attribute + 1]; ++q)
                sums.edges[size_t(q)] += value * double(pairs[moves_.edge_pairs[size_t(q)]]);
        }
    }
}

template <class Real>
void BestLabelling<Real>::use(const MoveTable<Real>& scores) {
    scores_ = &scores;
    prepared_ = Prepared::maxima(kernels_of<Real>(variant_), scores.common(examples_.edges.offsets != nullptr));
    wide_prepared_ = {};
}

template <class Real>
bool BestLabelling<Real>::find(const Table<Real>& weights, int64_t b, bool allowed, int64_t* labels) {
    const int64_t first = examples_.bounds[b], last = examples_.bounds[b + 1], L = moves_.L, cells = (last - first) * L;
    const bool per_position = examples_.edges.offsets != nullptr;
    Real* emissions = at_least(emissions_, cells);
    kernels_of<Real>(variant_).emit(weights, examples_.states, first, last, 1, emissions);
    sentence_ = scores_->common(per_position);
    sentence_.emissions = emissions;
    sentence_.T = last - first;
    if (per_position) {
        Real* matrices = at_least(matrices_, cells * L);
        edge_matrices(moves_, *scores_, examples_.edges, first, last, matrices);
        sentence_.transitions = matrices;
    }
    Scores<Real> asked = sentence_;
    if (allowed) {
        Real* masked = at_least(masked_, cells);
        for (int64_t k = 0; k < cells; ++k)
            masked[k] = examples_.allowed[first * L + k] ? emissions[k] : -std::numeric_limits<Real>::infinity();
        asked.emissions = masked;
    }
    Status status;
    scratch_.reset();
    kernels_of<Real>(variant_).viterbi(1, &asked, prepared_.get(), &labels, &status, scratch_, stop_);
    if (status == Status::guard) {
        wide_.reset();
        scratch_.reset();
        const Scores<double> exact = widen(asked, wide_);
        if (!wide_prepared_) wide_prepared_ = Prepared::maxima(variant_.float64, exact);
        variant_.float64.viterbi(1, &exact, wide_prepared_.get(), &labels, &status, scratch_, stop_);
    }
    return status == Status::done;
}

template <class Real>
double BestLabelling<Real>::score(const int64_t* labels) const {
    return score_of(sentence_, labels);
}

template class BestLabelling<float>;
template class BestLabelling<double>;

template class Expectations<float>;
template class Expectations<double>;

}  // namespace tagline
