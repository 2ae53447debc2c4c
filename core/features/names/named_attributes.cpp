#include "features/names/named_attributes.h"

#include <algorithm>

namespace tagline {

void NamedAttributes::add(double value) {
    const uint32_t first = uint32_t(pieces.size());
    for (const Piece& piece : path) pieces.push_back(piece.text);
    attributes.push_back({finish_hash(path.back().hash), first, uint32_t(pieces.size()), value});
}

void NamedAttributes::add(std::string_view last, double value) {
    const uint32_t first = uint32_t(pieces.size());
    for (const Piece& piece : path) pieces.push_back(piece.text);
    pieces.push_back(last);
    const PieceHash hash = hash_piece(last);
    const uint64_t whole = path.empty() ? hash.value : append(path.back().hash, hash);
    attributes.push_back({finish_hash(whole), first, uint32_t(pieces.size()), value});
}

void NamedAttributes::sort_from(size_t first) {
    const auto last_piece = [&](const Attribute& attribute) { return pieces[attribute.last - 1]; };
    std::sort(attributes.begin() + int64_t(first), attributes.end(),
              [&](const Attribute& a, const Attribute& b) { return last_piece(a) < last_piece(b); });
}

}  // namespace tagline
