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

int32_t NumberedRows::number(const NamedAttributes& token, const NamedAttributes::Attribute& attribute) {
    if (hash_bits_) return int32_t(attribute.hash & ((uint64_t{1} << hash_bits_) - 1));
    if (known_) return known_->find(attribute.hash, token.name(attribute));
    return names_->intern(attribute.hash, token.name(attribute));
}

// A look-up goes from the index to the number, to the place of the name, to its bytes, and each is likely to wait for
// memory; so all names of a token take each step together, before the first is looked at.
void NumberedRows::fetch(const NamedAttributes& token) {
    const VocabularyView& view = *known_;
    likely_.resize(token.attributes.size());
    for (const NamedAttributes::Attribute& attribute : token.attributes) {
        const uint64_t place = home_of(attribute.hash, view.groups) * kGroupPlaces;
        __builtin_prefetch(view.marks + place);
        __builtin_prefetch(view.slots + place);
    }
    for (size_t k = 0; k < likely_.size(); ++k) {
        const uint64_t hash = token.attributes[k].hash;
        const uint64_t place = home_of(hash, view.groups) * kGroupPlaces;
        uint32_t slot = 0;
        for (int other = kGroupPlaces - 1; other >= 0; --other)
            if (view.marks[place + uint64_t(other)] == mark_of(hash)) slot = view.slots[place + uint64_t(other)];
        likely_[k] = slot;
        if (slot) __builtin_prefetch(view.offsets + slot - 1);
    }
    for (const uint32_t slot : likely_)
        if (slot) __builtin_prefetch(view.bytes + view.offsets[slot - 1]);
}

void NumberedRows::add(const NamedAttributes& token) {
    if (known_) fetch(token);
    for (const NamedAttributes::Attribute& attribute : token.attributes) {
        const int32_t id = number(token, attribute);
        if (id < 0) continue;
        if (attribute.value != 1 && values.empty()) values.assign(ids.size(), 1);
        ids.push_back(id);
        if (attribute.value != 1 || !values.empty()) values.push_back(float(attribute.value));
    }
    offsets.push_back(int64_t(ids.size()));
}

}  // namespace tagline
