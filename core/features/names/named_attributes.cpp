#include "features/names/named_attributes.h"

#include <algorithm>

namespace tagline {

void NamedAttributes::add(std::span<const std::string_view> name, double value) {
    const uint32_t first = uint32_t(pieces.size());
    uint64_t hash = hash_piece(name[0]).value;
    for (const std::string_view piece : name.subspan(1)) hash = append(hash, hash_piece(piece));
    pieces.insert(pieces.end(), name.begin(), name.end());
    attributes.push_back({finish_hash(hash), first, uint32_t(pieces.size()), value});
}

void NamedAttributes::sort_from(size_t first) {
    const auto last_piece = [&](const Attribute& attribute) { return pieces[attribute.last - 1]; };
    std::sort(attributes.begin() + int64_t(first), attributes.end(),
              [&](const Attribute& a, const Attribute& b) { return last_piece(a) < last_piece(b); });
}

}  // namespace tagline
