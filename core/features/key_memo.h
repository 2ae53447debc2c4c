// What has been looked up already while templates are expanded, by key.
#pragma once

#include "features/tuples.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tagline {

// By the key of a body, a value for each of its templates.
template <class Value>
class KeyMemo {
public:
    // `direct` holds 0s for all keys, shared by all threads: 0 stands for what was not looked up yet. Where it is null,
    // every thread remembers some keys of its own: up to 2^most_bits, fewer while fewer come.
    KeyMemo(size_t templates, Value* direct, int64_t tokens, int most_bits = 13)
        : templates_(templates), direct_(direct), most_bits_(most_bits) {
        if (direct) return;
        stride_ = kKey + (templates + kKey - 1) / kKey * kKey;
        clear(std::clamp(int(std::bit_width(uint64_t(tokens))), 4, 13));
    }

    void prefetch(uint64_t key) const {
        if (direct_)
            __builtin_prefetch(direct_ + (key == kAbsent ? 0 : key) * templates_);
        else
            __builtin_prefetch(cells_.data() + cell(key));
    }

    // Its values; null where they are not known.
    const Value* get(uint64_t key) const {
        if (direct_) {
            const Value* values = direct_ + key * templates_;
            return __atomic_load_n(values, __ATOMIC_ACQUIRE) ? values : nullptr;
        }
        const Value* held = cells_.data() + cell(key);
        return std::memcmp(held, &key, sizeof key) == 0 ? held + kKey : nullptr;
    }

    // The first value is written last: whoever sees it sees all.
    void set(uint64_t key, const Value* values) {
        if (direct_) {
            Value* to = direct_ + key * templates_;
            for (size_t k = 1; k < templates_; ++k) __atomic_store_n(to + k, values[k], __ATOMIC_RELAXED);
            __atomic_store_n(to, values[0], __ATOMIC_RELEASE);
            return;
        }
        if (++newcomers_ > cells_.size() / stride_ && 64 - shift_ < most_bits_) grow();
        put(key, values);
    }

private:
    static constexpr size_t kKey = sizeof(uint64_t) / sizeof(Value);  // the place that a key takes

    size_t templates_, stride_ = 0;
    Value* direct_;
    std::vector<Value> cells_;  // of one thread: key, values; a newcomer takes the place
    size_t newcomers_ = 0;      // since the cells became as many as they are
    int shift_ = 64, most_bits_;

    size_t cell(uint64_t key) const { return size_t((key * 0x9E3779B97F4A7C15ull) >> shift_) * stride_; }

    void clear(int bits) {
        shift_ = 64 - bits;
        newcomers_ = 0;
        cells_.assign(stride_ << bits, ~Value{0});  // kAbsent, which nobody asks for
    }

    void put(uint64_t key, const Value* values) {
        Value* held = cells_.data() + cell(key);
        std::memcpy(held, &key, sizeof key);
        std::copy_n(values, templates_, held + kKey);
    }

    void grow() {
        const std::vector<Value> before = std::move(cells_);
        clear(std::min(66 - shift_, most_bits_));
        for (size_t k = 0; k < before.size(); k += stride_) {
            uint64_t key;
            std::memcpy(&key, before.data() + k, sizeof key);
            if (key != kAbsent) put(key, before.data() + k + kKey);
        }
    }
};

}  // namespace tagline
