#include "features/names/vocabulary.h"

#include "runtime/compiler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace tagline {

namespace {

constexpr std::array<uint64_t, 257> make_powers() {
    std::array<uint64_t, 257> powers{};
    powers[0] = 1;
    for (size_t k = 1; k < powers.size(); ++k) {
        const unsigned __int128 product = (unsigned __int128)powers[k - 1] * kHashBase;
        powers[k] = uint64_t(product % kHashPrime);
    }
    return powers;
}

constexpr std::array<uint64_t, 257> kPowers = make_powers();

constexpr size_t kEight = 8;

// Σ base^k, k < n: what the ones of (s[i] + 1) add up to.
constexpr std::array<uint64_t, kEight + 1> make_ones() {
    std::array<uint64_t, kEight + 1> ones{};
    for (size_t k = 0; k < kEight; ++k) ones[k + 1] = (ones[k] + kPowers[k]) % kHashPrime;
    return ones;
}

constexpr std::array<uint64_t, kEight + 1> kOnes = make_ones();

// b · base^(7 − k) of byte b in place k of eight. Those of eight bytes add up to less than 2^64.
constexpr std::array<std::array<uint64_t, 256>, kEight> make_products() {
    std::array<std::array<uint64_t, 256>, kEight> products{};
    for (size_t k = 0; k < kEight; ++k)
        for (size_t byte = 1; byte < 256; ++byte)
            products[k][byte] = (products[k][byte - 1] + kPowers[kEight - 1 - k]) % kHashPrime;
    return products;
}

constexpr std::array<std::array<uint64_t, 256>, kEight> kProducts = make_products();

// The last bytes before `end`, one to eight of them, and zeros before those.
uint64_t last_bytes(const char* end, size_t size) {
    static_assert(std::endian::native == std::endian::little);
    if (size >= 4) {
        uint32_t first, last;
        std::memcpy(&first, end - size, 4);
        std::memcpy(&last, end - 4, 4);
        return uint64_t(last) << 32 | uint64_t(first) << (64 - 8 * size);
    }
    const auto byte = [&](size_t k) { return uint64_t(uint8_t(*(end - k))) << (64 - 8 * k); };
    return byte(1) | byte((size + 2) / 2) | byte(size);
}

// H of a text whose hash is `value`, with up to eight more bytes.
uint64_t append_eight(uint64_t value, uint64_t bytes, size_t size) {
    uint64_t sum = 0;
    for (size_t k = 0; k < kEight; ++k) sum += kProducts[k][uint8_t(bytes >> 8 * k)];
    return reduce((unsigned __int128)value * kPowers[size] + kOnes[size] + sum);
}

// The marks of a group, compared all at once.
class Group {
public:
    explicit Group(const uint16_t* marks) { std::memcpy(&marks_, marks, sizeof marks_); }

    // Bits for the places with this mark, which is 0 for free ones; `place` tells the first.
    uint64_t holding(uint16_t mark) const {
        const Marks equal = marks_ == (Marks{} + mark);  // 0xFFFF or 0
        uint64_t halves[2];
        std::memcpy(halves, &equal, sizeof halves);
        return (halves[0] & 0x0001000100010001ull) | (halves[1] & 0x0002000200020002ull);
    }

    static uint64_t place(uint64_t holding) {
        const auto bit = uint64_t(std::countr_zero(holding));
        return bit / 16 + bit % 16 * 4;
    }

private:
    typedef uint16_t Marks TAGLINE_VECTOR(2 * kGroupPlaces);
    Marks marks_;
};

bool same(const char* stored, size_t length, std::span<const std::string_view> pieces) {
    for (const std::string_view piece : pieces) {
        if (piece.empty()) continue;
        if (piece.size() > length || std::memcmp(stored, piece.data(), piece.size()) != 0) return false;
        stored += piece.size();
        length -= piece.size();
    }
    return length == 0;
}

// Call seen(place) for the places with this mark on the way from home to the first group with a free place, until it
// says true. Returns whether it did.
template <class Seen>
bool probe(const uint16_t* marks, uint64_t groups, uint64_t hash, const Seen& seen) {
    const uint16_t mark = mark_of(hash);
    for (uint64_t group = home_of(hash, groups);; group = group + 1 == groups ? 0 : group + 1) {
        const Group held(marks + group * kGroupPlaces);
        for (uint64_t hits = held.holding(mark); hits; hits &= hits - 1)
            if (seen(group * kGroupPlaces + Group::place(hits))) return true;
        if (held.holding(0)) return false;
    }
}

void put(uint32_t* slots, uint16_t* marks, uint64_t groups, uint64_t hash, uint32_t slot) {
    for (uint64_t group = home_of(hash, groups);; group = group + 1 == groups ? 0 : group + 1)
        for (uint64_t place = group * kGroupPlaces; place < (group + 1) * kGroupPlaces; ++place)
            if (!marks[place]) {
                marks[place] = mark_of(hash);
                slots[place] = slot;
                return;
            }
}

// Whether the bytes are UTF-8: no stray or missing continuation, no overlong form, no surrogate, none above U+10FFFF.
bool is_utf8(const uint8_t* at, const uint8_t* end) {
    const auto continues = [&](int k) { return end - at > k && (at[k] & 0xC0) == 0x80; };
    while (at < end) {
        if (end - at >= 8) {
            uint64_t eight;
            std::memcpy(&eight, at, 8);
            if (!(eight & 0x8080808080808080ull)) {
                at += 8;
                continue;
            }
        }
        const uint8_t first = *at;
        int length = 0;
        if (first < 0x80)
            length = 1;
        else if (first >= 0xC2 && first < 0xE0)
            length = continues(1) ? 2 : 0;
        else if (first >= 0xE0 && first < 0xF0) {
            if (continues(1) && continues(2) && !(first == 0xE0 && at[1] < 0xA0) && !(first == 0xED && at[1] > 0x9F))
                length = 3;
        } else if (first >= 0xF0 && first < 0xF5) {
            if (continues(1) && continues(2) && continues(3) && !(first == 0xF0 && at[1] < 0x90) &&
                !(first == 0xF4 && at[1] > 0x8F))
                length = 4;
        }
        if (!length) return false;
        at += length;
    }
    return true;
}

}  // namespace

