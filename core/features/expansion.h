// Templates over columns: the attributes of each token, by number. The words of a template at a token are packed into
// a key (tuples.h); strings are built once for each distinct attribute, or not at all.
#pragma once

#include "chain/batch.h"
#include "features/tuples.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tagline {

// What to expand. `prepare` first.
struct Expansion {
    std::vector<Source> sources;
    std::vector<Skeleton> skeletons;
    std::vector<Body> bodies;         // of the skeletons; made by `prepare`
    const int64_t* bounds = nullptr;  // [B + 1]
    int64_t B = 0;
    bool after_first = false;  // templates on edges: the first token of a sentence has no attributes

    int64_t tokens() const { return bounds[B]; }
    void prepare();
};

struct Release {
    size_t bytes = 0;
    void operator()(void* memory) const;
};

// Compressed rows: token n has ids[offsets[n]] … ids[offsets[n + 1] − 1].
struct AttributeRows {
    std::vector<int64_t> offsets;  // [N + 1]
    std::unique_ptr<int32_t[], Release> ids;
};

// Number every attribute that comes up at least `min_count` times, in the order of first use. Attributes are the same
// when their strings are, whichever templates made them. False when interrupted; throws TooManyNames above `most`.
bool expand_new(const Expansion& expansion, int64_t min_count, int64_t most, AttributeRows& rows,
                VocabularyArrays& names, const Interrupted& interrupted);

// Look attributes up; those that the vocabulary does not have are left out.
bool expand_known(const Expansion& expansion, const VocabularyView& names, AttributeRows& rows,
                  const Interrupted& interrupted);

// Number attributes by `bits` bits of their finished hashes.
bool expand_hashed(const Expansion& expansion, int bits, AttributeRows& rows, const Interrupted& interrupted);

}  // namespace tagline
