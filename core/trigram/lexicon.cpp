#include "trigram/lexicon.h"

#include <algorithm>

namespace tagline {

namespace {

struct Ending {
    int32_t id = -1;
    std::string_view text;
};

// The longest known ending. Every ending of a known one is known, so that the first unknown one ends the search. Where
// `look_up` takes an unknown ending for a known one, that may be the answer.
template <class LookUp>
Ending longest_ending(std::string_view word, int64_t longest, const LookUp& look_up) {
    Ending longest_known;
    PieceHash hash;
    size_t begin = word.size();
    for (int64_t length = 1; length <= longest && begin > 0; ++length) {
        const size_t end = begin;
        do --begin;
        while (begin > 0 && (word[begin] & 0xC0) == 0x80);  // to the first byte of a character
        const PieceHash letter = hash_piece(word.substr(begin, end - begin));
        hash = {append(letter.value, hash), hash_multiply(letter.power, hash.power)};
        const std::string_view text = word.substr(begin);
        const int32_t id = look_up(finish_hash(hash.value), text);
        if (id < 0) break;
        longest_known = {id, text};
    }
    return longest_known;
}

}  // namespace

int32_t Lexicon::find_ending(const Word& word) const {
    const VocabularyView& names = endings[word.capital];
    Ending ending = longest_ending(word.text, longest, [&](uint64_t hash, std::string_view) {
        return names.candidate(hash);  // which compares no bytes
    });
    if (ending.id >= 0 && names.name(ending.id) != ending.text)
        ending = longest_ending(word.text, longest, [&](uint64_t hash, std::string_view text) {
            return names.find(hash, {&text, 1});
        });
    if (ending.id < 0) return int32_t(words.size + endings[0].size + endings[1].size + word.capital);
    return int32_t(words.size + (word.capital ? endings[0].size : 0) + ending.id);
}

void Lexicon::find_all(const Word* texts, int64_t count, int32_t* ids) const {
    constexpr int64_t kTogether = 16;  // memory answers them at the same time
    uint64_t hashes[kTogether];
    for (; count > 0; count -= kTogether, texts += kTogether, ids += kTogether) {
        const int64_t size = std::min(kTogether, count);
        for (int64_t n = 0; n < size; ++n) {
            hashes[n] = hash_name(texts[n].text);
            words.prefetch(hashes[n]);
        }
        for (int64_t n = 0; n < size; ++n) {
            ids[n] = words.candidate(hashes[n]);
            if (ids[n] >= 0) words.prefetch_offset(ids[n]);
        }
        for (int64_t n = 0; n < size; ++n)
            if (ids[n] >= 0) words.prefetch_bytes(ids[n]);
        for (int64_t n = 0; n < size; ++n) {
            const std::string_view text = texts[n].text;
            if (ids[n] >= 0 && words.name(ids[n]) != text) ids[n] = words.find(hashes[n], {&text, 1});
            if (ids[n] < 0) ids[n] = find_ending(texts[n]);
        }
    }
}

}  // namespace tagline
