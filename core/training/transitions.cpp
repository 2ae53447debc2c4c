#include "training/transitions.h"

#include <algorithm>

namespace tagline {

namespace {

template <class Real>
void write_forbidden(const std::vector<uint8_t>& allowed, std::vector<Real>& scores) {
    for (size_t k = 0; k < allowed.size(); ++k)
        if (!allowed[k]) scores[k] = Real(-kInf);
}

}  // namespace

template <class Real>
void TransitionTable<Real>::clear() {
    clear_pairs();
    std::fill(triples.begin(), triples.end(), Real(0));
}

template <class Real>
void TransitionTable<Real>::clear_pairs() {
    for (auto* values : {&transitions, &start, &end, &edges}) std::fill(values->begin(), values->end(), Real(0));
}

template <class Real>
void TransitionTable<Real>::load(const TransitionLayout& layout, const double* flat) {
    clear();
    for (int32_t pair : layout.pairs) transitions[size_t(pair)] = Real(*flat++);
    for (Real& score : edges) score = Real(*flat++);
    for (size_t j = 0; layout.start && j < start.size(); ++j) start[j] = Real(*flat++);
    for (size_t j = 0; layout.end && j < end.size(); ++j) end[j] = Real(*flat++);
    for (int64_t cell : layout.triples) triples[size_t(cell)] = Real(*flat++);
}

template <class Real>
void TransitionTable<Real>::forbid(const TransitionLayout& layout) {
    write_forbidden(layout.may_follow, transitions);
    write_forbidden(layout.may_start, start);
    write_forbidden(layout.may_end, end);
}

template <class Real>
void TransitionTable<Real>::reload(const TransitionLayout& layout, const double* flat) {
    const auto set = [](const std::vector<uint8_t>& allowed, size_t k, Real& score, double weight) {
        if (allowed.empty() || allowed[k]) score = Real(weight);
    };
    for (int32_t pair : layout.pairs) set(layout.may_follow, size_t(pair), transitions[size_t(pair)], *flat++);
    for (Real& score : edges) score = Real(*flat++);
    for (size_t j = 0; layout.start && j < start.size(); ++j) set(layout.may_start, j, start[j], *flat++);
    for (size_t j = 0; layout.end && j < end.size(); ++j) set(layout.may_end, j, end[j], *flat++);
    for (int64_t cell : layout.triples) triples[size_t(cell)] = Real(*flat++);
}

template <class Real>
int64_t TransitionTable<Real>::place(int64_t pair) const {
    if (!legal) return pair;
    const int64_t i = pair / int64_t(start.size()), j = pair % int64_t(start.size());
    const int32_t *first = legal->next + legal->leaving[i], *last = legal->next + legal->leaving[i + 1];
    const int32_t* found = std::lower_bound(first, last, int32_t(j));
    return found < last && *found == j ? found - legal->next : -1;
}

template <class Real>
void TransitionTable<Real>::add_to(const TransitionLayout& layout, double* flat) const {
    for (int32_t pair : layout.pairs) {
        const int64_t k = place(pair);
        *flat++ += k < 0 ? 0.0 : double(transitions[size_t(k)]);
    }
    for (Real sum : edges) *flat++ += double(sum);
    for (size_t j = 0; layout.start && j < start.size(); ++j) *flat++ += double(start[j]);
    for (size_t j = 0; layout.end && j < end.size(); ++j) *flat++ += double(end[j]);
    for (int64_t cell : layout.triples) *flat++ += double(triples[size_t(cell)]);
}

template <class Real>
Scores<Real> TransitionTable<Real>::common(bool per_position) const {
    return {nullptr, transitions.data(), start.data(), end.data(), 0, int64_t(start.size()), per_position};
}

template <class Real>
void edge_matrices(const TransitionLayout& layout, const TransitionTable<Real>& scores, const AttributeIds& edges,
                   int64_t first, int64_t last, Real* out) {
    const size_t cells = scores.transitions.size();
    for (int64_t n = first; n < last; ++n, out += cells) {
        std::copy(scores.transitions.begin(), scores.transitions.end(), out);
        for (int64_t k = edges.offsets[n]; n > first && k < edges.offsets[n + 1]; ++k) {
            const Real value = edges.values ? Real(edges.values[k]) : Real(1);
            const size_t attribute = size_t(edges.ids[k]);
            for (int64_t q = layout.edge_offsets[attribute]; q < layout.edge_offsets[attribute + 1]; ++q)
                out[layout.edge_pairs[size_t(q)]] += value * scores.edges[size_t(q)];
        }
    }
}

#define TAGLINE_INSTANTIATE(Real)                                                                              \
    template struct TransitionTable<Real>;                                                                     \
    template void edge_matrices(const TransitionLayout&, const TransitionTable<Real>&, const AttributeIds&,    \
                                int64_t, int64_t, Real*);
TAGLINE_INSTANTIATE(float)
TAGLINE_INSTANTIATE(double)

}  // namespace tagline
