// Words of a text → numbers of lists: what a tagger knows of a word, or of its ending.
#pragma once

#include "vocabulary.h"

#include <cstdint>
#include <string_view>

namespace tagline {

struct Text {
    std::string_view text;
    bool capital;
};

// Which list of candidates a word has: its own; else that of its longest known ending; else that of no ending.
//
// Lists are numbered: words, endings of words in small letters, endings of words with a capital, no ending (small,
// capital).
struct Lexicon {
    VocabularyView words, endings[2];
    int64_t longest = 0;  // characters of an ending

    int64_t size() const { return words.size + endings[0].size + endings[1].size + 2; }
    // The lists of words.
    void find_all(const Text* texts, int64_t count, int32_t* ids) const;

private:
    int32_t find_ending(const Text& word) const;
};

}  // namespace tagline
