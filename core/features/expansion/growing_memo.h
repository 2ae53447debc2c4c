// What has been looked up already while sentences are scored, by key, for as long as a scorer lives.
#pragma once

#include "features/expansion/tuples.h"
#include "runtime/memory.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tagline {

// By the key of a context, a value of 64 bits for each of its templates. An open-addressed table for one thread: it grows
// up to 2^most_bits places; when half of those are taken, all is forgotten. Keys lie apart from values: most of those
// that are not there are told from one line of the cache.
class GrowingMemo {
public:
    using Value = uint64_t;

    GrowingMemo(size_t templates, int most_bits) : templates_(templates), most_bits_(most_bits) {
        allocate(std::min(8, most_bits));
    }

    void prefetch(uint64_t key) const { __builtin_prefetch(keys_.get() + first(key)); }

    // Its values, which are on their way into the cache; null where they are not known.
    const uint64_t* get(uint64_t key) const {
        const size_t place = find(key);
        if (keys_.get()[place] != key) return nullptr;
        const uint64_t* values = values_.get() + place * templates_;
        __builtin_prefetch(values);
        __builtin_prefetch(values + templates_ - 1);
        return values;
    }

    void set(uint64_t key, const uint64_t* values) {
        if (2 * (used_ + 1) > size()) make_room();
        const size_t place = find(key);
        used_ += keys_.get()[place] != key;
        keys_.get()[place] = key;
        std::copy_n(values, templates_, values_.get() + place * templates_);
    }

private:
    size_t templates_, used_ = 0;
    int most_bits_, shift_ = 64;
    AlignedPointer<uint64_t> keys_;  // kAbsent, which nobody asks for: free
    AlignedPointer<uint64_t> values_;

    size_t size() const { return size_t{1} << (64 - shift_); }
    size_t first(uint64_t key) const { return size_t((key * 0x9E3779B97F4A7C15ull) >> shift_); }

    // The place of a key, or the free one where it would be.
    size_t find(uint64_t key) const {
        size_t place = first(key);
        while (keys_.get()[place] != key && keys_.get()[place] != kAbsent) place = (place + 1) & (size() - 1);
        return place;
    }

    void allocate(int bits) {
        shift_ = 64 - bits;
        used_ = 0;
        keys_.reset(static_cast<uint64_t*>(aligned_allocate(size(), sizeof(uint64_t))));
        std::fill_n(keys_.get(), size(), kAbsent);
        values_.reset(static_cast<uint64_t*>(aligned_allocate(templates_ << bits, sizeof(uint64_t))));
    }

    void make_room() {
        const int bits = 64 - shift_;
        if (bits == most_bits_) {
            std::fill_n(keys_.get(), size(), kAbsent);
            used_ = 0;
            return;
        }
        const AlignedPointer<uint64_t> keys = std::move(keys_), values = std::move(values_);
        const size_t count = size();
        allocate(std::min(bits + 2, most_bits_));
        for (size_t place = 0; place < count; ++place)
            if (const uint64_t key = keys.get()[place]; key != kAbsent) set(key, values.get() + place * templates_);
    }
};

}  // namespace tagline
