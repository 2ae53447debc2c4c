// Tables of legal pairs: what multiply.h does for a matrix, over the cells of pairs that may follow one another. A tile
// of the table has its rows listed, and the order of a sentence's additions depends on the table alone. Included by
// kernels.cpp.

constexpr int kPairTile = kTile;

// The numbers in the cells of a table: whole vectors, wide ones too.
template <class Real>
inline int64_t pair_cells(const PairTable& table) {
    constexpr int W = Lanes<Real>::width;
    return (table.num_cells * PairLanes<Real>::width + W - 1) / W * W;
}

// Whether sentences with these tables may go abreast.
inline bool go_abreast(const PairTables& pairs) { return pairs.into.by_column.columns && pairs.out_of.by_column.columns; }

// Write score(row label, column label) into the cells, −∞ where a pair is forbidden.
template <class Real, class Score>
void fill_cells(const PairTable& table, Real* cells, Score score) {
    constexpr int W = PairLanes<Real>::width;
    for (int64_t k = table.num_cells * W; k < pair_cells<Real>(table); ++k) cells[k] = Real(-__builtin_inf());
    for (int64_t k = 0; k < table.num_tiles; ++k) {
        const PairTile& tile = table.tiles[k];
        for (int64_t r = 0; r < tile.rows; ++r)
            for (int64_t v = 0; v < tile.vectors; ++v) {
                const int64_t cell = tile.cell + r * tile.vectors + v;
                const int32_t* columns = table.columns + (tile.vector + v) * W;
                for (int lane = 0; lane < W; ++lane)
                    cells[cell * W + lane] = table.lanes[cell] >> lane & 1
                                                 ? score(table.rows[tile.row + r], columns[lane])
                                                 : Real(-__builtin_inf());
            }
    }
}

// Call work(place in the cells, row label, column label) for every legal pair, in the order of the table's numbers.
template <class Real, class Work>
inline void for_pairs(const PairTable& table, Work work) {
    constexpr int W = PairLanes<Real>::width;
    for (int64_t k = 0; k < table.num_tiles; ++k) {
        const PairTile& tile = table.tiles[k];
        for (int64_t r = 0; r < tile.rows; ++r)
            for (int64_t v = 0; v < tile.vectors; ++v) {
                const int64_t cell = tile.cell + r * tile.vectors + v;
                for (uint32_t bits = table.lanes[cell] & ~kInOrder; bits; bits &= bits - 1) {
                    const int lane = __builtin_ctz(bits);
                    work(cell * W + lane, table.rows[tile.row + r], table.columns[(tile.vector + v) * W + lane]);
                }
            }
    }
}

// out[j] = in[column of label j] in whole vectors, 0 in the padding.
template <class Real>
inline void unpack(const PairTable& table, const Real* in, int64_t L, int64_t S, Real* out) {
    for (int64_t j = 0; j < L; ++j) out[j] = in[table.places[j]];
    for (int64_t j = L; j < S; ++j) out[j] = in[j];  // the padding is last in both
}

// The same over a table: v[g] [S] by row label; emit(g, vector index, lanes) is called for each vector of each result,
// in the order of labels. packed[g] [2 S] is scratch.
template <class Ring, int kCount, class Real, class Emit>
inline void multiply_pairs(const Real* const* v, const PairTable& table, const Real* cells, Real* const* packed,
                           int64_t L, int64_t S, Emit emit) {
    constexpr int W = PairLanes<Real>::width;
    for (int64_t k = 0; k < table.num_tiles; ++k) {
        const PairTile& tile = table.tiles[k];
        const auto product_of = [&]<int kVectors, int kSums>() {
            multiply_tile<Ring, PairVec<Real>, kCount, kVectors, true, kSums>(
                v, cells + tile.cell * W, tile.rows, kVectors * W, 0,
                [&](int g, int64_t n, PairVec<Real> lanes) TAGLINE_INLINED {
                    pair_at(packed[g], tile.vector + n) = lanes;
                },
                table.rows + tile.row);
        };
        const auto product = [&]<int kVectors>() {
            if (tile.rows <= kRowsInOneSum) return product_of.template operator()<kVectors, 1>();
            product_of.template operator()<kVectors, kSumsOfTile<kVectors>>();
        };
        if (tile.vectors == 1) product.template operator()<1>();
        if (tile.vectors == 2) product.template operator()<2>();
        if constexpr (kPairTile > 2) {
            if (tile.vectors == 3) product.template operator()<3>();
            if (tile.vectors == 4) product.template operator()<4>();
        }
    }
    for (int g = 0; g < kCount; ++g) {
        Real* row = packed[g];
        for (int64_t j = (L + W - 1) / W * W; j < S; ++j) row[j] = Ring::template first<PairVec<Real>>()[0];
        if (table.places) {
            row += S;
            unpack(table, packed[g], L, S, row);
        }
        for (int64_t n = 0; n < S / Lanes<Real>::width; ++n) emit(g, n, at(row, n));
    }
}

