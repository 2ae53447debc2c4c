// Double arrays as Darts keeps them (the dictionary of CRF++'s model files): a trie in one array of (base, check).
//
// The root is unit 0. From a node with base b, byte c leads to unit b + c + 1, if the check of that unit is b; and unit
// b, if its check is b, holds the value of the key that ends there as base = −value − 1. A new node gets the first base
// at which all its children find free places, children before siblings; the search begins where less than 95 % of the
// units were taken. So the same keys give the same array as Darts makes, to the byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tagline {

struct DoubleArrayUnit {
    int32_t base;
    uint32_t check;
};

// Key k is bytes[offsets[k] …  offsets[k + 1] − 1].
struct KeyList {
    std::string bytes;
    std::vector<int64_t> offsets{0};
    std::vector<int32_t> values;
};

// Build the array of ascending, distinct keys [K] without zero bytes; values are not negative.
std::vector<DoubleArrayUnit> build_double_array(const char* bytes, const int64_t* offsets, int64_t K,
                                                const int32_t* values);

// List the keys in ascending order. False where the array is damaged, or the keys have more than `most_bytes`.
bool read_double_array(const DoubleArrayUnit* units, int64_t size, int64_t most_bytes, KeyList& keys);

}  // namespace tagline
