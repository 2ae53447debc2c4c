// The words that a template names at a token, packed into one number, the key: expansion compares keys, not strings.
#pragma once

#include "features/expansion/key_table.h"
#include "features/expansion/templates.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tagline {

constexpr uint64_t kAbsent = ~uint64_t{0};  // the key of a body that has no attribute at this place

// The keys of runs of sentences. In a body, a sentence has a place for each of its tokens, and more places at its ends
// where the first macros of some templates reach beyond it. Each place has one key.
class Tuples {
public:
    Tuples(const std::vector<Source>& sources, const std::vector<Body>& bodies, int64_t expected);

    // Make the keys of sentences first … last − 1.
    void load(const int64_t* offsets, int64_t first, int64_t last);

    size_t num_places(size_t body) const { return keys_[body].size(); }
    const uint64_t* keys(size_t body) const { return keys_[body].data(); }

    // Where a body has its key for the first token of a sentence whose first macro is at this row, given how many tokens
    // and sentences of the run come before it; the keys of the other tokens follow.
    size_t place(size_t body, int row, int64_t tokens, int64_t sentences) const {
        return size_t(tokens + sentences * bodies_[body].reach() + row - bodies_[body].first_row);
    }

    // The codes of the macros that a key was packed from.
    void unpack(size_t b, uint64_t key, uint32_t* codes) const {
        const Body& body = bodies_[b];
        if (body.folds()) return unpack_folded(b, key, codes);
        for (const Body::Field& field : body.fields) *codes++ = uint32_t((key >> field.shift) & field.mask);
    }

private:
    struct Fold {
        KeyTable table;
        std::vector<uint64_t> keys;
    };
    const std::vector<Source>& sources_;
    const std::vector<Body>& bodies_;
    std::vector<std::vector<uint32_t>> codes_;  // by source: padding, sentence, padding
    std::vector<std::vector<uint64_t>> keys_;   // by body, by place
    std::vector<std::vector<Fold>> folds_;      // by body

    void unpack_folded(size_t body, uint64_t key, uint32_t* codes) const;
    void load_codes(int64_t first, int64_t length);
    void pack(size_t body, int64_t count, uint64_t* keys);
};

}  // namespace tagline
