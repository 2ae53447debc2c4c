// Expected counts of a few sentences at a time, from weights in a table: the step that every gradient is made of.
#pragma once

#include "training/layout.h"
#include "chain/fallback.h"

namespace tagline {

// Weights besides those of state attributes, and what is forbidden. Flat order: states, transitions, edges, start, end.
struct Moves {
    int64_t L;
    std::vector<int32_t> pairs;         // [W_t] previous · L + next
    std::vector<int64_t> edge_offsets;  // [E + 1]
    std::vector<int32_t> edge_pairs;    // [W_e] previous · L + next
    bool start = false, end = false;    // whether there are weights of the ends
    std::vector<uint8_t> may_follow;    // [L, L], empty: everything may
    std::vector<uint8_t> may_start, may_end;  // [L], empty: every label may

    int64_t size() const { return int64_t(pairs.size() + edge_pairs.size()) + (start ? L : 0) + (end ? L : 0); }
};

// What is learned from. The arrays outlive whoever learns.
struct Examples {
    const int64_t* bounds;   // [B + 1]
    int64_t B;
    Occurrences states;
    AttributeRows edges;     // offsets null where there are none
    const int32_t* labels;   // [N], −1 where more than one label is allowed
    const uint8_t* allowed;  // [N, L], or null where every label is known
    const double* weights;   // [B], or null where all are 1

    double weight(int64_t b) const { return weights ? weights[b] : 1; }
    bool partial(int64_t b) const;
};

// Sums, or scores, of everything between labels and at the ends, by label numbers rather than by weights.
template <class Real>
struct MoveTable {
    std::vector<Real> transitions, start, end;  // [L, L], [L], [L]
    std::vector<Real> edges;                    // [W_e]

    explicit MoveTable(const Moves& moves)
        : transitions(size_t(moves.L * moves.L), 0),
          start(size_t(moves.L), 0),
          end(size_t(moves.L), 0),
          edges(moves.edge_pairs.size(), 0) {}
    void clear();
    void load(const Moves& moves, const double* flat);    // from flat weights
    void forbid(const Moves& moves);                      // −∞ where the rules say so
    void add_to(const Moves& moves, double* flat) const;  // to a flat vector
    Scores<Real> common(bool per_position) const;
};

template <class Real>
class Expectations {
public:
    // A sentence: what its labels are expected to be, less what its label sets allow where they are not all known.
    struct One {
        int64_t sentence, first, T;
        bool dead;      // no legal labelling
        double log_z;   // less that of the labellings which the sets allow
        Real* nodes;    // [T, L]
        Real* edges;    // [T, L, L] where there are edge attributes
        double* moves;  // [L · L + 2 L] transitions, start, end; null where they went straight to the common sums
    };

    Expectations(const Moves& moves, const Examples& examples, const Variant& variant, const int* stop);

    // The scores between labels from now on, what the kernels prepared from them, and where moves are summed; all
    // outlive their use.
    void use(const MoveTable<Real>& scores, const Prepared& prepared, MoveTable<double>& sums);

    // For up to kGroup sentences with tokens, longest first. False when stopped.
    bool compute(const Table<Real>& weights, Real scale, int count, const int64_t* members);

    int count() const { return count_; }
    const One& operator[](int g) const { return ones_[g]; }
    // The score of a labelling of the g-th sentence.
    double path_score(int g, const int32_t* labels) const;

    // Add factor · the moves of a sentence to the sums, unless they are there already: sentences of weight 1, without
    // label sets and edge attributes, add to them on the way.
    void add_moves(const One& one, double factor) const;

private:
    const Moves& moves_;
    const Examples& examples_;
    const Variant& variant_;
    bool per_position_, alike_;
    Sentences<Real> sentences_;
    const MoveTable<Real>* scores_ = nullptr;
    MoveTable<double>* sums_ = nullptr;
    std::vector<Real> emissions_, nodes_, matrices_, edges_, masked_, inner_nodes_, inner_edges_;
    std::vector<double> own_moves_, inner_moves_;
    int count_ = 0;
    One ones_[kGroup];
    Scores<Real> group_[kGroup];

    Answers<Real> ask(const One& one, double* log_z) const;
    bool subtract_allowed(One& one, const Scores<Real>& scores);
};

// The best labelling of one sentence after the other, from weights in a table.
template <class Real>
class BestLabelling {
public:
    BestLabelling(const Moves& moves, const Examples& examples, const Variant& variant, const int* stop)
        : moves_(moves), examples_(examples), variant_(variant), stop_(stop) {}

    // The scores between labels from now on; they outlive their use.
    void use(const MoveTable<Real>& scores);

    // Among all labellings, or among those that the sentence's label sets allow; false where there is none.
    bool find(const Table<Real>& weights, int64_t b, bool allowed, int64_t* labels);

    // Of a labelling of the sentence that was asked about last.
    double score(const int64_t* labels) const;

private:
    const Moves& moves_;
    const Examples& examples_;
    const Variant& variant_;
    const int* stop_;
    const MoveTable<Real>* scores_ = nullptr;
    Prepared prepared_, wide_prepared_;
    Arena scratch_, wide_;
    std::vector<Real> emissions_, masked_, matrices_;
    Scores<Real> sentence_{};
};

}  // namespace tagline
