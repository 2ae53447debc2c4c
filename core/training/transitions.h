// Weights between labels and at the ends of sentences: which there are, and their values by label numbers. layout.h has
// the weights of state attributes.
#pragma once

#include "second_order/triples.h"
#include "training/layout.h"

#include <cstdint>
#include <vector>

namespace tagline {

// Which weights there are besides those of state attributes, and what is forbidden. Flat vectors of weights have this
// order: states, transitions, edges, start, end, triples.
struct TransitionLayout {
    int64_t L;
    std::vector<int32_t> pairs;         // [W_t] previous · L + next
    std::vector<int64_t> edge_offsets;  // [E + 1]
    std::vector<int32_t> edge_pairs;    // [W_e] previous · L + next
    bool start = false, end = false;    // whether there are weights of the ends
    std::vector<uint8_t> may_follow;    // [L, L]; empty where everything may
    std::vector<uint8_t> may_start, may_end;  // [L]; empty where every label may
    bool local = false;  // each token is normalised by itself, given the label before: see local_softmax.h

    // Second order: the row of each pair of labels among those after which triples have weights, or −1; and where the
    // weights of triples lie in a table [triple_rows, padded L]. Empty for a first-order chain: see pair_expectations.h.
    std::vector<int32_t> contexts;  // [L, L]
    std::vector<int64_t> triples;   // [W_3], ascending
    int64_t triple_rows = 0;

    bool second_order() const { return !contexts.empty(); }
    int64_t size() const {
        return int64_t(pairs.size() + edge_pairs.size() + triples.size()) + (start ? L : 0) + (end ? L : 0);
    }
    // The place of a triple in the table; −1 where none of its context has a weight.
    int64_t triple(int32_t a, int32_t b, int32_t c) const {
        const int32_t row = contexts[size_t(a * L + b)];
        return row < 0 ? -1 : row * Triples::padded(L) + c;
    }
};

// Scores, or sums, of everything between labels and at the ends: by label numbers rather than in a flat vector.
template <class Real>
struct TransitionTable {
    std::vector<Real> transitions, start, end;  // [L, L], or sums of the legal pairs alone; [L], [L]
    std::vector<Real> edges;                    // [W_e]
    std::vector<Real> triples;                  // [triple_rows, padded L]
    const LegalPairs* legal;                    // null: all pairs

    explicit TransitionTable(const TransitionLayout& layout, const LegalPairs* legal = nullptr)
        : transitions(size_t(legal ? legal->count : layout.L * layout.L), 0),
          start(size_t(layout.L), 0),
          end(size_t(layout.L), 0),
          edges(layout.edge_pairs.size(), 0),
          triples(size_t(layout.triple_rows * Triples::padded(layout.L)), 0),
          legal(legal) {}
    void clear();
    void clear_pairs();  // all but triples
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
