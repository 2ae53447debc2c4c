// The vocabulary: names and their numbers. A name's hash composes over its pieces, so that the hash of an expanded
// template comes from those of its words and no string is built; every hit is compared with the stored bytes.
//
//     H(s) = Σ (s[i] + 1) · base^(|s| − 1 − i)  mod 2^61 − 1,      H(ab) = H(a) · base^|b| + H(b)
//
// The index is an open-addressed table of groups of eight places: `marks` holds 16 bits of the hash (0: free), `slots`
// the number of the name plus one. A name lies in the first group with a free place, counted from its home. Model files
// hold these arrays: base, finish, mark and home are part of the format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tagline {

// --- hashes -----------------------------------------------------------------------------------------------------

constexpr uint64_t kHashPrime = (uint64_t{1} << 61) - 1;
constexpr uint64_t kHashBase = 0x137F8DE3C6A24B95ull;  // below the prime; drawn once

// x mod 2^61 − 1 of a number below 2^125.
inline uint64_t reduce(unsigned __int128 x) {
    const uint64_t sum = (uint64_t(x) & kHashPrime) + (uint64_t(x >> 61) & kHashPrime) + uint64_t(x >> 122);
    const uint64_t folded = (sum & kHashPrime) + (sum >> 61);
    return folded >= kHashPrime ? folded - kHashPrime : folded;
}

inline uint64_t hash_multiply(uint64_t a, uint64_t b) { return reduce((unsigned __int128)a * b); }

// H of a piece of text, and base^length to append it by.
struct PieceHash {
    uint64_t value = 0, power = 1;
};

PieceHash hash_piece(std::string_view text);

// base^length.
uint64_t power_of(size_t length);

// H of the text so far with one more piece at its end. The sum is below (prime − 1) · prime: one fold will do.
inline uint64_t append(uint64_t value, const PieceHash& piece) {
    const unsigned __int128 sum = (unsigned __int128)value * piece.power + piece.value;
    const uint64_t folded = (uint64_t(sum) & kHashPrime) + uint64_t(sum >> 61);
    return folded >= kHashPrime ? folded - kHashPrime : folded;
}

// All 64 bits made useful: what finds a place in a table, and what feature hashing numbers by.
inline uint64_t finish_hash(uint64_t value) {
    value *= 0x9E3779B97F4A7C15ull;
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93ull;
    return value ^ value >> 32;
}

inline uint64_t hash_name(std::string_view name) { return finish_hash(hash_piece(name).value); }

// --- the index --------------------------------------------------------------------------------------------------

constexpr int kGroupPlaces = 8;
constexpr int64_t kMostNames = 2'147'483'646;  // ids are int32

inline uint16_t mark_of(uint64_t hash) { return uint16_t(hash) ? uint16_t(hash) : uint16_t(1); }

inline uint64_t home_of(uint64_t hash, uint64_t groups) {
    return uint64_t(((unsigned __int128)hash * groups) >> 64);
}

// As many groups as make so many names fill at most 70 % of the places, with one place free.
uint64_t groups_for(int64_t names);

// Where there are more names than int32 can number.
struct TooManyNames : std::overflow_error {
    explicit TooManyNames(int64_t most);
};

// --- looking up -------------------------------------------------------------------------------------------------

// A name that may be known: the k-th of many, and the first place on its way that has its mark.
struct Likely {
    uint32_t k;
    int32_t id;
    uint64_t place;
};

// A finished vocabulary that someone else holds; the arrays must have passed `check_vocabulary` or come from `Names`.
struct VocabularyView {
    const char* bytes = nullptr;       // [S]
    const int64_t* offsets = nullptr;  // [V + 1]
    const uint32_t* slots = nullptr;   // [8 · groups]
    const uint16_t* marks = nullptr;   // [8 · groups]
    int64_t size = 0;                  // V
    uint64_t groups = 0;

    std::string_view name(int64_t id) const {
        return {bytes + offsets[id], size_t(offsets[id + 1] - offsets[id])};
    }

    // The number of a name given in pieces, with the finished hash of the whole; −1 where it is not known.
    int32_t find(uint64_t hash, std::span<const std::string_view> pieces) const;

    int32_t find(std::string_view name) const { return find(hash_name(name), {&name, 1}); }

