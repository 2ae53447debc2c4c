// Where each weight of a feature CRF lives while it is used: rows of all labels for attributes with weights for many
// of them, cells for the rest. Flat vectors of weights, as optimisers see them, are carried in and out here.
#pragma once

#include "chain/kernels.h"
#include "runtime/memory.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tagline {

// Memory of a WeightTable.
template <class Real>
class WeightMemory {
public:
    WeightMemory() = default;
    // `spare` rows more are left unset: memory that nobody touches costs addresses only.
    WeightMemory(int64_t rows, int64_t cells, int64_t L, int64_t stride, int64_t spare = 0);
    const WeightTable<Real>& table() const { return table_; }
    void clear();  // zeros, labels stay; but for spare rows

private:
    AlignedPointer<void> rows_memory_, cells_memory_;
    int64_t rows_ = 0, cells_ = 0;
    WeightTable<Real> table_{};
};

// The attributes of tokens, by number: token n has ids[offsets[n]] … ids[offsets[n + 1] − 1].
struct AttributeIds {
    const int64_t* offsets;  // [N + 1]
    const int32_t* ids;
    const float* values;     // null where all are 1
};

// Occurrences that own their arrays.
struct OccurrenceLists {
    std::vector<int64_t> row_offsets{0}, cell_offsets{0};
    UnsetVector<uint32_t> rows, cells;
    std::vector<float> row_values, cell_values;
    bool has_values = false;

    Occurrences view() const {
        return {row_offsets.data(),  rows.data(),  has_values ? row_values.data() : nullptr,
                cell_offsets.data(), cells.data(), has_values ? cell_values.data() : nullptr};
    }
    void clear();
};

// The labels seen with each of A attributes, ascending: labels [N], −1 where unknown. False where the bits would take
// too much memory.
bool observed_pairs(const AttributeIds& tokens, int64_t N, const int32_t* labels, int64_t L, int64_t A,
                    std::vector<int64_t>& offsets, std::vector<int32_t>& seen_labels);

class Layout {
public:
    // Weights of attribute a: labels[offsets[a]] … labels[offsets[a + 1] − 1], ascending and below L.
    Layout(int64_t L, int64_t A, const int64_t* offsets, const int32_t* labels);

    int64_t L() const { return L_; }
    int64_t attributes() const { return int64_t(locations_.size()); }
    int64_t rows() const { return rows_; }
    int64_t cells() const { return cells_; }
    int64_t stride() const { return stride_; }
    int64_t size() const { return int64_t(labels_.size()); }
    int64_t most_cells() const { return most_cells_; }  // of one attribute
    int64_t first_weight(int64_t attribute) const { return offsets_[size_t(attribute)]; }  // its place in flat vectors

    template <class Real>
    WeightMemory<Real> make(int64_t spare = 0) const;  // with so many rows more

    // Bits of the labels that each row has weights for, for a WeightTable; empty where every row has all.
    std::vector<uint64_t> masks() const;

    // Flat weights into a table; several threads share the attributes.
    template <class Weight, class Real>
    void load(const Weight* flat, const WeightTable<Real>& table) const;

    // Call give(flat index, value in the table) for the weights of attributes first … last − 1. Cells between two rows lie
    // side by side, in the order of flat weights: one loop, since an attribute has 1 or 2 of them most often.
    template <class Real, class Give>
    void each(const WeightTable<Real>& table, int64_t first, int64_t last, const Give& give) const {
        const auto next_row = std::lower_bound(row_attributes_.begin(), row_attributes_.end(), size_t(first));
        size_t row = size_t(next_row - row_attributes_.begin());
        int64_t k = offsets_[size_t(first)];
        for (WeightCell<Real>* cell = table.cells + cells_before(row) - (first_of_row(row) - k);; ++row) {
            for (const int64_t behind = std::min(first_of_row(row), offsets_[size_t(last)]); k < behind; ++k, ++cell)
                give(k, cell->value);
            if (row == size_t(rows_) || int64_t(row_attributes_[row]) >= last) return;
            Real* const labels = table.rows + int64_t(row) * stride_;
            const int64_t behind = weights_behind_[row];
            if (behind - k == L_)  // label by label, no gaps
                for (int64_t j = 0; j < L_; ++j) give(k + j, labels[j]);
            else
                for (int64_t q = k; q < behind; ++q) give(q, labels[labels_[size_t(q)]]);
            k = behind;
        }
    }

    // Call give(place in the list, flat index, label) for the weights of the listed rows.
    template <class Give>
    void each_row(const std::vector<uint32_t>& rows, const Give& give) const {
        for (size_t hot = 0; hot < rows.size(); ++hot) {
            const size_t a = row_attributes_[rows[hot]];
            for (int64_t k = offsets_[a]; k < offsets_[a + 1]; ++k) give(hot, k, labels_[size_t(k)]);
        }
    }

    // Append tokens first … last − 1 to the lists. Ids must be below attributes().
    void place(const AttributeIds& tokens, int64_t first, int64_t last, OccurrenceLists& lists) const;

    // Where the weights of an attribute are.
    struct Location {
        uint32_t first;  // a row, or the first of its cells
        uint32_t cells : 31;  // how many; 0 for a row
        uint32_t is_row : 1;
    };
    Location location(int64_t attribute) const { return locations_[size_t(attribute)]; }
    void fetch(int64_t attribute) const { __builtin_prefetch(&locations_[size_t(attribute)]); }

private:
    int64_t L_, rows_ = 0, cells_ = 0, stride_;
    int64_t most_cells_ = 0;
    std::vector<int64_t> offsets_;
    std::vector<int32_t> labels_;
    std::vector<Location> locations_;
    std::vector<size_t> row_attributes_;  // [rows]
    std::vector<uint32_t> cells_before_;  // [rows] how many cells attributes before it have
    std::vector<int64_t> first_weight_, weights_behind_;  // [rows] its weights in flat vectors

    // As if a last row stood behind all attributes.
    int64_t cells_before(size_t row) const { return row < cells_before_.size() ? cells_before_[row] : cells_; }
    int64_t first_of_row(size_t row) const { return row < first_weight_.size() ? first_weight_[row] : size(); }
};

}  // namespace tagline
