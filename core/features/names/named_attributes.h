// Attributes that come as names and values, token by token, become rows of numbers. bindings/features/items.cpp reads the names
// from Python objects into NamedAttributes; NumberedRows (numbered_rows.h) gives them numbers.
#pragma once

#include "features/names/vocabulary.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tagline {

// The attributes of one token. A name is given in pieces, so that "key:value" is never put together: `path` is the name
// so far.
class NamedAttributes {
public:
    struct Piece {
        std::string_view text;
        uint64_t hash;  // of the name up to here, unfinished
    };

    struct Attribute {
        uint64_t hash;          // finished, of the whole name
        uint32_t first, last;   // its pieces
        double value;
    };

    void clear() {
        attributes.clear();
        pieces.clear();
        path.clear();
    }

    void push(std::string_view text) {
        const PieceHash hash = hash_piece(text);
        path.push_back({text, path.empty() ? hash.value : append(path.back().hash, hash)});
    }

    // Add the attribute that `path` names.
    void add(double value);

    // Add the one that `path` and this text behind it name. Pushed onto `path` and read from there, two halves would have
    // to come together in the cache first.
    void add(std::string_view last, double value);

    std::span<const std::string_view> name(const Attribute& attribute) const {
        return {pieces.data() + attribute.first, attribute.last - attribute.first};
    }

    // Bring the attributes from this one on, which differ in their last piece only, into the order of their names: a
    // set has no order of its own, and the same input gives the same numbers on every run.
    void sort_from(size_t first);

    std::vector<Piece> path;
    std::vector<Attribute> attributes;
    std::vector<std::string_view> pieces;
};

}  // namespace tagline
