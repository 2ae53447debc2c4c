// Attributes that come as names and values, token by token, become rows of numbers. bindings/features/items.cpp reads the names
// from Python objects into NamedAttributes; NumberedRows gives them numbers.
#pragma once

#include "features/names/vocabulary.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tagline {

// The attributes of one token. A name is given in pieces, so that "key:value" is never put together.
class NamedAttributes {
public:
    struct Attribute {
        uint64_t hash;          // finished, of the whole name
        uint32_t first, last;   // its pieces
        double value;
    };

    void clear() {
        attributes.clear();
        pieces.clear();
    }

    void add(std::span<const std::string_view> name, double value);

    std::span<const std::string_view> name(const Attribute& attribute) const {
        return {pieces.data() + attribute.first, attribute.last - attribute.first};
    }

    // Bring the attributes from this one on, which differ in their last piece only, into the order of their names: a
    // set has no order of its own, and the same input gives the same numbers on every run.
    void sort_from(size_t first);

    std::vector<Attribute> attributes;
    std::vector<std::string_view> pieces;
};

// Rows of numbers, one a token. Names are looked up in a finished vocabulary (unknown ones are left out), or numbered
// in the order of their first use, or hashed to 2^bits numbers.
class NumberedRows {
public:
    NumberedRows() : names_(std::in_place) {}
    explicit NumberedRows(const VocabularyView& known) : known_(known) {}
    explicit NumberedRows(int hash_bits) : hash_bits_(hash_bits) {}

    void add(const NamedAttributes& token);

    std::vector<int64_t> offsets{0};  // [N + 1]
    std::vector<int32_t> ids;         // [M]
    std::vector<float> values;        // [M], or empty where all of them are 1

    bool builds() const { return names_.has_value(); }
    VocabularyArrays finish() { return names_->finish(); }

private:
    std::optional<Names> names_;
    std::optional<VocabularyView> known_;
    int hash_bits_ = 0;
    std::vector<uint32_t> likely_;  // a number plus one, or 0, for each attribute of a token

    void fetch(const NamedAttributes& token);
    int32_t number(const NamedAttributes& token, const NamedAttributes::Attribute& attribute);
};

}  // namespace tagline
