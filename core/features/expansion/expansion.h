// Expansion: templates over columns become the attributes of each token, by number. The words of a template at a token
// are packed into a key (tuples.h); strings are built once for each distinct attribute, or not at all.
#pragma once

#include "features/expansion/tuples.h"
#include "runtime/outcome.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tagline {

// What to expand. Call `prepare` first.
struct Expansion {
    std::vector<Source> sources;
    std::vector<Skeleton> skeletons;
    std::vector<Body> bodies;         // of the skeletons; made by `prepare`
    const int64_t* offsets = nullptr;  // [B + 1]
    int64_t B = 0;
    bool after_first = false;  // templates on edges: the first token of a sentence has no attributes

    int64_t tokens() const { return offsets[B]; }
    void prepare();
};

// Memory of rows goes back to a reserve for the next expansion, see thread_shares.cpp.
struct GiveBack {
    size_t bytes = 0;
    void operator()(void* memory) const;
};

// The attributes of every token: token n has ids[offsets[n]] … ids[offsets[n + 1] − 1].
struct ExpandedRows {
    std::vector<int64_t> offsets;  // [N + 1]
    std::unique_ptr<int32_t[], GiveBack> ids;
};

// Number every attribute that comes up at least `min_count` times, in the order of first use. Attributes are the same
// when their strings are, whichever templates made them. False when interrupted; throws TooManyNames above `most`.
bool expand_new(const Expansion& expansion, int64_t min_count, int64_t most, ExpandedRows& rows,
                VocabularyArrays& names, const Interrupted& interrupted);

// Look attributes up; those that the vocabulary does not have are left out.
bool expand_known(const Expansion& expansion, const VocabularyView& names, ExpandedRows& rows,
                  const Interrupted& interrupted);

// Number attributes by `bits` bits of their finished hashes.
bool expand_hashed(const Expansion& expansion, int bits, ExpandedRows& rows, const Interrupted& interrupted);

}  // namespace tagline
