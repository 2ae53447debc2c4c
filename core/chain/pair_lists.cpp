#include "chain/pair_lists.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <type_traits>

namespace tagline {

namespace {

// A matrix of few labels is one or two vectors wide: nothing can be left out of it.
constexpr int64_t kFewestLabels = 64;

// Where a smaller share of the pairs than this is forbidden, nobody looks for tiles.
constexpr double kFewestForbidden = 0.4;

// Lists are chosen where they take at most this share of a matrix's vector operations. They would be faster up to about
// 0.8 here (AVX-512 of which two halves take as long as the whole), but not where wide vectors are twice as fast.
constexpr double kMostWork = 0.5;

// Vector operations that it costs to put a label in its place, where columns are not in the order of labels.
constexpr int64_t kMove = 2;

// Neighbouring vectors make one tile where the rows that only some of them need cost less than this: a row's number is
// read once for all vectors of a tile.
constexpr double kMostWaste = 1.15;

// Sentences go abreast where that takes fewer operations: one for each pair of all of them, not one for each vector of
// each, and as long as the sums of counts, a vector for each pair, are few.
constexpr int64_t kMostPairsOfCell = 2, kMostPairsOfLabel = 16;

// The rows of each column, ascending.
using RowLists = std::vector<std::vector<int32_t>>;

// Columns in an order in which those of a vector share rows: each vector begins with the column that has most rows, and
// goes on with the one that adds fewest. Equal columns keep the order of their labels.
std::vector<int32_t> gather_columns(const RowLists& rows_of, int64_t lanes) {
    const size_t L = rows_of.size();
    RowLists columns_of(L);
    for (size_t c = 0; c < L; ++c)
        for (int32_t row : rows_of[c]) columns_of[size_t(row)].push_back(int32_t(c));
    std::vector<int32_t> left(L), order, fresh(L);  // columns to place, ascending; rows that a column would add
    std::iota(left.begin(), left.end(), 0);
    std::vector<uint8_t> has_row(L);
    while (!left.empty()) {
        std::fill(has_row.begin(), has_row.end(), uint8_t(0));
        for (size_t c = 0; c < L; ++c) fresh[c] = int32_t(rows_of[c].size());
        const size_t first = order.size();
        for (int64_t lane = 0; lane < lanes && !left.empty(); ++lane) {
            const auto cheaper = [&](int32_t a, int32_t b) { return fresh[size_t(a)] < fresh[size_t(b)]; };
            const auto chosen = lane == 0 ? std::max_element(left.begin(), left.end(), cheaper)
                                          : std::min_element(left.begin(), left.end(), cheaper);
            order.push_back(*chosen);
            for (int32_t row : rows_of[size_t(*chosen)]) {
                if (has_row[size_t(row)]) continue;
                has_row[size_t(row)] = 1;
                for (int32_t c : columns_of[size_t(row)]) --fresh[size_t(c)];
            }
            left.erase(chosen);
        }
        std::sort(order.begin() + int64_t(first), order.end());
    }
    return order;
}

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

    // Columns as they are where that is as good: each step then saves a move of every label.
    std::vector<int32_t> columns(static_cast<size_t>(L_));
    std::iota(columns.begin(), columns.end(), 0);
    std::vector<Tile> tiles = cut_tiles(rows, columns, lanes, most_vectors);
    std::vector<int32_t> gathered = gather_columns(rows, lanes);
    std::vector<Tile> other = cut_tiles(rows, gathered, lanes, most_vectors);
    Table out;
    if (operations(other) + kMove * L_ < operations(tiles)) {
        tiles = std::move(other);
        columns = std::move(gathered);
        out.places.resize(size_t(L_));
        for (size_t c = 0; c < columns.size(); ++c) out.places[size_t(columns[c])] = int32_t(c);
    }
    out.columns = columns;
    out.columns.resize(size_t((L_ + lanes - 1) / lanes * lanes), -1);

