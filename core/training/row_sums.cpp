#include "training/row_sums.h"

#include "runtime/pool.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int64_t kRows = 4096;           // of one task
constexpr int64_t kSmallWork = 100'000;   // entries; below it, waking a thread costs more than it saves
constexpr int64_t kAhead = 16;            // entries that are fetched before they are needed: tables exceed the caches

template <int64_t Width>
void add_rows(const int64_t* offsets, int64_t first, int64_t last, const int32_t* ids, const float* values,
              const double* table, int64_t K, double* out) {
    const int64_t width = Width ? Width : K, stop = offsets[last];
    for (int64_t r = first; r < last; ++r) {
        double* row = out + r * width;
        std::fill(row, row + width, 0.0);
        for (int64_t k = offsets[r]; k < offsets[r + 1]; ++k) {
            if (k + kAhead < stop) __builtin_prefetch(table + int64_t(ids[k + kAhead]) * width);
            const double* entry = table + int64_t(ids[k]) * width;
            const double value = values ? double(values[k]) : 1.0;
            for (int64_t c = 0; c < width; ++c) row[c] += value * entry[c];
        }
    }
}

}  // namespace

bool row_sums(const int64_t* offsets, int64_t R, const int32_t* ids, const float* values, const double* table,
              int64_t K, double* out, const Interrupted& interrupted) {
    int stop = 0;
    const bool small = (offsets[R] + R) * K < kSmallWork;
    return run((R + kRows - 1) / kRows, small, stop, small ? Interrupted() : interrupted, [&](long task) {
        if (stopped(&stop)) return;
        const int64_t first = task * kRows, last = std::min(R, first + kRows);
        switch (K) {
            case 1: return add_rows<1>(offsets, first, last, ids, values, table, K, out);
            case 4: return add_rows<4>(offsets, first, last, ids, values, table, K, out);
            default: return add_rows<0>(offsets, first, last, ids, values, table, K, out);
        }
    });
}

}  // namespace tagline
