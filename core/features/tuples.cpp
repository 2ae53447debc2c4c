#include "features/tuples.h"

#include <algorithm>
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

Tuples::Tuples(const std::vector<Source>& sources, const std::vector<Skeleton>& skeletons,
               const std::vector<Body>& bodies, int64_t expected)
    : sources_(sources),
      skeletons_(skeletons),
      bodies_(bodies),
      codes_(sources.size()),
      keys_(bodies.size()),
      folds_(bodies.size()) {
    for (size_t b = 0; b < bodies.size(); ++b)
        for (size_t f = 0; f < bodies[b].folds(); ++f) folds_[b].push_back({KeyTable(64, expected), {}});
}

void Tuples::load(const int64_t* offsets, int64_t first, int64_t last) {
    for (size_t b = 0; b < bodies_.size(); ++b)
        keys_[b].resize(size_t(offsets[last] - offsets[first] + (last - first) * bodies_[b].reach()));
    for (int64_t k = first; k < last; ++k) {
        load_codes(offsets[k], offsets[k + 1] - offsets[k]);
        for (size_t b = 0; b < bodies_.size(); ++b) {
            const int64_t reach = bodies_[b].reach(), place = offsets[k] - offsets[first] + (k - first) * reach;
            pack(b, offsets[k + 1] - offsets[k] + reach, keys_[b].data() + place);
        }
    }
}

void Tuples::load_codes(int64_t first, int64_t length) {
    for (size_t s = 0; s < sources_.size(); ++s) {
        const Source& source = sources_[s];
        std::vector<uint32_t>& codes = codes_[s];
        codes.resize(size_t(source.before + length + source.after));
        uint32_t* at = codes.data();
        for (int k = source.before; k >= 1; --k) *at++ = source.padding_before(k);
        const int32_t* ids = source.ids + first;
        if (source.codes.empty())
            for (int64_t i = 0; i < length; ++i) at[i] = uint32_t(ids[i]) + source.first_word();
        else
            for (int64_t i = 0; i < length; ++i) at[i] = source.codes[size_t(ids[i])];
        for (int k = 1; k <= source.after; ++k) at[length + k - 1] = source.padding_after(k);
    }
}

void Tuples::pack(size_t b, int64_t count, uint64_t* keys) {
    const Body& body = bodies_[b];
    if (body.fields.empty()) std::fill(keys, keys + count, 0);
    const auto codes_of = [&](const Macro macro) {  // at the first place
        return codes_[size_t(macro.source)].data() + sources_[size_t(macro.source)].before + body.first_row + macro.row;
    };
    for (size_t segment = 0; segment < body.segments.size(); ++segment) {
        if (segment) {
            Fold& fold = folds_[b][segment - 1];
            for (int64_t i = 0; i < count; ++i) {
                uint32_t& number = fold.table.at(keys[i]);
                if (!number) {
                    fold.keys.push_back(keys[i]);
                    if (fold.keys.size() >= ~uint32_t{0}) throw TooManyNames(kMostNames);
                    number = uint32_t(fold.keys.size());
                }
                keys[i] = number;
            }
        }
        for (size_t f = body.segments[segment]; f < body.segment_end(segment); ++f) {
            const int shift = body.fields[f].shift;
            const uint32_t* codes = codes_of(body.macros[f]);
            if (!f)
                for (int64_t i = 0; i < count; ++i) keys[i] = codes[i];
            else
                for (int64_t i = 0; i < count; ++i) keys[i] |= uint64_t(codes[i]) << shift;
        }
    }
    for (const Macro macro : body.macros) {
        if (!sources_[size_t(macro.source)].gaps) continue;
        const uint32_t* codes = codes_of(macro);
        for (int64_t i = 0; i < count; ++i)
            if (!codes[i]) keys[i] = kAbsent;
    }
}

void Tuples::unpack_folded(size_t b, uint64_t key, uint32_t* codes) const {
    const Body& body = bodies_[b];
    for (size_t segment = body.segments.size(); segment-- > 0;) {
        for (size_t f = body.segments[segment]; f < body.segment_end(segment); ++f)
            codes[f] = uint32_t((key >> body.fields[f].shift) & body.fields[f].mask);
        if (segment) key = folds_[b][segment - 1].keys[uint32_t(key) - 1];
    }
}

void Tuples::pieces(size_t s, const uint32_t* codes, std::vector<std::string_view>& out) const {
    const Skeleton& skeleton = skeletons_[s];
    out.assign(1, skeleton.literals[0]);
    for (size_t m = 0; m < skeleton.macros.size(); ++m) {
        out.push_back(sources_[size_t(skeleton.macros[m].source)].pieces[codes[m]].text);
        out.push_back(skeleton.literals[m + 1]);
    }
}

bool Tuples::is(size_t s, const uint32_t* codes, std::string_view name, const char* end) const {
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
