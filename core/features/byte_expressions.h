// Wapiti's little regular expressions over bytes, searched in time that grows with word and expression alone.
// src/tagline/features/expressions/byte_expressions.py reads them, and has the plain definition of the search.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tagline {

// How often a byte is taken, in the numbers of byte_expressions.py.
enum class Repeat : int32_t { one, star, optional };

struct ByteAtom {
    std::array<bool, 256> members{};
    Repeat repeat = Repeat::one;
};

struct ByteExpression {
    std::vector<ByteAtom> atoms;
    bool at_start = false, at_end = false;
};

struct ByteMatch {
    int64_t begin = -1, length = 0;  // −1: no match; the length is that which Wapiti counts
};

// Searches one word after the other; its memory is used again.
class ByteSearch {
public:
    explicit ByteSearch(const ByteExpression& expression) : expression_(expression) {}
    ByteMatch find(std::string_view word);

private:
    // Whether the atoms from some one on match at a byte, and the length that was counted, also where they fail.
    struct Way {
        bool found;
        uint32_t length;
    };

    void step(const ByteAtom& atom, std::string_view word);

    const ByteExpression& expression_;
    std::vector<Way> ways_;  // [size + 1]
};

}  // namespace tagline
