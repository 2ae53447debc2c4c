// The words that a template names at a token, packed into one number, and tables keyed by such numbers.
#pragma once

#include "features/vocabulary.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tagline {

constexpr size_t kSlack = 16;  // bytes behind texts that may be read and mean nothing

// A text that attributes are made of; in half a line of the cache.
struct alignas(32) Piece {
    PieceHash hash;
    std::string_view text;
};

// Hash texts, and bring them close together, with kSlack behind, into the memory returned.
std::vector<char> prepare_pieces(std::span<Piece> pieces);

// A column as templates see it. Distinct words have codes from 1 on; 0 is a word that gives no attribute; after the
// words come the paddings, _B-1, _B-2, … before a sentence and _B+1, _B+2, … behind it.
struct Source {
    const int32_t* ids = nullptr;  // [N] numbers of words
    std::vector<uint32_t> codes;   // by number; empty where they are the numbers plus one
    std::vector<Piece> pieces;     // by code
    int64_t words = 0;             // distinct ones
    int before = 0, after = 0;
    bool gaps = false;  // whether some code is 0

    std::vector<char> bytes;  // of the pieces

    uint32_t padding_before(int k) const { return uint32_t(words + k); }           // k ≥ 1
    uint32_t padding_after(int k) const { return uint32_t(words + before + k); }  // k ≥ 1
    int bits() const { return std::bit_width(uint64_t(pieces.size() - 1)); }
    void prepare() { bytes = prepare_pieces(pieces); }
};

struct Macro {
    int source, row;
    bool operator==(const Macro&) const = default;
};

// A template: literal, macro, literal, macro, …, literal. What is behind the first literal is its body.
struct Skeleton {
    std::vector<std::string> literals;  // one more than macros
    std::vector<Macro> macros;

    // Made by `make_bodies`:
    size_t body = 0;
    int row = 0;   // of the first macro
    Piece prefix;  // the first literal
    std::vector<char> bytes;
};

// The same macros with the same literals between them come up in several templates, at other rows: U05:%x[-1,0]/%x[0,0]
// at a token has the words of U06:%x[0,0]/%x[1,0] at the token before. Such templates share a body, which has one key at
// a token, that of its first macro. The codes of its macros are packed into 64 bits; where they need more, the first
// ones are packed, numbered in a table, and the number (32 bits) goes on in their place: a fold.
struct Body {
    std::vector<Macro> macros;          // rows counted from that of the first
    std::vector<std::string> literals;  // behind each macro
    std::vector<size_t> skeletons;      // whose body it is
    int first_row = 0, last_row = 0;    // of the first macro in those skeletons

    struct Field {
        int shift;
        uint64_t mask;
    };
    std::vector<Field> fields;     // one a macro
    std::vector<size_t> segments;  // where the fields after each fold begin; the first is 0
    std::vector<Piece> pieces;     // the literals
    std::vector<char> bytes;
    int bits = 0;  // of a key

    int reach() const { return last_row - first_row; }  // places of a sentence beyond its tokens
    size_t folds() const { return segments.size() - 1; }
    size_t segment_end(size_t segment) const {
        return segment + 1 < segments.size() ? segments[segment + 1] : fields.size();
    }
    void prepare(const std::vector<Source>& sources);
};

// The bodies of templates, which are told theirs.
std::vector<Body> make_bodies(const std::vector<Source>& sources, std::vector<Skeleton>& skeletons);

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

constexpr uint64_t kAbsent = ~uint64_t{0};  // the key of a body that has no attribute at this place

// The keys of runs of sentences. In a body, a sentence has a place for each of its tokens, and more at its ends where the
// first macros of some templates reach beyond it; there is one key at a place.
class Tuples {
public:
    Tuples(const std::vector<Source>& sources, const std::vector<Skeleton>& skeletons, const std::vector<Body>& bodies,
           int64_t expected);

    // Make the keys of sentences first … last − 1.
    void load(const int64_t* bounds, int64_t first, int64_t last);

    size_t num_places(size_t body) const { return keys_[body].size(); }
    const uint64_t* keys(size_t body) const { return keys_[body].data(); }

    // Where a template has its key for the first token of a sentence, given how many tokens and sentences of the run come
    // before; those of the other tokens follow.
    size_t place(size_t skeleton, int64_t tokens, int64_t sentences) const {
        const Body& body = bodies_[skeletons_[skeleton].body];
        return size_t(tokens + sentences * body.reach() + skeletons_[skeleton].row - body.first_row);
    }

    // The codes of the macros that a key was packed from.
    void unpack(size_t b, uint64_t key, uint32_t* codes) const {
        const Body& body = bodies_[b];
        if (body.folds()) return unpack_folded(b, key, codes);
        for (const Body::Field& field : body.fields) *codes++ = uint32_t((key >> field.shift) & field.mask);
    }

    // The hash (not finished) of a body with these codes, and of a template's attribute that has it.
    PieceHash hash(size_t b, const uint32_t* codes) const {
        const Body& body = bodies_[b];
        uint64_t value = 0;
        size_t length = 0;
        for (size_t m = 0; m < body.macros.size(); ++m) {
            const Piece &word = piece(body, m, codes), &literal = body.pieces[m];
            value = m ? append(value, word.hash) : word.hash.value;
            if (!literal.text.empty()) value = append(value, literal.hash);
            length += word.text.size() + literal.text.size();
        }
        return {value, power_of(length)};
    }
    uint64_t hash(size_t skeleton, const PieceHash& body) const {
        return append(skeletons_[skeleton].prefix.hash.value, body);
    }

    // The pieces of the attribute with these codes.
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
    const std::vector<Body>& bodies_;
    std::vector<std::vector<uint32_t>> codes_;  // by source: padding, sentence, padding
    std::vector<std::vector<uint64_t>> keys_;   // by body, by place
    std::vector<std::vector<Fold>> folds_;      // by body

    const Piece& piece(const Body& body, size_t macro, const uint32_t* codes) const {
        return sources_[size_t(body.macros[macro].source)].pieces[codes[macro]];
    }
    void unpack_folded(size_t body, uint64_t key, uint32_t* codes) const;
    void load_codes(int64_t first, int64_t length);
    void pack(size_t body, int64_t count, uint64_t* keys);
};

}  // namespace tagline
