// Words of a text → numbers of lists: what a tagger knows of a word, or of its ending.
#pragma once

#include "vocabulary.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

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

// A word of 1 to 15 bytes as two numbers that no other word has; 0, 0 for any other word.
struct ShortWord {
    static constexpr int64_t kMost = 15;

    uint64_t low = 0, high = 0;  // the last eight bytes; those before, and above them how many there are

    bool operator==(const ShortWord&) const = default;
};

// The lists of short words that were looked up lately: one to be found here takes a tenth of the time of a look-up. A
// word has three places, in one line of the cache; a new one drives out the oldest of them.
class Memo {
public:
    Memo() : rows_(size_t{1} << kBits) {}

    // The list of a word; −1 where it is not here.
    int32_t find(const ShortWord& word) const {
        const Row& row = rows_[number(word)];
        int32_t list = -1;
        for (int k = 0; k < kPlaces; ++k) list = row.words[k] == word ? row.lists[k] : list;  // without a branch
        return list;
    }

    void keep(const ShortWord& word, int32_t list) {
        Row& row = rows_[number(word)];
        std::copy_backward(row.words, row.words + kPlaces - 1, row.words + kPlaces);
        std::copy_backward(row.lists, row.lists + kPlaces - 1, row.lists + kPlaces);
        row.words[0] = word;
        row.lists[0] = list;
    }

private:
    static constexpr int kBits = 11, kPlaces = 3;

    struct alignas(64) Row {
        ShortWord words[kPlaces];
        int32_t lists[kPlaces] = {-1, -1, -1};
    };

    static size_t number(const ShortWord& word) {
        return size_t((word.low ^ word.high * 0xD6E8FEB86659FD93ull) * 0x9E3779B97F4A7C15ull >> (64 - kBits));
    }

    std::vector<Row> rows_;
};

}  // namespace tagline