    std::vector<int32_t> number;               // [row of the tile, column of the tile] of the pair, −1: forbidden
    std::vector<int64_t> place(size_t(L_), 0);  // of a row in the tile
    for (const Tile& tile : tiles) {
        const int64_t width = tile.vectors * lanes, first = tile.vector * lanes;
        number.assign(tile.rows.size() * size_t(width), -1);
        for (size_t r = 0; r < tile.rows.size(); ++r) place[size_t(tile.rows[r])] = int64_t(r);
        for (int64_t c = first; c < std::min(L_, first + width); ++c)
            rows_of(columns[size_t(c)], [&](int32_t row, int32_t pair) {
                number[size_t(place[size_t(row)] * width + c - first)] = pair;
            });
        out.tiles.push_back({tile.vector, tile.vectors, int64_t(out.rows.size()), int64_t(tile.rows.size()),
                             int64_t(out.lanes.size())});
        out.rows.insert(out.rows.end(), tile.rows.begin(), tile.rows.end());
        for (int64_t r = 0; r < int64_t(tile.rows.size()); ++r)
            for (int64_t v = 0; v < tile.vectors; ++v) {
                const int32_t* cell = number.data() + r * width + v * lanes;
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
    const int64_t pairs = int64_t(out.numbers.size()), cells = int64_t(out.lanes.size());
    if (pairs <= std::min(kMostPairsOfCell * cells, kMostPairsOfLabel * L_)) out.list_columns(lanes);
    return out;
}

// The same cells column by column. A tile adds its row r to sum r modulo their number, and what is left to the first.
void PairLists::Table::list_columns(int lanes_of_vector) {
    struct Cell {
        int32_t sum, row, place, number;
    };
    const size_t L = size_t(std::count_if(columns.begin(), columns.end(), [](int32_t label) { return label >= 0; }));
    std::vector<std::vector<Cell>> cells(L);
    const int32_t* next = numbers.data();
    for (const PairTile& tile : tiles) {
        const int64_t sums = tile.rows <= kRowsInOneSum ? 1 : tile.vectors == 1 ? 4 : tile.vectors == 2 ? 2 : 1;
        for (int64_t r = 0; r < tile.rows; ++r)
            for (int64_t v = 0; v < tile.vectors; ++v) {
                const int64_t cell = tile.cell + r * tile.vectors + v;
                for (int k = 0; k < lanes_of_vector; ++k) {
                    if (!(lanes[size_t(cell)] >> k & 1)) continue;
                    const int32_t label = columns[size_t((tile.vector + v) * lanes_of_vector + k)];
                    const int64_t sum = r < tile.rows / sums * sums ? r % sums : 0;
                    cells[size_t(label)].push_back({int32_t(sum), rows[size_t(tile.row + r)],
                                                    int32_t(cell * lanes_of_vector + k), *next++});
                }
            }
    }
    std::vector<int32_t> order(L);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return cells[size_t(a)].size() < cells[size_t(b)].size(); });
    for (int32_t label : order) {
        PairColumn column{label, {}};
        for (int32_t sum = 0; sum < 4; ++sum) {
            for (const Cell& cell : cells[size_t(label)]) {
                if (cell.sum != sum) continue;
                column_rows.push_back(cell.row);
                column_places.push_back(cell.place);
                column_numbers.push_back(cell.number);
            }
            column.ends[sum] = int32_t(column_rows.size());
        }
        by_column.push_back(column);
    }
}

PairTable PairLists::Table::view() const {
    return {tiles.data(),   int64_t(tiles.size()), int64_t(lanes.size()), rows.data(),
            columns.data(), places.empty() ? nullptr : places.data(), lanes.data(), numbers.data(),
            {by_column.empty() ? nullptr : by_column.data(), column_rows.data(), column_places.data(),
             column_numbers.data()}};
}

// The lists are made for one variant's kernels, whose vectors of each type have one width.
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

namespace {

std::atomic<PairUse> chosen_use{PairUse::by_work};

// A choice, and the pattern of legal pairs and the kernels that it was made for.
struct Choice {
    std::vector<uint8_t> may_follow;
    int lanes, most_vectors;
    bool narrow;
    PairUse use;
    std::shared_ptr<const PairLists> lists;
};

// The last few choices, the latest first.
constexpr size_t kMostChoices = 4;
std::mutex choices_lock;
std::vector<Choice>& choices() {
    static std::vector<Choice> recent;
    return recent;
}

}  // namespace

PairUse PairLists::use() { return chosen_use; }
void PairLists::set_use(PairUse use) { chosen_use = use; }

std::shared_ptr<const PairLists> PairLists::weigh(const std::vector<uint8_t>& may_follow, int64_t L, int lanes,
                                                  int most_vectors, bool narrow) {
    std::shared_ptr<const PairLists> lists(new PairLists(may_follow, L));
    if (use() == PairUse::always) return lists;
    const PairTables& tables = lists->cut(narrow ? lists->narrow_ : lists->wide_, lanes, most_vectors);
    const double matrix = double(L) * double((L + lanes - 1) / lanes);
    const auto work = [&](const PairTable& table) { return double(table.num_cells + (table.places ? kMove * L : 0)); };
    return work(tables.into) + work(tables.out_of) <= 2 * kMostWork * matrix ? lists : nullptr;
}

namespace {

// Whether less than kFewestForbidden of the pairs are forbidden: row by row, until so many are legal that it is clear.
template <class Real>
bool few_forbidden(const Real* transitions, int64_t L) {
    const double most_legal = double(L * L) - kFewestForbidden * double(L * L);
    int64_t legal = 0;
    for (int64_t i = 0; i < L; ++i) {
        int32_t in_row = 0;  // narrow, so that as many are compared at a time as fit a vector
        for (int64_t j = 0; j < L; ++j) in_row += transitions[i * L + j] != Real(-kInf);
        legal += in_row;
        if (double(legal) > most_legal) return true;
    }
    return false;
}

}  // namespace

template <class Real>
std::shared_ptr<const PairLists> PairLists::choose(const Scores<Real>& common, const Kernels<Real>& kernels) {
    const PairUse use = PairLists::use();
    const int64_t L = common.L;
    if (common.per_position || use == PairUse::never || (use == PairUse::by_work && L < kFewestLabels)) return nullptr;
    if (use == PairUse::by_work && few_forbidden(common.transitions, L)) return nullptr;
    std::vector<uint8_t> may_follow(static_cast<size_t>(L * L));
    for (int64_t k = 0; k < L * L; ++k) may_follow[size_t(k)] = common.transitions[k] != Real(-kInf);

    constexpr bool narrow = std::is_same_v<Real, float>;
    const auto same = [&](const Choice& choice) {
        return choice.lanes == kernels.lanes && choice.most_vectors == kernels.tile && choice.narrow == narrow &&
               choice.use == use && choice.may_follow == may_follow;
    };
    // Where another thread is looking, or a fork left the lock behind, do without.
    const std::unique_lock<std::mutex> lock(choices_lock, std::try_to_lock);
    std::vector<Choice>& recent = choices();
    if (lock)
        if (const auto known = std::find_if(recent.begin(), recent.end(), same); known != recent.end()) {
            std::rotate(recent.begin(), known, known + 1);
            return recent.front().lists;
        }
    std::shared_ptr<const PairLists> lists = weigh(may_follow, L, kernels.lanes, kernels.tile, narrow);
    if (lock) {
        recent.insert(recent.begin(), {std::move(may_follow), kernels.lanes, kernels.tile, narrow, use, lists});
        if (recent.size() > kMostChoices) recent.pop_back();
    }
    return lists;
}

#define TAGLINE_INSTANTIATE(Real)                                             \
    template const PairTables& PairLists::tables(const Kernels<Real>&) const; \
    template std::shared_ptr<const PairLists> PairLists::choose(const Scores<Real>&, const Kernels<Real>&);
TAGLINE_INSTANTIATE(float)
TAGLINE_INSTANTIATE(double)

}  // namespace tagline
