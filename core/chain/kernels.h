// The door of the kernels: scores of one sentence in, answers out; a table of functions for each instruction set.
//
// This header is seen by every instruction set's copy of the kernels, so it holds plain data and no inline code: an
// inline function compiled for AVX-512 must never be the one that the linker keeps for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tagline {

class Arena;

constexpr double kInf = __builtin_inf();  // a forbidden score is −kInf, exactly

// Gaussians with diagonal covariance, one for each label; rows are padded to S with copies of the first label's. The
// formulas are in kernels/gaussians.h.
struct PaddedGaussians {
    const double *means, *scales;  // [D, S]
    const double* constants;       // [S]
    int64_t D;
};

// The pairs of labels that may follow one another, numbered by their previous label, then by their next one. Where few
// may, sums over pairs run over these lists alone: chain/pair_lists.h makes them and says when.
struct LegalPairs {
    int64_t count;
    const int32_t *previous, *next;  // [count]
    const int64_t* leaving;          // [L + 1] pairs whose previous label is i: leaving[i] … leaving[i + 1] − 1
    const int64_t* entering;         // [L + 1] places in `numbers` of those whose next label is j, by previous label
    const int32_t* numbers;          // [count]
};

// A matrix of which only the legal cells are kept: labels of one side are rows, those of the other are columns, which
// lie across the lanes of vectors. A tile is a few vectors of columns with the rows that have legal cells in them.
struct PairTile {
    int64_t vector, vectors;  // of columns: the first, and how many
    int64_t row, rows;        // its rows: `row` … in the table's list, and how many
    int64_t cell;             // its first vector of cells; there are rows × vectors, row by row
};

constexpr uint32_t kInOrder = uint32_t(1) << 31;

// Rows of a tile that are added one after the other, in one sum; a taller tile has several sums, see multiply.h.
constexpr int64_t kRowsInOneSum = 32;

// The legal cells of a table column by column, for sentences abreast, in the order in which a sentence alone adds them.
struct PairColumn {
    int32_t label;
    int32_t ends[4];  // where the cells of each of its sums end; the first begins where the column before it ends
};

struct PairColumns {
    const PairColumn* columns;  // [L], by the number of their cells; null where sentences do not go abreast
    const int32_t *rows, *places, *numbers;  // [pairs] row label, place among the numbers of the cells, the pair
};

struct PairTable {
    const PairTile* tiles;
    int64_t num_tiles, num_cells;  // cells: vectors
    const int32_t* rows;           // labels
    const int32_t* columns;        // [S] labels, −1 in the padding
    const int32_t* places;         // [L] the column of each label; null where label j is in column j
    const uint32_t* lanes;         // [num_cells] bits of the legal lanes, and kInOrder where all lanes are legal and the
                                   // pairs are numbered in their order
    const int32_t* numbers;        // the pairs of legal lanes, cell by cell
    PairColumns by_column;
};

struct PairTables {
    PairTable into, out_of;  // rows are previous labels and columns are next ones; the other way round
    const LegalPairs* legal;
};

// One sentence, or what all sentences of a batch share (then emissions is null, or the table, and T is 0).
template <class Real>
struct Scores {
    const Real* emissions;    // [T, L]; or a table [rows, L], of which `symbols` names one row for each token
    const Real* transitions;  // [L, L] as [previous, next]; or [T, L, L], entry t leads into token t, entry 0 unread
    const Real* start;        // [L]
    const Real* end;          // [L]
    int64_t T;
    int64_t L;
    bool per_position;
    const int64_t* symbols = nullptr;  // [T], below rows; a negative one stands for the last row
    int64_t rows = 0;                  // of the table; 0 where there is none
    const PaddedGaussians* gaussians = nullptr;  // then emissions are vectors [T, D] (expected counts in float64 only)
    const LegalPairs* legal = nullptr;  // where the sums are over lists of pairs
};

// Where the answers about one sentence go; null where nobody asks.
template <class Real>
struct Answers {
    double* log_z;              // one number
    Real* nodes;                // [T, L]
    bool negative_nodes;        // write −P there
    Real* edges;                // [T, L, L], zeros at the first token
    double* transition_counts;  // [L, L], or one for each legal pair where there are lists; added to
    double* start_counts;       // [L], added to
    double* end_counts;         // [L], added to
    double* log_alpha;          // [T, L], float64 kernels only
    double* log_beta;           // [T, L], float64 kernels only
    double* entropy;            // one number, float64 kernels only
    const uint8_t* rows;        // [T] whose rows of log_alpha and log_beta are asked for, others are left; null: all
};

