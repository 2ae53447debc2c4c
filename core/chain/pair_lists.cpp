#include "chain/pair_lists.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace tagline {

namespace {

// A matrix of few labels is one or two vectors wide: nothing can be left out of it.
constexpr int64_t kFewestLabels = 64;

// Above this share of legal pairs nobody looks for tiles.
constexpr double kMostLegal = 0.6;

// Lists are chosen where they take at most this share of a matrix's vector operations.
constexpr double kMostWork = 0.75;

// Neighbouring vectors make one tile where the rows that only some of them need cost less than this: a row's number is
// read once for all vectors of a tile.
constexpr double kMostWaste = 1.15;

// The rows of each column, ascending.
using RowLists = std::vector<std::vector<int32_t>>;

std::vector<int32_t> merged(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    std::vector<int32_t> all;
    all.reserve(a.size() + b.size());
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
    return all;
}

struct Tile {
    int64_t vector, vectors;
    std::vector<int32_t> rows;
};

// Cut columns, in this order, into vectors and those into tiles.
std::vector<Tile> cut_tiles(const RowLists& rows_of, const std::vector<int32_t>& columns, int64_t lanes, int64_t most) {
    const int64_t L = int64_t(columns.size());
    std::vector<Tile> tiles;
    size_t apart = 0;  // operations of the last tile's vectors, were they tiles of their own
    for (int64_t vector = 0; vector * lanes < L; ++vector) {
        std::vector<uint8_t> has_row(size_t(L), 0);
        for (int64_t c = vector * lanes; c < std::min(L, (vector + 1) * lanes); ++c)
            for (int32_t row : rows_of[size_t(columns[size_t(c)])]) has_row[size_t(row)] = 1;
        std::vector<int32_t> rows;
        for (int64_t i = 0; i < L; ++i)
            if (has_row[size_t(i)]) rows.push_back(int32_t(i));
        if (!tiles.empty() && tiles.back().vectors < most) {
            Tile& last = tiles.back();
            std::vector<int32_t> all = merged(last.rows, rows);
            if (double(all.size()) * double(last.vectors + 1) <= kMostWaste * double(apart + rows.size())) {
                apart += rows.size();
                last.rows = std::move(all);
                ++last.vectors;
                continue;
            }
        }
        apart = rows.size();
        tiles.push_back({vector, 1, std::move(rows)});
    }
    return tiles;
}

int64_t operations(const std::vector<Tile>& tiles) {
    int64_t total = 0;
    for (const Tile& tile : tiles) total += tile.vectors * int64_t(tile.rows.size());
    return total;
}

}  // namespace

PairLists::PairLists(const std::vector<uint8_t>& may_follow, int64_t L) : L_(L) {
    leaving_.push_back(0);
    entering_.assign(size_t(L) + 1, 0);
    for (int64_t i = 0; i < L; ++i) {
        for (int64_t j = 0; j < L; ++j) {
            if (!may_follow[size_t(i * L + j)]) continue;
            previous_.push_back(int32_t(i));
            next_.push_back(int32_t(j));
            ++entering_[size_t(j) + 1];
        }
        leaving_.push_back(int64_t(previous_.size()));
    }
    std::partial_sum(entering_.begin(), entering_.end(), entering_.begin());
    numbers_.resize(previous_.size());
    std::vector<int64_t> place(entering_.begin(), entering_.end() - 1);
    for (size_t k = 0; k < next_.size(); ++k) numbers_[size_t(place[size_t(next_[k])]++)] = int32_t(k);
    legal_ = {int64_t(previous_.size()), previous_.data(), next_.data(), leaving_.data(), entering_.data(),
              numbers_.data()};
}

