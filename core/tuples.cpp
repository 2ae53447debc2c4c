#include "tuples.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tagline {

namespace {

constexpr int kKeyBits = 63;  // so that kAbsent is no key
constexpr int kFoldBits = 32;

// 0xFF for the first n of 16 bytes, at kMasks + 16 − n.
constexpr std::array<uint8_t, 32> make_masks() {
    std::array<uint8_t, 32> masks{};
    for (size_t k = 0; k < 16; ++k) masks[k] = 0xFF;
    return masks;
}

alignas(32) constexpr std::array<uint8_t, 32> kMasks = make_masks();

// Whether `name` begins with `piece`, which is then taken off it. Pieces are short: 16 bytes of each are compared at once
// and those behind the piece masked, without a branch on its length. Both have 16 bytes to read from their start.
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

void Source::prepare() {
    size_t total = 0;
    for (const std::string_view text : texts) total += text.size();
    bytes.resize(total + kSlack);
    hashes.resize(texts.size());
    char* at = bytes.data();
    for (size_t code = 1; code < texts.size(); ++code) {
        hashes[code] = hash_piece(texts[code]);
        char* const end = std::copy(texts[code].begin(), texts[code].end(), at);
        texts[code] = {at, size_t(end - at)};
        at = end;
    }
}

void Skeleton::prepare(const std::vector<Source>& sources) {
    fields.clear();
    segments.assign(1, 0);
    bits = 0;
    for (size_t m = 0; m < macros.size(); ++m) {
        const int wide = sources[size_t(macros[m].source)].bits();
        if (bits + wide > kKeyBits) {
            segments.push_back(m);
            bits = kFoldBits;
        }
        fields.push_back({bits, (uint64_t{1} << wide) - 1});
        bits += wide;
    }
    hashes.clear();
    bytes.clear();
    for (const std::string& literal : literals) {
        hashes.push_back(hash_piece(literal));
        bytes.insert(bytes.end(), literal.begin(), literal.end());
    }
    bytes.insert(bytes.end(), kSlack, '\0');
    texts.clear();
    const char* at = bytes.data();
    for (const std::string& literal : literals) {
        texts.emplace_back(at, literal.size());
        at += literal.size();
    }
}

KeyTable::KeyTable(int bits, int64_t expected) {
    if (fits(bits, expected)) {
        direct_.reset(static_cast<uint32_t*>(std::calloc(size_t{1} << bits, sizeof(uint32_t))));
        if (!direct_) throw std::bad_alloc();
        return;
    }
    grow();
}

uint32_t& KeyTable::hashed(uint64_t key) {
    if (2 * (used_ + 1) > cells_.size()) grow();
    size_t k = place(key);
    while (cells_[k].value && cells_[k].key != key) k = k + 1 == cells_.size() ? 0 : k + 1;
    if (!cells_[k].value) {
        cells_[k].key = key;
        ++used_;  // the caller sets a value that is not 0
    }
    return cells_[k].value;
}

void KeyTable::grow() {
    std::vector<Cell> before = std::move(cells_);
    const size_t size = std::max<size_t>(1024, 4 * before.size());
    shift_ = 64 - std::countr_zero(size);
    cells_.assign(size, {0, 0});
    for (const Cell& cell : before) {
        if (!cell.value) continue;
        size_t k = place(cell.key);
        while (cells_[k].value) k = k + 1 == cells_.size() ? 0 : k + 1;
        cells_[k] = cell;
    }
}

Tuples::Tuples(const std::vector<Source>& sources, const std::vector<Skeleton>& skeletons, int64_t expected)
    : sources_(sources), skeletons_(skeletons), codes_(sources.size()), folds_(skeletons.size()) {
    for (size_t s = 0; s < skeletons.size(); ++s)
        for (size_t f = 0; f < skeletons[s].folds(); ++f) folds_[s].push_back({KeyTable(64, expected), {}});
}

void Tuples::load(const int64_t* bounds, int64_t first, int64_t last, bool after_first) {
    length_ = bounds[last] - bounds[first];
    keys_.resize(skeletons_.size() * size_t(length_));
    for (int64_t b = first; b < last; ++b) {
        const int64_t length = bounds[b + 1] - bounds[b];
        if (!length) continue;
        load_codes(bounds[b], length);
        uint64_t* keys = keys_.data() + (bounds[b] - bounds[first]);
        for (size_t s = 0; s < skeletons_.size(); ++s, keys += length_) {
            pack(s, length, keys);
            if (after_first) keys[0] = kAbsent;
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
            for (int64_t i = 0; i < length; ++i) at[i] = uint32_t(ids[i] + 1);
        else
            for (int64_t i = 0; i < length; ++i) at[i] = source.codes[size_t(ids[i])];
        for (int k = 1; k <= source.after; ++k) at[length + k - 1] = source.padding_after(k);
    }
}

void Tuples::pack(size_t s, int64_t length, uint64_t* keys) {
    const Skeleton& skeleton = skeletons_[s];
    if (skeleton.fields.empty()) std::fill(keys, keys + length, 0);
    for (size_t segment = 0; segment < skeleton.segments.size(); ++segment) {
        if (segment) {
            Fold& fold = folds_[s][segment - 1];
            for (int64_t i = 0; i < length; ++i) {
                uint32_t& number = fold.table.at(keys[i]);
                if (!number) {
                    fold.keys.push_back(keys[i]);
                    if (fold.keys.size() >= ~uint32_t{0}) throw TooManyNames(kMostNames);
                    number = uint32_t(fold.keys.size());
                }
                keys[i] = number;
            }
        }
        for (size_t f = skeleton.segments[segment]; f < skeleton.segment_end(segment); ++f) {
            const Skeleton::Field& field = skeleton.fields[f];
            const Macro macro = skeleton.macros[f];
            const Source& source = sources_[size_t(macro.source)];
            const uint32_t* codes = &codes_[size_t(macro.source)][size_t(source.before + macro.row)];
            if (!f)
                for (int64_t i = 0; i < length; ++i) keys[i] = codes[i];
            else
                for (int64_t i = 0; i < length; ++i) keys[i] |= uint64_t(codes[i]) << field.shift;
        }
    }
    for (const Macro macro : skeleton.macros) {
        const Source& source = sources_[size_t(macro.source)];
        if (!source.gaps) continue;
        const uint32_t* codes = &codes_[size_t(macro.source)][size_t(source.before + macro.row)];
        for (int64_t i = 0; i < length; ++i)
            if (!codes[i]) keys[i] = kAbsent;
    }
}

void Tuples::unpack_folded(size_t s, uint64_t key, uint32_t* codes) const {
    const Skeleton& skeleton = skeletons_[s];
    for (size_t segment = skeleton.segments.size(); segment-- > 0;) {
        for (size_t f = skeleton.segments[segment]; f < skeleton.segment_end(segment); ++f)
            codes[f] = uint32_t((key >> skeleton.fields[f].shift) & skeleton.fields[f].mask);
        if (segment) key = folds_[s][segment - 1].keys[uint32_t(key) - 1];
    }
}

void Tuples::pieces(size_t s, const uint32_t* codes, std::vector<std::string_view>& out) const {
    const Skeleton& skeleton = skeletons_[s];
    out.assign(1, skeleton.literals[0]);
    for (size_t m = 0; m < skeleton.macros.size(); ++m) {
        out.push_back(sources_[size_t(skeleton.macros[m].source)].texts[codes[m]]);
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
    if (!take(name, skeleton.texts[0])) return false;
    for (size_t m = 0; m < skeleton.macros.size(); ++m)
        if (!take(name, sources_[size_t(skeleton.macros[m].source)].texts[codes[m]]) ||
            !take(name, skeleton.texts[m + 1]))
            return false;
    return name.empty();
}

}  // namespace tagline
