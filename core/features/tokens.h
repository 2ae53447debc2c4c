// Raw text, the first stage: characters → places of tokens. The rules are those of readers/tokenizers.py, where they are
// written as one regular expression; what each character is comes from there, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tagline {

// What a character is; it may be several.
enum CharacterClass : uint8_t {
    kWordCharacter = 1,   // \w: letters, figures and the underscore
    kDecimalDigit = 2,    // \d
    kBlank = 4,           // \s
    kWide = 8,            // Chinese characters and kana
    kMark = 16,           // combining marks and variation selectors
    kPictograph = 32,     // what emoji begin with
    kModifier = 64,       // skin tones and tags, which change the emoji before them
    kRegional = 128,      // two of them are a flag
};

enum class Cutting { whitespace, words, characters, treebank, script };

constexpr uint32_t kCharacters = 0x110000;

// Where a token stands: characters begin … end − 1.
struct TokenPlace {
    int64_t begin, end;
};

class Tokenizer {
public:
    // `classes` holds the CharacterClass bits of every code point; `titles` are abbreviations that keep their stop before
    // a name.
    Tokenizer(std::vector<uint8_t> classes, std::unordered_set<std::string> titles)
        : classes_(std::move(classes)), titles_(std::move(titles)) {}

    // The tokens of a text, appended to `places`. Char is uint8_t, uint16_t or uint32_t: code points.
    template <class Char>
    void cut(const Char* text, int64_t size, Cutting cutting, std::vector<TokenPlace>& places) const;

private:
    std::vector<uint8_t> classes_;  // [kCharacters]
    std::unordered_set<std::string> titles_;
};

// Numbers strings of code points in the order of first use.
class WordNumbers {
public:
    // The number of a word; `size()` grows by one where it is new.
    template <class Char>
    int32_t number(const Char* word, int64_t size);

    int64_t size() const { return int64_t(ends_.size()); }

private:
    std::vector<uint32_t> letters_;  // of all words, one after the other
    std::vector<int64_t> ends_;      // [size()]
    std::vector<uint64_t> hashes_;   // [size()]
    std::vector<int32_t> slots_ = std::vector<int32_t>(1024, -1);

    void grow();
};

}  // namespace tagline