// rows_of(column, give) calls give(row, number of the pair) for the legal pairs of a column, rows ascending.
template <class Lists>
PairLists::Table PairLists::table(const Lists& rows_of, int lanes, int most_vectors) const {
    RowLists rows(static_cast<size_t>(L_));
    for (int64_t c = 0; c < L_; ++c) rows_of(c, [&](int32_t row, int32_t) { rows[size_t(c)].push_back(row); });

    // Columns with the same rows side by side, those with many rows first; or as they are, where that is as good: each
    // step then saves a move of every label, which costs about as much as a vector operation for each of them.
    std::vector<int32_t> columns(static_cast<size_t>(L_));
    std::iota(columns.begin(), columns.end(), 0);
    std::vector<Tile> tiles = cut_tiles(rows, columns, lanes, most_vectors);
    std::vector<int32_t> sorted = columns;
    std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
        const auto &left = rows[size_t(a)], &right = rows[size_t(b)];
        return left.size() != right.size() ? left.size() > right.size() : left < right;
    });
    std::vector<Tile> other = cut_tiles(rows, sorted, lanes, most_vectors);
    Table out;
    if (operations(other) + L_ < operations(tiles)) {
        tiles = std::move(other);
        columns = std::move(sorted);
        out.places.resize(size_t(L_));
        for (size_t c = 0; c < columns.size(); ++c) out.places[size_t(columns[c])] = int32_t(c);
    }
    out.columns = columns;
    out.columns.resize(size_t((L_ + lanes - 1) / lanes * lanes), -1);

    std::vector<int32_t> number(size_t(L_) * size_t(lanes * most_vectors));  // [row, column of the tile], −1: forbidden
    for (const Tile& tile : tiles) {
        std::fill(number.begin(), number.end(), -1);
        const int64_t width = tile.vectors * lanes, first = tile.vector * lanes;
        for (int64_t c = first; c < std::min(L_, first + width); ++c)
            rows_of(columns[size_t(c)], [&](int32_t row, int32_t pair) {
                number[size_t(row * width + c - first)] = pair;
            });
        out.tiles.push_back({tile.vector, tile.vectors, int64_t(out.rows.size()), int64_t(tile.rows.size()),
                             int64_t(out.lanes.size())});
        out.rows.insert(out.rows.end(), tile.rows.begin(), tile.rows.end());
        for (int32_t row : tile.rows)
            for (int64_t v = 0; v < tile.vectors; ++v) {
                const int32_t* cell = number.data() + row * width + v * lanes;
                uint32_t bits = 0;
                bool in_order = true;
                for (int k = 0; k < lanes; ++k) {
                    in_order = in_order && cell[k] >= 0 && cell[k] == cell[0] + k;
                    if (cell[k] < 0) continue;
                    bits |= uint32_t(1) << k;
                    out.numbers.push_back(cell[k]);
                }
                out.lanes.push_back(in_order ? bits | kInOrder : bits);
            }
    }
    return out;
}

PairTable PairLists::Table::view() const {
    return {tiles.data(),   int64_t(tiles.size()), int64_t(lanes.size()), rows.data(),
            columns.data(), places.empty() ? nullptr : places.data(), lanes.data(), numbers.data()};
}

const PairTables& PairLists::cut(Cut& cut, int lanes, int most_vectors) const {
    std::call_once(cut.made, [&] {
        const auto previous_of = [&](int64_t j, const auto& give) {
            for (int64_t k = entering_[size_t(j)]; k < entering_[size_t(j) + 1]; ++k)
                give(previous_[size_t(numbers_[size_t(k)])], numbers_[size_t(k)]);
        };
        const auto next_of = [&](int64_t i, const auto& give) {
            for (int64_t k = leaving_[size_t(i)]; k < leaving_[size_t(i) + 1]; ++k) give(next_[size_t(k)], int32_t(k));
        };
        cut.into = table(previous_of, lanes, most_vectors);
        cut.out_of = table(next_of, lanes, most_vectors);
        cut.view = {cut.into.view(), cut.out_of.view(), &legal_};
    });
    return cut.view;
}

template <class Real>
const PairTables& PairLists::tables(const Kernels<Real>& kernels) const {
    return cut(std::is_same_v<Real, float> ? narrow_ : wide_, kernels.lanes, kernels.tile);
}

template <class Real>
std::shared_ptr<const PairLists> PairLists::choose(const uint8_t* may_follow, int64_t L, const Kernels<Real>& kernels) {
    if (L < kFewestLabels) return nullptr;
    int64_t legal = 0;
    for (int64_t k = 0; k < L * L; ++k) legal += may_follow[k] != 0;
    if (double(legal) > kMostLegal * double(L * L)) return nullptr;
    const std::shared_ptr<const PairLists> lists(new PairLists(std::vector<uint8_t>(may_follow, may_follow + L * L), L));
    const PairTables& tables = lists->tables(kernels);
    const double matrix = double(L) * double((L + kernels.lanes - 1) / kernels.lanes);
    const auto work = [&](const PairTable& table) { return double(table.num_cells + (table.places ? L : 0)); };
    return work(tables.into) + work(tables.out_of) <= 2 * kMostWork * matrix ? lists : nullptr;
}

template <class Real>
std::shared_ptr<const PairLists> PairLists::choose(const Scores<Real>& common, const Kernels<Real>& kernels) {
    if (common.per_position || common.L < kFewestLabels) return nullptr;
    const int64_t L = common.L;
    std::vector<uint8_t> may_follow(static_cast<size_t>(L * L));
    for (int64_t k = 0; k < L * L; ++k) may_follow[size_t(k)] = common.transitions[k] > Real(-kInf);
    return choose(may_follow.data(), L, kernels);
}

#define TAGLINE_INSTANTIATE(Real)                                                                              \
    template const PairTables& PairLists::tables(const Kernels<Real>&) const;                                  \
    template std::shared_ptr<const PairLists> PairLists::choose(const uint8_t*, int64_t, const Kernels<Real>&); \
    template std::shared_ptr<const PairLists> PairLists::choose(const Scores<Real>&, const Kernels<Real>&);
TAGLINE_INSTANTIATE(float)
TAGLINE_INSTANTIATE(double)

}  // namespace tagline
