#include "items.h"

#include <algorithm>

namespace tagline {

void Item::add(std::span<const std::string_view> name, float value) {
    const uint32_t first = uint32_t(pieces.size());
    uint64_t hash = 0;
    for (const std::string_view piece : name) {
        hash = append(hash, hash_piece(piece));
        pieces.push_back(piece);
    }
    attributes.push_back({finish_hash(hash), first, uint32_t(pieces.size()), value});
}

void Item::sort_from(size_t first) {
    const auto last_piece = [&](const Attribute& attribute) { return pieces[attribute.last - 1]; };
    std::sort(attributes.begin() + int64_t(first), attributes.end(),
              [&](const Attribute& a, const Attribute& b) { return last_piece(a) < last_piece(b); });
}

int32_t ItemRows::number(const Item& item, const Item::Attribute& attribute) {
    if (hash_bits_) return int32_t(attribute.hash >> (64 - hash_bits_));
    if (known_) return known_->find(attribute.hash, item.name(attribute));
    return names_->intern(attribute.hash, item.name(attribute));
}

void ItemRows::add(const Item& item) {
    // All places of a token's names are on their way from memory before the first is looked at.
    if (known_)
        for (const Item::Attribute& attribute : item.attributes) known_->prefetch(attribute.hash);
    for (const Item::Attribute& attribute : item.attributes) {
        const int32_t id = number(item, attribute);
        if (id < 0) continue;
        if (attribute.value != 1 && values.empty()) values.assign(ids.size(), 1);
        ids.push_back(id);
        if (attribute.value != 1 || !values.empty()) values.push_back(attribute.value);
    }
    offsets.push_back(int64_t(ids.size()));
}

}  // namespace tagline
