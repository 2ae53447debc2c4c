// How attributes are spelled: the hash of a template's string at a token, and whether a name is that string, from the
// codes of the words under its macros. No string is built for either.
#pragma once

#include "features/expansion/templates.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tagline {

class Spelling {
public:
    Spelling(const std::vector<Source>& sources, const std::vector<Skeleton>& skeletons,
             const std::vector<Body>& bodies)
        : sources_(sources), skeletons_(skeletons), bodies_(bodies) {}

    // The hash (not finished) of a body with these codes, and of a template's attribute that has it.
    PieceHash hash(size_t b, const uint32_t* codes) const {
        const Body& body = bodies_[b];
        uint64_t value = 0;
        size_t length = 0;
        for (size_t m = 0; m < body.macros.size(); ++m) {
            const Piece &word = piece(body, m, codes), &literal = body.pieces[m];
            value = m ? append(value, word.hash) : word.hash.value;
            if (!literal.text.empty()) value = append(value, literal.hash);
            length += word.text.size() + literal.text.size();
        }
        return {value, power_of(length)};
    }
    uint64_t hash(size_t skeleton, const PieceHash& body) const {
        return append(skeletons_[skeleton].prefix.hash.value, body);
    }

    // Bring what `hash` of a body reads into the cache.
    void prefetch(size_t b, const uint32_t* codes) const {
        for (size_t m = 0; m < bodies_[b].macros.size(); ++m) __builtin_prefetch(&piece(bodies_[b], m, codes));
    }

    // The pieces of the attribute with these codes.
    void pieces(size_t skeleton, const uint32_t* codes, std::vector<std::string_view>& out) const;

    // Whether that attribute is this name, which lies in memory that ends at `end`.
    bool is(size_t skeleton, const uint32_t* codes, std::string_view name, const char* end) const;

private:
    const std::vector<Source>& sources_;
    const std::vector<Skeleton>& skeletons_;
    const std::vector<Body>& bodies_;

    const Piece& piece(const Body& body, size_t macro, const uint32_t* codes) const {
        return sources_[size_t(body.macros[macro].source)].pieces[codes[macro]];
    }
};

}  // namespace tagline
