// What has been looked up already while sentences are scored, by key, for as long as a scorer lives.
#pragma once

#include "features/tuples.h"
#include "runtime/memory.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tagline {

// By the key of a context, a value of 64 bits for each of its templates. An open-addressed table for one thread: it grows
// up to 2^most_bits cells; when half of those are taken, all is forgotten.
class GrowingMemo {
public:
    using Value = uint64_t;

    GrowingMemo(size_t templates, int most_bits) : stride_(1 + templates), most_bits_(most_bits) {
        clear(std::min(8, most_bits));
    }

    void prefetch(uint64_t key) const {
        const uint64_t* cell = cells_.get() + first(key) * stride_;
        for (size_t k = 0; k < stride_; k += 8) __builtin_prefetch(cell + k);
    }

    // Its values; null where they are not known.
    const uint64_t* get(uint64_t key) const {
        const uint64_t* cell = find(key);
        return *cell == key ? cell + 1 : nullptr;
    }

    void set(uint64_t key, const uint64_t* values) {
        if (2 * (used_ + 1) > size()) make_room();
        uint64_t* cell = find(key);
        used_ += *cell != key;
        *cell = key;
        std::copy_n(values, stride_ - 1, cell + 1);
    }

private:
    size_t stride_, used_ = 0;
    int most_bits_, shift_ = 64;
    AlignedPointer<uint64_t> cells_;  // key, values; kAbsent, which nobody asks for: free

    size_t size() const { return size_t{1} << (64 - shift_); }
    size_t first(uint64_t key) const { return size_t((key * 0x9E3779B97F4A7C15ull) >> shift_); }

    // The cell of a key, or the free one where it would be.
    uint64_t* find(uint64_t key) const {
        size_t k = first(key);
        while (cells_.get()[k * stride_] != key && cells_.get()[k * stride_] != kAbsent) k = (k + 1) & (size() - 1);
        return cells_.get() + k * stride_;
    }

    void clear(int bits) {
        shift_ = 64 - bits;
        used_ = 0;
        cells_.reset(static_cast<uint64_t*>(aligned_allocate(size() * stride_, sizeof(uint64_t))));
        for (size_t k = 0; k < size(); ++k) cells_.get()[k * stride_] = kAbsent;
    }

    void make_room() {
        const AlignedPointer<uint64_t> before = std::move(cells_);
        const size_t count = size();
        const bool grows = 64 - shift_ < most_bits_;
        clear(std::min(66 - shift_, most_bits_));
        for (size_t k = 0; grows && k < count; ++k)
            if (const uint64_t* cell = before.get() + k * stride_; *cell != kAbsent) set(*cell, cell + 1);
    }
};

}  // namespace tagline
