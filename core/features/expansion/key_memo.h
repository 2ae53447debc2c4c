// What has been looked up already while templates are expanded, by key.
#pragma once

#include "features/expansion/tuples.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tagline {

// By the key of a body, a value for each of its templates: 0 not looked up yet, 1 no attribute, else id + 2.
class KeyMemo {
public:
    using Value = uint32_t;

    // `direct` holds 0s for all keys, shared by all threads; where it is null, every thread remembers some keys of its
    // own.
    KeyMemo(size_t templates, uint32_t* direct, int64_t tokens) : templates_(templates), direct_(direct) {
        if (direct) return;
        const int bits = std::clamp(int(std::bit_width(uint64_t(tokens))), 4, 13);
        shift_ = 64 - bits;
        stride_ = 2 + (templates + 1) / 2 * 2;
        cells_.assign(stride_ << bits, ~uint32_t{0});  // kAbsent, which nobody asks for
    }

    void prefetch(uint64_t key) const {
        if (direct_)
            __builtin_prefetch(direct_ + (key == kAbsent ? 0 : key) * templates_);
        else
            __builtin_prefetch(cells_.data() + cell(key));
    }

    // Its values; null where they are not known.
    const uint32_t* get(uint64_t key) const {
        if (direct_) {
            const uint32_t* values = direct_ + key * templates_;
            return __atomic_load_n(values, __ATOMIC_ACQUIRE) ? values : nullptr;
        }
        const uint32_t* held = cells_.data() + cell(key);
        return std::memcmp(held, &key, sizeof key) == 0 ? held + 2 : nullptr;
    }

    // The first value is written last: whoever sees it sees all.
    void set(uint64_t key, const uint32_t* values) {
        if (direct_) {
            uint32_t* to = direct_ + key * templates_;
            for (size_t k = 1; k < templates_; ++k) __atomic_store_n(to + k, values[k], __ATOMIC_RELAXED);
            __atomic_store_n(to, values[0], __ATOMIC_RELEASE);
            return;
        }
        uint32_t* held = cells_.data() + cell(key);
        std::memcpy(held, &key, sizeof key);
        std::copy_n(values, templates_, held + 2);
    }

private:
    size_t templates_, stride_ = 0;
    uint32_t* direct_;
    std::vector<uint32_t> cells_;  // of one thread: key, values; a newcomer takes the place
    int shift_ = 64;

    size_t cell(uint64_t key) const { return size_t((key * 0x9E3779B97F4A7C15ull) >> shift_) * stride_; }
};

}  // namespace tagline
