// Weights between labels and at the ends of sentences: which there are, and their values by label numbers. layout.h has
// the weights of state attributes.
#pragma once

#include "training/layout.h"

#include <cstdint>
#include <vector>

namespace tagline {

// Which weights there are besides those of state attributes, and what is forbidden. Flat vectors of weights have this
// order: states, transitions, edges, start, end.
struct TransitionLayout {
    int64_t L;
    std::vector<int32_t> pairs;         // [W_t] previous · L + next
    std::vector<int64_t> edge_offsets;  // [E + 1]
    std::vector<int32_t> edge_pairs;    // [W_e] previous · L + next
    bool start = false, end = false;    // whether there are weights of the ends
    std::vector<uint8_t> may_follow;    // [L, L]; empty where everything may
    std::vector<uint8_t> may_start, may_end;  // [L]; empty where every label may
    bool local = false;  // each token is normalised by itself, given the label before: see local_softmax.h

    int64_t size() const { return int64_t(pairs.size() + edge_pairs.size()) + (start ? L : 0) + (end ? L : 0); }
};

// Scores, or sums, of everything between labels and at the ends: by label numbers rather than in a flat vector.
template <class Real>
struct TransitionTable {
    std::vector<Real> transitions, start, end;  // [L, L], or sums of the legal pairs alone; [L], [L]
    std::vector<Real> edges;                    // [W_e]
    const LegalPairs* legal;                    // null: all pairs

    explicit TransitionTable(const TransitionLayout& layout, const LegalPairs* legal = nullptr)
        : transitions(size_t(legal ? legal->count : layout.L * layout.L), 0),
          start(size_t(layout.L), 0),
          end(size_t(layout.L), 0),
          edges(layout.edge_pairs.size(), 0),
          legal(legal) {}
    void clear();
    void load(const TransitionLayout& layout, const double* flat);    // from flat weights
    void forbid(const TransitionLayout& layout);                      // −∞ where the rules say so
    void reload(const TransitionLayout& layout, const double* flat);  // other weights, what is forbidden stays so
    void add_to(const TransitionLayout& layout, double* flat) const;  // to a flat vector
    // Where the sum of a pair, previous · L + next, is in `transitions`; −1 where it is forbidden.
    int64_t place(int64_t pair) const;
    Scores<Real> common(bool per_position) const;
};

// Write the transitions into tokens first … last − 1 of a sentence, [T, L, L]: those of the table, and the scores of
// the edge attributes of each token but the first.
template <class Real>
void edge_matrices(const TransitionLayout& layout, const TransitionTable<Real>& scores, const AttributeIds& edges,
                   int64_t first, int64_t last, Real* out);

}  // namespace tagline
