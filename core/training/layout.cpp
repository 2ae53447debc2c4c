#include "training/layout.h"

#include "runtime/pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace tagline {

namespace {

// Vectors of 4, 8 or 16 labels make a row; see for_parts in chain/kernels/emissions.h.
int64_t row_stride(int64_t L) {
    const int64_t step = L <= 4 ? 4 : L <= 48 ? 8 : 16;
    return (L + step - 1) / step * step;
}

// A row costs its vectors, a cell about as much as one vector of 8 labels: measured on CoNLL-2000 with 22 and 44
// labels.
bool pays_as_row(int64_t count, int64_t L) { return count * 8 >= L; }

constexpr int64_t kAhead = 96;  // attributes whose places are fetched early: 24 is slower by a tenth (CoNLL-2000)
constexpr int64_t kWrittenCells = 2;  // of each attribute, whether it has them or not
constexpr int64_t kMostWords = int64_t(1) << 26;  // of 64 label bits
constexpr int64_t kParts = 32;  // of attributes, for loading in parallel

}  // namespace

template <class Real>
WeightMemory<Real>::WeightMemory(int64_t rows, int64_t cells, int64_t L, int64_t stride, int64_t spare)
    : rows_(rows), cells_(cells) {
    rows_memory_.reset(aligned_allocate(size_t(std::max<int64_t>((rows + spare) * stride, 1)), sizeof(Real)));
    cells_memory_.reset(aligned_allocate(size_t(std::max<int64_t>(cells, 1)), sizeof(WeightCell<Real>)));
    table_ = {static_cast<Real*>(rows_memory_.get()), static_cast<WeightCell<Real>*>(cells_memory_.get()), L, stride};
    std::memset(table_.rows, 0, size_t(rows * stride) * sizeof(Real));
}

template <class Real>
void WeightMemory<Real>::clear() {
    std::memset(table_.rows, 0, size_t(rows_ * table_.stride) * sizeof(Real));
    for (int64_t q = 0; q < cells_; ++q) table_.cells[q].value = 0;
}

template class WeightMemory<float>;
template class WeightMemory<double>;

void OccurrenceLists::clear() {
    row_offsets.assign(1, 0);
    cell_offsets.assign(1, 0);
    rows.clear();
    cells.clear();
    row_values.clear();
    cell_values.clear();
}

bool observed_pairs(const AttributeIds& tokens, int64_t N, const int32_t* labels, int64_t L, int64_t A,
                    std::vector<int64_t>& offsets, std::vector<int32_t>& seen_labels) {
    const int64_t words = (L + 63) / 64;
    if (words * A > kMostWords) return false;
    std::vector<uint64_t> seen(size_t(words * A), 0);
    for (int64_t n = 0; n < N; ++n) {
        if (labels[n] < 0) continue;
        const int64_t word = labels[n] / 64;
        const uint64_t bit = uint64_t(1) << (labels[n] % 64);
        for (int64_t k = tokens.offsets[n]; k < tokens.offsets[n + 1]; ++k)
            seen[size_t(tokens.ids[k] * words + word)] |= bit;
    }
    offsets.assign(1, 0);
    for (int64_t a = 0; a < A; ++a) {
        for (int64_t word = 0; word < words; ++word)
            for (uint64_t bits = seen[size_t(a * words + word)]; bits; bits &= bits - 1)
                seen_labels.push_back(int32_t(word * 64 + std::countr_zero(bits)));
        offsets.push_back(int64_t(seen_labels.size()));
    }
    return true;
}

Layout::Layout(int64_t L, int64_t A, const int64_t* offsets, const int32_t* labels)
    : L_(L), stride_(row_stride(L)), offsets_(offsets, offsets + A + 1), labels_(labels, labels + offsets[A]) {
    locations_.reserve(size_t(A));
    for (int64_t a = 0; a < A; ++a) {
        const int64_t count = offsets[a + 1] - offsets[a];
        const bool row = count > 0 && pays_as_row(count, L);
        locations_.push_back({uint32_t(row ? rows_ : cells_), uint32_t(row ? 0 : count), row});
        (row ? rows_ : cells_) += row ? 1 : count;
        if (row) {
            row_attributes_.push_back(size_t(a));
            cells_before_.push_back(uint32_t(cells_));
            first_weight_.push_back(offsets[a]);
            weights_behind_.push_back(offsets[a + 1]);
        }
        if (!row) most_cells_ = std::max(most_cells_, count);
        if (cells_ > int64_t(UINT32_MAX) || rows_ > int64_t(UINT32_MAX)) throw std::length_error("too many weights");
    }
}