uint64_t power_of(size_t length) {
    if (length < kPowers.size()) return kPowers[length];
    uint64_t power = kPowers[length % 256];
    uint64_t factor = kPowers[256];
    for (size_t n = length / 256; n; n >>= 1) {
        if (n & 1) power = hash_multiply(power, factor);
        factor = hash_multiply(factor, factor);
    }
    return power;
}

// Names are short and of any length: one branch for eight bytes, none for each of the last ones.
PieceHash hash_piece(std::string_view text) {
    PieceHash hash;
    const char* at = text.data();
    size_t left = text.size();
    for (; left >= kEight; at += kEight, left -= kEight) {
        uint64_t bytes;
        std::memcpy(&bytes, at, kEight);
        hash.value = append_eight(hash.value, bytes, kEight);
    }
    if (left) hash.value = append_eight(hash.value, last_bytes(at + left, left), left);
    hash.power = power_of(text.size());
    return hash;
}

uint64_t groups_for(int64_t names) { return uint64_t(names) * 10 / (7 * kGroupPlaces) + 1; }

TooManyNames::TooManyNames(int64_t most)
    : std::overflow_error("attributes: expected at most " + std::to_string(most) +
                          " distinct names, got more; raise the minimum frequency or hash the names") {}

int32_t VocabularyView::find(uint64_t hash, const std::function<bool(std::string_view)>& same) const {
    int32_t match = -1;
    probe(marks, groups, hash, [&](uint64_t place) {
        const int64_t id = int64_t(slots[place]) - 1;
        if (!same(name(id))) return false;
        match = int32_t(id);
        return true;
    });
    return match;
}

int32_t VocabularyView::find(uint64_t hash, std::span<const std::string_view> pieces) const {
    int32_t match = -1;
    probe(marks, groups, hash, [&](uint64_t place) {
        const int64_t id = int64_t(slots[place]) - 1;
        if (!same(bytes + offsets[id], size_t(offsets[id + 1] - offsets[id]), pieces)) return false;
        match = int32_t(id);
        return true;
    });
    return match;
}

int32_t VocabularyView::candidate(uint64_t hash) const {
    int32_t match = -1;
    probe(marks, groups, hash, [&](uint64_t place) {
        match = int32_t(slots[place] - 1);
        return true;
    });
    return match;
}

// Nobody can foresee which names are known: entries are written without a branch, and grow by those that count.
size_t VocabularyView::likely(std::span<const uint64_t> hashes, std::vector<Likely>& out) const {
    if (out.size() <= hashes.size()) out.resize(hashes.size() + 1);
    size_t count = 0;
    for (size_t k = 0; k < hashes.size(); ++k) {
        const uint64_t home = home_of(hashes[k], groups);
        const Group held(marks + home * kGroupPlaces);
        const uint64_t hits = held.holding(mark_of(hashes[k]));
        out[count] = {uint32_t(k), -1, home * kGroupPlaces + Group::place(hits)};
        bool seen = hits != 0;
        if (!(hits | held.holding(0)))
            seen = probe(marks, groups, hashes[k], [&](uint64_t place) {
                out[count].place = place;
                return true;
            });
        count += seen;
    }
    return count;
}

