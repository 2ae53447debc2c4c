#include "features/expansion/key_table.h"

#include <algorithm>
#include <bit>
#include <new>

namespace tagline {

KeyTable::KeyTable(int bits, int64_t expected) {
    if (fits(bits, expected)) {
        direct_.reset(static_cast<uint32_t*>(std::calloc(size_t{1} << bits, sizeof(uint32_t))));
        if (!direct_) throw std::bad_alloc();
        return;
    }
    grow();
}

uint32_t& KeyTable::hashed(uint64_t key) {
    if (2 * (used_ + 1) > cells_.size()) grow();
    size_t k = place(key);
    while (cells_[k].value && cells_[k].key != key) k = k + 1 == cells_.size() ? 0 : k + 1;
    if (!cells_[k].value) {
        cells_[k].key = key;
        ++used_;  // the caller sets a value that is not 0
    }
    return cells_[k].value;
}

void KeyTable::grow() {
    std::vector<Cell> before = std::move(cells_);
    const size_t size = std::max<size_t>(1024, 4 * before.size());
    shift_ = 64 - std::countr_zero(size);
    cells_.assign(size, {0, 0});
    for (const Cell& cell : before) {
        if (!cell.value) continue;
        size_t k = place(cell.key);
        while (cells_[k].value) k = k + 1 == cells_.size() ? 0 : k + 1;
        cells_[k] = cell;
    }
}

}  // namespace tagline
