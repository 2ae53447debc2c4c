// The lexicon of the trigram tagger: words → numbers of the lists of candidates that they, or their endings, have.
#pragma once

#include "features/names/vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tagline {

struct Word {
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
    void find_all(const Word* texts, int64_t count, int32_t* ids) const;

private:
    int32_t find_ending(const Word& word) const;
};

// A word of 1 to 15 bytes as two numbers that no other word has; a longer one is 0, 0.
struct ShortWord {
    static constexpr int64_t kMost = 15;

    uint64_t low = 0, high = 0;  // the last eight bytes; those before, and above them how many there are

    bool operator==(const ShortWord&) const = default;
};

// The lists of short words that were looked up lately, 0.4 MB. A word has one place, where the latest word stays. Three
// of four words of a text are found here, in a tenth of the time of a look-up.
class WordMemo {
public:
    WordMemo() : entries_(size_t{1} << kBits) {}

    // The list of a word; −1 where it is not here.
    int32_t find(const ShortWord& word) const {
        const Entry& entry = entries_[place(word)];
        return entry.word == word ? entry.list : -1;
    }

    void remember(const ShortWord& word, int32_t list) { entries_[place(word)] = {word, list}; }

private:
    static constexpr int kBits = 14;

    struct Entry {
        ShortWord word;
        int32_t list = -1;
    };

    static size_t place(const ShortWord& word) {
        return size_t((word.low ^ word.high * 0xD6E8FEB86659FD93ull) * 0x9E3779B97F4A7C15ull >> (64 - kBits));
    }

    std::vector<Entry> entries_;
};

}  // namespace tagline