// Where the expected counts of one sentence go. Sums over sentences are added to.
struct SentenceCounts {
    double* log_z;        // one number
    double* nodes;        // [T, L], or null
    double* symbols;      // [rows, S] P(y_t) by `ids`, or null; rows padded to S = padded L
    const int64_t* ids;   // [T]; a negative one is counted nowhere
    double* moments;      // [1 + 2 D, S] Σ P, Σ P (x − μ), Σ P (x − μ)² of vectors x, or null
    double* start;        // [S]
    double* transitions;  // [L, S] Σ_t α_(t−1)ᵀ w_t: the counts once multiplied by E; or null, as with lists of pairs
};

enum class Status {
    done,
    guard,    // the arithmetic may have lost something that matters: the next safer way has to answer
    no_path,  // every labelling is forbidden
    stopped,  // the caller gave up
};

// Sentences go through the kernels in groups of up to this many, longest first. Their results do not depend on it.
constexpr int kGroup = 4;
constexpr int kMostAbreast = 16;  // where one sentence has one lane, see kernels/abreast.h
constexpr int64_t kMostLabelsAbreast = 64;

// Weights of state attributes as the kernels read them, and gradients as they add to them. An attribute with weights
// for many labels is a row of all labels, the others are cells, one for each weight.
template <class Real>
struct WeightCell {
    Real value;
    int32_t label;
};

template <class Real>
struct WeightTable {
    Real* rows;         // [R, stride], 64-byte aligned, zeros past L
    WeightCell<Real>* cells;  // [Q]
    int64_t L;
    int64_t stride;     // a multiple of 4, 8 or 16: see row_stride in training/layout.cpp
    const uint64_t* masks = nullptr;  // [R, ⌈stride / 64⌉] bits of the labels that a row has weights for; null: all
};

// The rows and cells that the attributes of each token stand for.
struct Occurrences {
    const int64_t* row_offsets;   // [N + 1]
    const uint32_t* rows;
    const float* row_values;      // null where all are 1
    const int64_t* cell_offsets;  // [N + 1]
    const uint32_t* cells;
    const float* cell_values;     // null where all are 1
};

// One instruction set's kernels for one type of number. `shared` is what sentences have in common, prepared once. The
// same answers are asked for every sentence of a group; `status` says how each sentence ended.
template <class Real>
struct Kernels {
    int lanes, tile;  // of tables of pairs: labels in a vector, and the most vectors in a tile

    // `pairs` is null where transitions are matrices.
    size_t (*sum_shared_size)(int64_t L, int64_t rows, const PairTables* pairs);
    void (*sum_prepare)(const Scores<Real>& common, const PairTables* pairs, void* shared);
    void (*posterior)(int count, const Scores<Real>* sentences, const void* shared, const Answers<Real>* want,
                      Status* status, Arena& scratch, const int* stop);

    size_t (*max_shared_size)(int64_t L, const PairTables* pairs);
    void (*max_prepare)(const Scores<Real>& common, const PairTables* pairs, void* shared);
    void (*viterbi)(int count, const Scores<Real>* sentences, const void* shared, int64_t* const* paths,
                    Status* status, Arena& scratch, const int* stop);

    // out[n − first] = scale · Σ of the weights of token n's attributes, [last − first, L]; or added to what is there.
    void (*emit)(const WeightTable<Real>& weights, const Occurrences& tokens, int64_t first, int64_t last, Real scale,
                 bool add, Real* out);
    // Add factor · nodes[n − first] to the sums of token n's attributes.
    void (*absorb)(const WeightTable<Real>& sums, const Occurrences& tokens, int64_t first, int64_t last, Real factor,
                   const Real* nodes);

    // `posterior` for more sentences at a time; false, with nothing done, where they cannot go abreast. A sentence that
    // comes back as Status::guard has to be given to `posterior`. Answers to a sentence have the bits of `posterior`.
    bool (*posterior_abreast)(int count, const Scores<Real>* sentences, const void* shared, const Answers<Real>* want,
                              Status* status, Arena& scratch, const int* stop);
    bool (*viterbi_abreast)(int count, const Scores<Real>* sentences, const void* shared, int64_t* const* paths,
                            Status* status, Arena& scratch, const int* stop);
    int abreast;  // at most so many sentences
};