template <class Real>
WeightMemory<Real> Layout::make(int64_t spare) const {
    WeightMemory<Real> memory(rows_, cells_, L_, stride_, spare);
    for (size_t a = 0; a < locations_.size(); ++a)
        for (uint32_t k = 0; k < locations_[a].cells; ++k)
            memory.table().cells[locations_[a].first + k] = {0, labels_[size_t(offsets_[a]) + k]};
    return memory;
}

template WeightMemory<float> Layout::make(int64_t) const;
template WeightMemory<double> Layout::make(int64_t) const;

std::vector<uint64_t> Layout::masks() const {
    const int64_t words = (stride_ + 63) / 64;
    std::vector<uint64_t> bits(size_t(rows_ * words), 0);
    bool all = true;
    for (size_t row = 0; row < row_attributes_.size(); ++row) {
        const size_t a = row_attributes_[row];
        all &= offsets_[a + 1] - offsets_[a] == L_;
        for (int64_t k = offsets_[a]; k < offsets_[a + 1]; ++k)
            bits[row * size_t(words) + size_t(labels_[size_t(k)] / 64)] |= uint64_t(1) << (labels_[size_t(k)] % 64);
    }
    return all ? std::vector<uint64_t>{} : bits;
}

template <class Weight, class Real>
void Layout::load(const Weight* flat, const WeightTable<Real>& table) const {
    int stop = 0;
    const int64_t A = attributes();
    run(kParts, size() < 50'000, stop, [] { return false; }, [&](long part) {
        each(table, A * part / kParts, A * (part + 1) / kParts,
             [&](int64_t k, Real& value) { value = Real(flat[k]); });
    });
}

template void Layout::load(const double*, const WeightTable<float>&) const;
template void Layout::load(const double*, const WeightTable<double>&) const;
template void Layout::load(const float*, const WeightTable<float>&) const;
template void Layout::load(const float*, const WeightTable<double>&) const;

void Layout::place(const AttributeIds& tokens, int64_t first, int64_t last, OccurrenceLists& lists) const {
    lists.has_values = tokens.values != nullptr;
    const int64_t begin = tokens.offsets[first], end = tokens.offsets[last];
    const size_t rows = lists.rows.size(), cells = lists.cells.size();
    const int64_t most_cells = std::max(most_cells_, kWrittenCells);
    lists.rows.resize(rows + size_t(end - begin) + 1);  // room for all; cut to what was used below
    lists.cells.resize(cells + size_t((end - begin + 1) * most_cells));
    uint32_t *row = lists.rows.data() + rows, *cell = lists.cells.data() + cells;
    for (int64_t n = first; n < last; ++n) {
        for (int64_t k = tokens.offsets[n]; k < tokens.offsets[n + 1]; ++k) {
            if (k + kAhead < end) fetch(tokens.ids[k + kAhead]);
            const Location location = locations_[size_t(tokens.ids[k])];
            if (tokens.values) {
                if (location.is_row) lists.row_values.push_back(tokens.values[k]);
                lists.cell_values.insert(lists.cell_values.end(), location.cells, tokens.values[k]);
            }
            *row = location.first;  // whether it is a row cannot be foreseen: both lists are written, one of them grows
            row += location.is_row;
            for (uint32_t q = 0; q < kWrittenCells; ++q) cell[q] = location.first + q;
            for (uint32_t q = kWrittenCells; q < location.cells; ++q) cell[q] = location.first + q;
            cell += location.cells;
        }
        lists.row_offsets.push_back(row - lists.rows.data());
        lists.cell_offsets.push_back(cell - lists.cells.data());
    }
    lists.rows.resize(size_t(row - lists.rows.data()));
    lists.cells.resize(size_t(cell - lists.cells.data()));
}

}  // namespace tagline