const char* check_vocabulary(const VocabularyView& view, int64_t bytes) {
    const int64_t V = view.size;
    if (V > kMostNames) return "offsets: expected names that int32 can number, got more";
    if (view.offsets[0] != 0 || view.offsets[V] != bytes) return "lengths: expected to add up to the bytes, got others";
    for (int64_t id = 0; id < V; ++id)
        if (view.offsets[id + 1] < view.offsets[id]) return "lengths: expected none below 0, got one";
    const auto* text = reinterpret_cast<const uint8_t*>(view.bytes);
    if (!is_utf8(text, text + bytes)) return "bytes: expected UTF-8, got something else";
    for (int64_t id = 0; id < V; ++id)  // whole characters, since the bytes as a whole are UTF-8
        if (view.offsets[id] < bytes && (text[view.offsets[id]] & 0xC0) == 0x80)
            return "lengths: expected names of whole characters, got one cut";
    if (!view.groups) return "slots: expected a multiple of 8 places, got none";
    int64_t taken = 0;
    for (uint64_t place = 0; place < view.groups * kGroupPlaces; ++place) {
        if (view.slots[place] > uint64_t(V)) return "slots: expected numbers of names, got one above";
        if (!view.slots[place] != !view.marks[place]) return "marks: expected one for each slot, got others";
        taken += view.slots[place] != 0;
    }
    // With as many taken places as names, and each name at a place of its own, there is nothing else in the index; the
    // free place that ends every search is there because the places outnumber the names.
    if (taken != V || uint64_t(V) >= view.groups * kGroupPlaces) return "slots: expected one for each name, got others";
    constexpr int64_t kAhead = 8;
    uint64_t hashes[kAhead];
    for (int64_t first = 0; first < V; first += kAhead) {
        const int64_t count = std::min(kAhead, V - first);
        for (int64_t k = 0; k < count; ++k) {
            hashes[k] = hash_name(view.name(first + k));
            view.prefetch(hashes[k]);
        }
        for (int64_t k = 0; k < count; ++k) {
            int64_t met = -1;
            const std::string_view name = view.name(first + k);
            probe(view.marks, view.groups, hashes[k], [&](uint64_t place) {
                const int64_t id = int64_t(view.slots[place]) - 1;
                if (id != first + k && view.name(id) != name) return false;
                met = id;
                return true;
            });
            if (met < 0) return "slots: expected every name in the index, got one missing";
            if (met != first + k) return "names: expected each once, got one twice";
        }
    }
    return nullptr;
}

void build_index(std::span<const uint64_t> hashes, std::vector<uint32_t>& slots, std::vector<uint16_t>& marks) {
    const uint64_t groups = groups_for(int64_t(hashes.size()));
    slots.assign(groups * kGroupPlaces, 0);
    marks.assign(groups * kGroupPlaces, 0);
    constexpr size_t kAhead = 16;
    for (size_t id = 0; id < hashes.size(); ++id) {
        if (id + kAhead < hashes.size()) {
            const uint64_t place = home_of(hashes[id + kAhead], groups) * kGroupPlaces;
            __builtin_prefetch(&marks[place], 1);
            __builtin_prefetch(&slots[place], 1);
        }
        put(slots.data(), marks.data(), groups, hashes[id], uint32_t(id + 1));
    }
}

Names::Names(const VocabularyView& view, int64_t most) : most_(most) {
    arrays_.bytes.assign(view.bytes, view.bytes + view.offsets[view.size]);
    arrays_.offsets.assign(view.offsets, view.offsets + view.size + 1);
    for (int64_t id = 0; id < view.size; ++id) hashes_.push_back(hash_name(view.name(id)));
    grow();
}

int32_t Names::intern(uint64_t hash, std::span<const std::string_view> pieces) {
    const int32_t known = view().find(hash, pieces);
    if (known >= 0) return known;
    const int64_t id = size();
    if (id >= most_) throw TooManyNames(most_);
    if (uint64_t(id + 1) * 10 > groups_ * kGroupPlaces * 7) grow();
    for (const std::string_view piece : pieces) arrays_.bytes.insert(arrays_.bytes.end(), piece.begin(), piece.end());
    arrays_.offsets.push_back(int64_t(arrays_.bytes.size()));
    hashes_.push_back(hash);
    put(arrays_.slots.data(), arrays_.marks.data(), groups_, hash, uint32_t(id + 1));
    return int32_t(id);
}

void Names::grow() {
    groups_ = std::max<uint64_t>(2 * groups_, 2 * groups_for(size()));
    arrays_.slots.assign(groups_ * kGroupPlaces, 0);
    arrays_.marks.assign(groups_ * kGroupPlaces, 0);
    for (size_t id = 0; id < hashes_.size(); ++id)
        put(arrays_.slots.data(), arrays_.marks.data(), groups_, hashes_[id], uint32_t(id + 1));
}

VocabularyArrays Names::finish() {
    build_index(hashes_, arrays_.slots, arrays_.marks);
    VocabularyArrays finished = std::move(arrays_);
    *this = Names(most_);
    return finished;
}

VocabularyArrays take_names(const VocabularyView& view, std::span<const int64_t> ids) {
    VocabularyArrays taken;
    std::vector<uint64_t> hashes;
    hashes.reserve(ids.size());
    taken.offsets.reserve(ids.size() + 1);
    for (const int64_t id : ids) {
        const std::string_view name = view.name(id);
        hashes.push_back(hash_name(name));
        taken.bytes.insert(taken.bytes.end(), name.begin(), name.end());
        taken.offsets.push_back(int64_t(taken.bytes.size()));
    }
    build_index(hashes, taken.slots, taken.marks);
    return taken;
}

}  // namespace tagline
