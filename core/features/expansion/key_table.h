// A table of numbers by key. Keys come from tuples.h; numbering.cpp counts distinct ones with it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace tagline {

// Numbers by key: 0 until set. Small sets of keys get an array, others an open-addressed table that grows.
class KeyTable {
public:
    // Keys are below 2^bits; about `expected` accesses come.
    KeyTable(int bits, int64_t expected);

    // Whether an array is the better choice.
    static bool fits(int bits, int64_t expected) { return bits < 40 && (int64_t{1} << bits) <= 4096 + 8 * expected; }

    uint32_t& at(uint64_t key) { return direct_ ? direct_[key] : hashed(key); }
    bool is_direct() const { return direct_ != nullptr; }
    void prefetch(uint64_t key) const { __builtin_prefetch(&cells_[place(key)]); }  // where it is not direct

private:
    struct Cell {
        uint64_t key;
        uint32_t value;
    };
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<uint32_t[], Free> direct_;  // from calloc: pages that nobody touches cost nothing
    std::vector<Cell> cells_;                   // value 0: free
    size_t used_ = 0;
    int shift_ = 64;

    size_t place(uint64_t key) const { return size_t((key * 0x9E3779B97F4A7C15ull) >> shift_); }
    uint32_t& hashed(uint64_t key);
    void grow();
};

}  // namespace tagline
