// What training learns from: labelled sentences, with their attributes placed in a layout.
#pragma once

#include "training/layout.h"

#include <algorithm>
#include <cstdint>

namespace tagline {

// The arrays outlive whoever learns from them.
struct Examples {
    const int64_t* offsets;  // [B + 1]
    int64_t B;
    Occurrences states;
    int64_t first_token = 0;  // the one that comes first in `states`
    AttributeIds edges;      // offsets null where there are none
    const int32_t* labels;   // [N], −1 where more than one label is allowed
    const uint8_t* allowed;  // [N, L], or null where every label is known
    const double* weights;   // [B], or null where all are 1
    const uint8_t* kept;     // [N, L], labels that pruning left to a second-order chain, or null where all are left

    double weight(int64_t b) const { return weights ? weights[b] : 1; }
    // Whether some label is not known.
    bool partial(int64_t b) const {
        return allowed &&
               std::any_of(labels + offsets[b], labels + offsets[b + 1], [](int32_t label) { return label < 0; });
    }
};

}  // namespace tagline
