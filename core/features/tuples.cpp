#include "features/tuples.h"

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

std::vector<char> prepare_pieces(std::span<Piece> pieces) {
    size_t total = 0;
    for (const Piece& piece : pieces) total += piece.text.size();
    std::vector<char> bytes(total + kSlack);
    char* at = bytes.data();
    for (Piece& piece : pieces) {
        char* const end = std::copy(piece.text.begin(), piece.text.end(), at);
        piece = {hash_piece(piece.text), {at, size_t(end - at)}};
        at = end;
    }
    return bytes;
}

void Body::prepare(const std::vector<Source>& sources) {
    segments.assign(1, 0);
    for (size_t m = 0; m < macros.size(); ++m) {
        const int wide = sources[size_t(macros[m].source)].bits();
        if (bits + wide > kKeyBits) {
            segments.push_back(m);
            bits = kFoldBits;
        }
        fields.push_back({bits, (uint64_t{1} << wide) - 1});
        bits += wide;
    }
    for (const std::string& literal : literals) pieces.push_back({{}, literal});
    bytes = prepare_pieces(pieces);
}

std::vector<Body> make_bodies(const std::vector<Source>& sources, std::vector<Skeleton>& skeletons) {
    std::vector<Body> bodies;
    for (size_t s = 0; s < skeletons.size(); ++s) {
        Skeleton& skeleton = skeletons[s];
        skeleton.prefix.text = skeleton.literals[0];
        skeleton.bytes = prepare_pieces({&skeleton.prefix, 1});
        skeleton.row = skeleton.macros.empty() ? 0 : skeleton.macros[0].row;
        Body body;
        for (const Macro macro : skeleton.macros) body.macros.push_back({macro.source, macro.row - skeleton.row});
        body.literals.assign(skeleton.literals.begin() + 1, skeleton.literals.end());
        skeleton.body = size_t(std::find_if(bodies.begin(), bodies.end(),
                                            [&](const Body& other) {
                                                return other.macros == body.macros && other.literals == body.literals;
                                            }) -
                               bodies.begin());
        if (skeleton.body == bodies.size()) {
            body.first_row = body.last_row = skeleton.row;
            bodies.push_back(std::move(body));
        }
        Body& own = bodies[skeleton.body];
        own.skeletons.push_back(s);
        own.first_row = std::min(own.first_row, skeleton.row);
        own.last_row = std::max(own.last_row, skeleton.row);
    }
    for (Body& body : bodies) body.prepare(sources);
    return bodies;
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

void Tuples::load(const int64_t* bounds, int64_t first, int64_t last) {
    for (size_t b = 0; b < bodies_.size(); ++b)
        keys_[b].resize(size_t(bounds[last] - bounds[first] + (last - first) * bodies_[b].reach()));
    for (int64_t k = first; k < last; ++k) {
        load_codes(bounds[k], bounds[k + 1] - bounds[k]);
        for (size_t b = 0; b < bodies_.size(); ++b) {
            const int64_t reach = bodies_[b].reach(), place = bounds[k] - bounds[first] + (k - first) * reach;
            pack(b, bounds[k + 1] - bounds[k] + reach, keys_[b].data() + place);
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
