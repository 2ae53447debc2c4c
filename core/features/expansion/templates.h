// Templates over columns, ready to be expanded: the columns that they look at, and the templates themselves, grouped by
// what they share. tuples.h reads the words of a template at a token.
#pragma once

#include "features/names/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tagline {

constexpr size_t kSlack = 16;  // bytes behind texts, which may be read but mean nothing

// A text that attributes are made of. It fits half a line of the cache.
struct alignas(32) Piece {
    PieceHash hash;
    std::string_view text;
};

// Hash texts, and copy them close together into the memory returned, with kSlack bytes behind them.
std::vector<char> prepare_pieces(std::span<Piece> pieces);

// A column as templates see it. Code 0 is a word that gives no attribute; then come the paddings, _B-1, _B-2, … before
// a sentence and _B+1, _B+2, … behind it; then the distinct words, to which more may be added.
struct Source {
    const int32_t* ids = nullptr;  // [N] numbers of words
    std::vector<uint32_t> codes;   // by number; empty where they are the numbers plus `first_word`
    std::vector<Piece> pieces;     // by code
    int before = 0, after = 0;
    bool gaps = false;    // whether some code is 0
    bool plain = false;   // whether it has the words of the column as they are, and no `codes`
    bool fine = false;    // whether it tells most words apart
    size_t column = 0;
    int least_bits = 0;   // of a code in a key: enough for the words to come

    std::vector<std::vector<char>> bytes;  // of the pieces that are prepared
    size_t prepared = 0;

    uint32_t padding_before(int k) const { return uint32_t(k); }          // k ≥ 1
    uint32_t padding_after(int k) const { return uint32_t(before + k); }  // k ≥ 1
    uint32_t first_word() const { return uint32_t(before + after + 1); }

    // Its code of the word or padding that has a code in the plain source of the same column; 0 for padding that it does
    // not reach.
    uint32_t code_of(const Source& words, uint32_t code) const {
        if (code >= words.first_word()) {
            const uint32_t number = code - words.first_word();
            return codes.empty() ? number + first_word() : codes[number];
        }
        const int k = int(code) <= words.before ? int(code) : int(code) - words.before;
        if (int(code) <= words.before) return k <= before ? padding_before(k) : 0;
        return k <= after ? padding_after(k) : 0;
    }
    int bits() const { return std::max(least_bits, int(std::bit_width(uint64_t(pieces.size() - 1)))); }
    void prepare() {
        bytes.push_back(prepare_pieces(std::span(pieces).subspan(prepared)));
        prepared = pieces.size();
    }
};

// The word of a source some rows before or behind a token: %x[row, column].
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
// at a token has the words of U06:%x[0,0]/%x[1,0] at the token before. Such templates share a body, which has one key
// at a token, that of its first macro. The codes of its macros are packed into 64 bits; where they need more, the first
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

// Group templates by their bodies, and tell each template which body it has.
std::vector<Body> make_bodies(const std::vector<Source>& sources, std::vector<Skeleton>& skeletons);

}  // namespace tagline