// The E step of an HMM, float64. `shared` is that of Kernels<double>::sum_prepare.
struct CountingKernels {
    void (*count)(int count, const Scores<double>* sentences, const void* shared, const SentenceCounts* want,
                  Status* status, Arena& scratch, const int* stop);
    int64_t (*padded)(int64_t L);
    // counts[i, j] += E(i, j) · sums[i, j] from padded rows, exactly 0 where E is.
    void (*finish)(const void* shared, const double* sums, int64_t L, double* counts);
    // out[t] = log densities of x [T, D], [T, L].
    void (*log_densities)(const PaddedGaussians& of, const double* x, int64_t T, int64_t L, double* out,
                          Arena& scratch);
    // sums [1 + 2 D, S] += Σ_t P, Σ_t P (x − μ) and Σ_t P (x − μ)² with P in nodes [T, S].
    void (*add_moments)(const PaddedGaussians& of, const double* x, const double* nodes, int64_t T, int64_t L,
                        double* sums);
    // `count` for more sentences at a time, all with the same sums; false, with nothing done, where they cannot go
    // abreast. A sentence that comes back as Status::guard has to be given to `count`. log Z and nodes have its bits.
    bool (*count_abreast)(int count, const Scores<double>* sentences, const void* shared, const SentenceCounts* want,
                          Status* status, Arena& scratch, const int* stop);
    int abreast;  // at most so many sentences
};

// Sums over the first label of a triple (second_order/). Rows have C numbers, a multiple of 8, and are not aligned.
struct TripleKernels {
    // out[c] = Σ_k amounts[k] · rows[k][c].
    void (*combine)(int64_t count, const double* amounts, const double* const* rows, int64_t C, double* out);
    // out[k] = Σ_c rows[k][c] · values[c].
    void (*dots)(int64_t count, const double* const* rows, const double* values, int64_t C, double* out);
    // rows[k · C + c] *= values[c]; out[k] = Σ_c of those.
    void (*multiply)(int64_t count, double* rows, const double* values, int64_t C, double* out);
    // rows[k · C + c] = table[contexts[k] · stride + labels[c]]; out[c] = Σ_k amounts[k] · those.
    void (*gather)(int64_t count, const double* amounts, const int32_t* contexts, const double* table, int64_t stride,
                   const int32_t* labels, int64_t C, double* rows, double* out);
    // sums[k][labels[c]] += amounts[k] · rows[k · stride + c] for c < C, here any number. The labels differ.
    void (*scatter)(int64_t count, const double* amounts, const double* rows, int64_t stride, const int32_t* labels,
                    int64_t C, double* const* sums);
    // sums[k][c] += amounts[k] · rows[k][c] · values[c].
    void (*add_products)(int64_t count, const double* amounts, const double* const* rows, const double* values,
                         int64_t C, double* const* sums);
    // out[c] = max_k (amounts[k] + rows[k][c]).
    void (*best_of)(int64_t count, const double* amounts, const double* const* rows, int64_t C, double* out);

    // Of C numbers of 0 or more: the largest, and the smallest above 0, or +∞.
    void (*extremes)(const double* values, int64_t C, double& high, double& low);
    // values[c] *= factor.
    void (*scale)(double* values, int64_t C, double factor);
    // beta[c] *= factor; edges[c] *= beta[c]; returns Σ_c alpha[c] · beta[c].
    double (*weigh)(int64_t C, const double* alpha, double factor, double* beta, double* edges);
    // out[k · C + c] = alpha · beta · factor of the same place; sums[c] = Σ_k of those.
    void (*share)(int64_t count, int64_t C, const double* alpha, const double* beta, double factor, double* out,
                  double* sums);
    // out[c] = exp(values[c]), which are at most Triples::kWidest, or any number.
    void (*exps)(const double* values, int64_t C, double* out);
};

struct Variant {
    const char* name;
    int level;  // what processor_level() must be at least
    Kernels<float> float32;
    Kernels<double> float64;
    CountingKernels counting;
    TripleKernels triples;
};

}  // namespace tagline
