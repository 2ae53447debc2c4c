#include "features/expansion/tuples.h"

#include <algorithm>

namespace tagline {

Tuples::Tuples(const std::vector<Source>& sources, const std::vector<Body>& bodies, int64_t expected)
    : sources_(sources),
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

}  // namespace tagline