    // `find` in steps, for a few names at once: bring the home of a finished hash into the cache; take a candidate with
    // its mark (−1: surely unknown); bring its offset, then its bytes; compare with its name. Where that differs, which
    // is rare, `find` decides.
    void prefetch(uint64_t hash) const {
        prefetch_marks(hash);
        __builtin_prefetch(slots + home_of(hash, groups) * kGroupPlaces);
    }
    int32_t candidate(uint64_t hash) const;
    void prefetch_offset(int32_t id) const { __builtin_prefetch(offsets + id); }
    void prefetch_bytes(int32_t id) const { __builtin_prefetch(bytes + offsets[id]); }

    // `find` for many names, after `prefetch_marks` of each; same(k, name) says whether the k-th is this one.
    template <class Same>
    void find_many(std::span<const uint64_t> hashes, std::vector<Likely>& scratch, int32_t* ids,
                   const Same& same) const;
    void prefetch_marks(uint64_t hash) const { __builtin_prefetch(marks + home_of(hash, groups) * kGroupPlaces); }

    // The number of the name with this finished hash of which same(name) is true.
    int32_t find(uint64_t hash, const std::function<bool(std::string_view)>& same) const;

private:
    static constexpr size_t kAhead = 16;  // names that are waited for together

    size_t likely(std::span<const uint64_t> hashes, std::vector<Likely>& out) const;  // returns how many
};

// From its mark to its number, to its offset, to its bytes a name waits for memory three times; meanwhile others take
// their steps. One step of all names after the other takes a third longer: so many prefetches at once come late.
template <class Same>
void VocabularyView::find_many(std::span<const uint64_t> hashes, std::vector<Likely>& scratch, int32_t* ids,
                               const Same& same) const {
    std::fill_n(ids, hashes.size(), -1);
    const size_t count = likely(hashes, scratch);
    for (size_t i = 0; i < count + 3 * kAhead; ++i) {
        if (i < count) __builtin_prefetch(slots + scratch[i].place);
        if (const size_t at = i - kAhead; at < count) {
            scratch[at].id = int32_t(slots[scratch[at].place] - 1);
            __builtin_prefetch(offsets + scratch[at].id);
        }
        if (const size_t at = i - 2 * kAhead; at < count) {
            const char* begin = bytes + offsets[scratch[at].id];
            __builtin_prefetch(begin);
            __builtin_prefetch(begin + 32);  // most end before that
        }
        if (const size_t at = i - 3 * kAhead; at < count) {
            const auto [k, id, place] = scratch[at];
            const bool right = same(k, name(id));  // all but always
            ids[k] = right ? id : find(hashes[k], [&, k = k](std::string_view name) { return same(k, name); });
        }
    }
}

// What is wrong with arrays read from a file; null where nothing is. Checked: offsets rise from 0 to the number of
// bytes, every name is UTF-8, every slot is in range, every name is found at its own number.
const char* check_vocabulary(const VocabularyView& view, int64_t bytes);

// --- building ---------------------------------------------------------------------------------------------------

// The arrays of a finished vocabulary.
struct VocabularyArrays {
    std::vector<char> bytes;
    std::vector<int64_t> offsets{0};
    std::vector<uint32_t> slots;
    std::vector<uint16_t> marks;

    VocabularyView view() const {
        return {bytes.data(), offsets.data(), slots.data(), marks.data(), int64_t(offsets.size()) - 1,
                marks.size() / kGroupPlaces};
    }
};

// The index of names whose finished hashes are given by number.
void build_index(std::span<const uint64_t> hashes, std::vector<uint32_t>& slots, std::vector<uint16_t>& marks);

// A vocabulary that grows: names get numbers in the order of their first use.
class Names {
public:
    explicit Names(int64_t most = kMostNames) : most_(most) { grow(); }

    // Begin with the names of a vocabulary, under the same numbers.
    explicit Names(const VocabularyView& view, int64_t most = kMostNames);

    int32_t intern(uint64_t hash, std::span<const std::string_view> pieces);
    int32_t intern(std::string_view name) { return intern(hash_name(name), {&name, 1}); }

    // −1 where it is not known.
    int32_t find(std::string_view name) const { return view().find(name); }

    int64_t size() const { return int64_t(hashes_.size()); }

    std::string_view name(int64_t id) const { return view().name(id); }

    // Hand the arrays over, with an index of the size that `groups_for` says; the names are gone from here.
    VocabularyArrays finish();

private:
    VocabularyArrays arrays_;
    std::vector<uint64_t> hashes_;
    uint64_t groups_ = 0;
    int64_t most_ = kMostNames;

    VocabularyView view() const { return arrays_.view(); }
    void grow();
};

// The names with these numbers, renumbered in the order given; numbers must be in range and differ.
VocabularyArrays take_names(const VocabularyView& view, std::span<const int64_t> ids);

}  // namespace tagline
