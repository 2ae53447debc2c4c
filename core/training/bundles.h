// Bundles: attributes that come together stand for one row of weights.
//
// A template's lines overlap: three neighbouring parts of speech determine each pair and each single one of them, a word
// its prefixes, suffixes and shape. Where a tuple of attributes occurs often in a lane, the sum of its weights is made
// once an evaluation, as a row, and so is what the tuple adds to the gradient: its tokens visit one row, not each of the
// attributes. All of it is decided by one lane's tokens alone, so that it does not matter who holds which lanes.
#pragma once

#include "training/layout.h"

#include <cstdint>
#include <vector>

namespace tagline {

constexpr int64_t kMostBundles = int64_t(1) << 14;  // of a lane

// Where the tokens of a lane find their weights.
struct LaneStates {
    Occurrences tokens;     // token 0 is the lane's first; rows from `first_row` on are bundles
    Occurrences members;    // the attributes of each bundle, as if it were a token
    const int64_t* counts;  // [bundles] tokens that have it
    int64_t bundles;        // 0 where there are none, and no lists either
    int64_t first_row;
};

struct BundledLists {
    OccurrenceLists tokens, members;
    std::vector<int64_t> counts;
};

// The lists of a lane's N tokens, whose attributes have no values. False where bundles would save little.
bool bundle(const Layout& layout, const AttributeIds& tokens, int64_t N, int64_t first_row, BundledLists& lists);

}  // namespace tagline
