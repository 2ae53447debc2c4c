// The words that a template names at a token, packed into one number, and tables keyed by such numbers.
#pragma once

#include "vocabulary.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tagline {

// A column as templates see it. Distinct words have codes from 1 on; 0 is a word that gives no attribute; after the
// words come the paddings, _B-1, _B-2, … before a sentence and _B+1, _B+2, … behind it.
struct Source {
    const int32_t* ids = nullptr;         // [N] numbers of words
    std::vector<uint32_t> codes;          // by number; empty where they are the numbers plus one
    std::vector<std::string_view> texts;  // by code
    int64_t words = 0;                    // distinct ones
    int before = 0, after = 0;
    bool gaps = false;  // whether some code is 0

    std::vector<PieceHash> hashes;  // by code; made by `prepare`
    std::vector<char> bytes;        // of all texts, close together, with kSlack behind; made by `prepare`

    uint32_t padding_before(int k) const { return uint32_t(words + k); }           // k ≥ 1
    uint32_t padding_after(int k) const { return uint32_t(words + before + k); }  // k ≥ 1
    int bits() const { return std::bit_width(uint64_t(texts.size() - 1)); }
    void prepare();
};

constexpr size_t kSlack = 16;  // bytes behind texts that may be read and mean nothing

struct Macro {
    int source, row;
};

// A template: literal, macro, literal, macro, …, literal. The codes of its macros are packed into 64 bits; where they need
// more, the first ones are packed, numbered in a table, and the number (32 bits) goes on in their place: a fold.
struct Skeleton {
    std::vector<std::string> literals;  // one more than macros
    std::vector<Macro> macros;

    // Made by `prepare`:
    struct Field {
        int shift;
        uint64_t mask;
    };
    std::vector<Field> fields;      // one a macro
    std::vector<size_t> segments;   // where the fields after each fold begin; the first is 0
    std::vector<PieceHash> hashes;  // of the literals
    std::vector<char> bytes;        // of the literals, with kSlack behind
    std::vector<std::string_view> texts;
    int bits = 0;                   // of a key

    size_t folds() const { return segments.size() - 1; }
    size_t segment_end(size_t segment) const {
        return segment + 1 < segments.size() ? segments[segment + 1] : fields.size();
    }
    void prepare(const std::vector<Source>& sources);
};

// Numbers by key: 0 until set. Small sets of keys get an array, others an open-addressed table that grows.
class KeyTable {
public:
    // Keys are below 2^bits; about `expected` accesses come.
    KeyTable(int bits, int64_t expected);

    // Whether an array is the better choice.
    static bool fits(int bits, int64_t expected) { return bits < 40 && (int64_t{1} << bits) <= 4096 + 8 * expected; }

    uint32_t& at(uint64_t key) { return direct_ ? direct_[key] : hashed(key); }
    bool is_direct() const { return direct_ != nullptr; }
    void prefetch(uint64_t key) const { __builtin_prefetch(&cells_[place(key)]); }  // where it is not direct

private:
    struct Cell {
        uint64_t key;
        uint32_t value;
    };
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<uint32_t[], Free> direct_;  // from calloc: pages that nobody touches cost nothing
    std::vector<Cell> cells_;                   // value 0: free
    size_t used_ = 0;
    int shift_ = 64;

    size_t place(uint64_t key) const { return size_t((key * 0x9E3779B97F4A7C15ull) >> shift_); }
    uint32_t& hashed(uint64_t key);
    void grow();
};

constexpr uint64_t kAbsent = ~uint64_t{0};  // the key of a template that has no attribute at this token

// The keys of some sentences after others.
class Tuples {
public:
    Tuples(const std::vector<Source>& sources, const std::vector<Skeleton>& skeletons, int64_t expected);

    // Make the keys of sentences first … last − 1; with `after_first`, first tokens of sentences have no attributes.
    void load(const int64_t* bounds, int64_t first, int64_t last, bool after_first);

    int64_t length() const { return length_; }

    // Of each token of those sentences.
    const uint64_t* keys(size_t skeleton) const { return keys_.data() + skeleton * size_t(length_); }

    // The codes of the macros that a key was packed from.
    void unpack(size_t s, uint64_t key, uint32_t* codes) const {
        const Skeleton& skeleton = skeletons_[s];
        if (skeleton.folds()) return unpack_folded(s, key, codes);
        for (const Skeleton::Field& field : skeleton.fields) *codes++ = uint32_t((key >> field.shift) & field.mask);
    }

    // The hash (not finished) and the pieces of the attribute with these codes.
    uint64_t hash(size_t s, const uint32_t* codes) const {
        const Skeleton& skeleton = skeletons_[s];
        uint64_t value = skeleton.hashes[0].value;
        for (size_t m = 0; m < skeleton.macros.size(); ++m) {
            value = append(value, sources_[size_t(skeleton.macros[m].source)].hashes[codes[m]]);
            if (!skeleton.texts[m + 1].empty()) value = append(value, skeleton.hashes[m + 1]);
        }
        return value;
    }
    void pieces(size_t skeleton, const uint32_t* codes, std::vector<std::string_view>& out) const;

    // Whether that attribute is this name, which lies in memory that ends at `end`.
    bool is(size_t skeleton, const uint32_t* codes, std::string_view name, const char* end) const;

private:
    struct Fold {
        KeyTable table;
        std::vector<uint64_t> keys;
    };
    const std::vector<Source>& sources_;
    const std::vector<Skeleton>& skeletons_;
    std::vector<std::vector<uint32_t>> codes_;  // by source: padding, sentence, padding
    std::vector<uint64_t> keys_;                // [skeletons, length]
    std::vector<std::vector<Fold>> folds_;      // by skeleton
    int64_t length_ = 0;

    void unpack_folded(size_t skeleton, uint64_t key, uint32_t* codes) const;
    void load_codes(int64_t first, int64_t length);
    void pack(size_t skeleton, int64_t length, uint64_t* keys);
};

}  // namespace tagline
