#include "features/expansion/spelling.h"

#include <array>
#include <cstring>

namespace tagline {

namespace {

// 0xFF for the first n of 16 bytes, at kMasks + 16 − n.
constexpr std::array<uint8_t, 32> make_masks() {
    std::array<uint8_t, 32> masks{};
    for (size_t k = 0; k < 16; ++k) masks[k] = 0xFF;
    return masks;
}

alignas(32) constexpr std::array<uint8_t, 32> kMasks = make_masks();

// Whether `name` begins with `piece`, which is then taken off it. Pieces are short: 16 bytes of each are compared at
// once and those behind the piece masked, without a branch on its length. Both have 16 bytes to read from their start.
inline bool take(std::string_view& name, std::string_view piece) {
    const size_t n = piece.size();
    if (n > name.size()) return false;
    if (n > 16) {
        if (std::memcmp(name.data(), piece.data(), n) != 0) return false;
    } else {
        uint64_t a[2], b[2], mask[2];
        std::memcpy(a, name.data(), 16);
        std::memcpy(b, piece.data(), 16);
        std::memcpy(mask, kMasks.data() + 16 - n, 16);
        if (((a[0] ^ b[0]) & mask[0]) | ((a[1] ^ b[1]) & mask[1])) return false;
    }
    name.remove_prefix(n);
    return true;
}

}  // namespace

void Spelling::pieces(size_t s, const uint32_t* codes, std::vector<std::string_view>& out) const {
    const Skeleton& skeleton = skeletons_[s];
    out.assign(1, skeleton.literals[0]);
    for (size_t m = 0; m < skeleton.macros.size(); ++m) {
        out.push_back(sources_[size_t(skeleton.macros[m].source)].pieces[codes[m]].text);
        out.push_back(skeleton.literals[m + 1]);
    }
}

bool Spelling::is(size_t s, const uint32_t* codes, std::string_view name, const char* end) const {
    const Skeleton& skeleton = skeletons_[s];
    if (size_t(end - name.data()) < name.size() + kSlack) {  // the last names: no slack behind them
        std::vector<std::string_view> parts;
        pieces(s, codes, parts);
        for (const std::string_view piece : parts) {
            if (!name.starts_with(piece)) return false;
            name.remove_prefix(piece.size());
        }
        return name.empty();
    }
    if (!take(name, skeleton.prefix.text)) return false;
    const Body& body = bodies_[skeleton.body];
    for (size_t m = 0; m < body.macros.size(); ++m)
        if (!take(name, piece(body, m, codes).text) || !take(name, body.pieces[m].text)) return false;
    return name.empty();
}

}  // namespace tagline