// next [S] := 1 for the column labels that a row label with now > 0 has a legal pair with, 0 for all others.
template <class Real>
void follow_pairs(const PairTable& table, const Real* now, int64_t S, Real* next) {
    constexpr int W = PairLanes<Real>::width;
    for (int64_t n = 0; n < S / Lanes<Real>::width; ++n) at(next, n) = Vec<Real>{};
    for (int64_t k = 0; k < table.num_tiles; ++k) {
        const PairTile& tile = table.tiles[k];
        for (int64_t v = 0; v < tile.vectors; ++v) {
            uint32_t bits = 0;
            for (int64_t r = 0; r < tile.rows; ++r)
                bits |= table.lanes[tile.cell + r * tile.vectors + v] & -uint32_t(now[table.rows[tile.row + r]] > 0);
            for (bits &= ~kInOrder; bits; bits &= bits - 1)
                next[table.columns[(tile.vector + v) * W + __builtin_ctz(bits)]] = 1;
        }
    }
}

// Expected counts of legal pairs: counts[pair] += E(pair) · Σ_t α_(t−1)(i) w_t(j), Σ over `count` tokens in Real.
template <class Real>
class PairCounts {
public:
    PairCounts(const PairTable& table, const Real* cells, int64_t S, double* counts)
        : table_(table), cells_(cells), S_(S), counts_(counts) {}

    // left: α_(t−1) by label; right: w_t by column of the table. Both [count, S].
    void add(const Real* left, const Real* right, int64_t count) {
        left_ = left;
        right_ = right;
        tokens_ = count;
        numbers_ = table_.numbers;
        for (int64_t k = 0; k < table_.num_tiles; ++k) {
            const PairTile& tile = table_.tiles[k];
            if (tile.vectors == 1) add_rows<1>(tile);
            if (tile.vectors == 2) add_rows<2>(tile);
            if constexpr (kPairTile > 2) {
                if (tile.vectors == 3) add_rows<3>(tile);
                if (tile.vectors == 4) add_rows<4>(tile);
            }
        }
    }

private:
    static constexpr int W = PairLanes<Real>::width;
    const PairTable& table_;
    const Real* const cells_;
    const int64_t S_;
    double* const counts_;
    const Real *left_ = nullptr, *right_ = nullptr;
    int64_t tokens_ = 0;
    const int32_t* numbers_ = nullptr;  // of the next cell

    template <int kVectors>
    void add_rows(const PairTile& tile) {
        constexpr int kMost = kVectors == 1 && kPairTile > 2 ? 8 : 4;
        int64_t r = 0;
        for (; r + kMost <= tile.rows; r += kMost) add_tile<kMost, kVectors>(tile, r);
        if constexpr (kMost > 4)
            for (; r + 4 <= tile.rows; r += 4) add_tile<4, kVectors>(tile, r);
        for (; r < tile.rows; ++r) add_tile<1, kVectors>(tile, r);
    }

    template <int kRows, int kVectors>
    void add_tile(const PairTile& tile, int64_t first) {
        PairVec<Real> sums[kRows][kVectors] = {};
        int64_t labels[kRows];
        for (int r = 0; r < kRows; ++r) labels[r] = table_.rows[tile.row + first + r];
        const Real *left = left_, *right = right_ + tile.vector * W;
        for (int64_t t = 0; t < tokens_; ++t, left += S_, right += S_)
            for (int r = 0; r < kRows; ++r) {
                const PairVec<Real> u = left[labels[r]] - PairVec<Real>{};
                for (int v = 0; v < kVectors; ++v) sums[r][v] += u * pair_at(right, v);
            }
        for (int r = 0; r < kRows; ++r)
            for (int v = 0; v < kVectors; ++v) flush(tile.cell + (first + r) * kVectors + v, sums[r][v]);
    }

    // A lane's product with E is rounded once, in float64, whichever way it goes.
    void flush(int64_t cell, PairVec<Real> sum) {
        alignas(64) Real flat[W];
        pair_at(flat, 0) = sum;
        const Real* E = cells_ + cell * W;
        const uint32_t lanes = table_.lanes[cell];
        if (lanes & kInOrder) {
            double* out = counts_ + *numbers_;
            for (int k = 0; k < W; ++k) out[k] += double(flat[k]) * double(E[k]);
            numbers_ += W;
            return;
        }
        for (uint32_t bits = lanes; bits; bits &= bits - 1) {
            const int k = __builtin_ctz(bits);
            counts_[*numbers_++] += double(flat[k]) * double(E[k]);
        }
    }
};
