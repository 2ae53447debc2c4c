#include "features/tokens.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int64_t kLongestLocalPart = 64;  // of an e-mail address, as RFC 5321 has it
constexpr int64_t kMostInitials = 9;
constexpr size_t kLongestTitle = 8;
constexpr std::string_view kLinkSigns = "-._~:/?#[]@!$&'()*+,;=%";
constexpr std::string_view kLinkEnds = "-~/#@$&*+=%";

bool is_ascii_letter(uint32_t c) { return (c | 32) >= 'a' && (c | 32) <= 'z' && c < 128; }
bool is_ascii_word(uint32_t c) { return is_ascii_letter(c) || (c >= '0' && c <= '9'); }
bool is_one_of(uint32_t c, std::string_view signs) { return c < 128 && c && signs.find(char(c)) != signs.npos; }
bool is_apostrophe(uint32_t c) { return c == '\'' || c == 0x2019; }

// One text, whose tokens are found from left to right. Every rule returns the end of the token that begins at `i`, or `i`
// where there is none.
template <class Char>
class Scanner {
public:
    // Cut by script, every Chinese character or kana is a token; else runs of them are. Treebanks leave titles their stop.
    Scanner(const Char* text, int64_t size, const uint8_t* classes, const std::unordered_set<std::string>& titles,
            Cutting cutting)
        : text_(text), size_(size), classes_(classes), titles_(titles), single_(cutting == Cutting::script),
          treebank_(cutting == Cutting::treebank) {}

    bool is(int64_t i, uint8_t bits) const { return i < size_ && (classes_[text_[i]] & bits); }

    bool is_narrow(int64_t i) const {
        return i < size_ && (classes_[text_[i]] & (kWordCharacter | kWide)) == kWordCharacter;
    }

    int64_t word_or_sign(int64_t i) const {
        const uint32_t c = at(i);
        if (is_ascii_word(c)) {
            if (const int64_t end = link(i); end > i) return end;
            if (const int64_t end = address(i); end > i) return end;
        }
        if (is_letter(i)) {
            if (const int64_t end = initials(i); end > i) return end;
            if (const int64_t end = treebank_ ? title(i) : i; end > i) return end;
        }
        if (is_wide(i)) return wide_word(i);
        if (is_narrow(i)) return word(i);
        if (c == '.' || c == '-') {
            int64_t end = i + 1;
            while (at(end) == c) ++end;
            if (end > i + 1) return end;
        }
        if ((c == '`' || c == '\'') && at(i + 1) == c) return i + 2;
        if (is(i, kRegional) && is(i + 1, kRegional)) return i + 2;
        if (is(i, kPictograph)) return emoji(i);
        return marks(i + 1);
    }

    // Where the ending of an English word begins that treebanks cut off: 's, n't …; `end` where there is none.
    int64_t clitic(int64_t begin, int64_t end) const {
        const auto ends_in = [&](std::string_view letters) {  // behind an apostrophe
            const int64_t first = end - int64_t(letters.size());
            if (first - 1 <= begin || !is_apostrophe(at(first - 1))) return false;
            for (size_t k = 0; k < letters.size(); ++k)
                if (!is_ascii_letter(at(first + int64_t(k))) || (at(first + int64_t(k)) | 32) != uint32_t(letters[k]))
                    return false;
            return true;
        };
        for (const std::string_view letters : {"s", "m", "d", "re", "ve", "ll"})
            if (ends_in(letters)) return end - int64_t(letters.size()) - 1;
        const bool negated = ends_in("t") && end - 3 > begin && (at(end - 3) | 32) == 'n' && at(end - 3) < 128;
        return negated ? end - 3 : end;
    }

    // Whether there are at least as many Chinese characters and kana as words of other scripts, and any.
    bool is_mainly_wide() const {
        int64_t wide = 0, narrow = 0;
        bool inside = false;
        for (int64_t i = 0; i < size_; ++i) {
            wide += is(i, kWide);
            const bool letter = is_narrow(i) && at(i) != '_';
            narrow += letter && !inside;
            inside = letter;
        }
        return wide && wide >= narrow;
    }

private:
    const Char* text_;
    int64_t size_;
    const uint8_t* classes_;
    const std::unordered_set<std::string>& titles_;
    const bool single_, treebank_;

    uint32_t at(int64_t i) const { return i < size_ ? uint32_t(text_[i]) : 0; }

    bool is_letter(int64_t i) const {
        return is_narrow(i) && !(classes_[text_[i]] & kDecimalDigit) && at(i) != '_';
    }

    int64_t marks(int64_t i) const {
        while (is(i, kMark)) ++i;
        return i;
    }

    bool is_wide(int64_t i) const {
        return i < size_ && (classes_[text_[i]] & (kWordCharacter | kWide)) == (kWordCharacter | kWide);
    }

    int64_t wide_word(int64_t i) const {
        do i = marks(i + 1);
        while (!single_ && is_wide(i));
        return i;
    }

    int64_t prefix(int64_t i, std::string_view lower) const {
        for (const char letter : lower) {
            const uint32_t c = at(i++);
            if ((is_ascii_letter(c) ? c | 32 : c) != uint32_t(letter)) return -1;
        }
        return i;
    }

    int64_t link(int64_t i) const {
        const uint32_t first = at(i) | 32;
        if (first != 'h' && first != 'f' && first != 'w') return i;
        int64_t begin = -1;
        for (const std::string_view start : {"http://", "https://", "ftp://", "www."})
            if (begin < 0) begin = prefix(i, start);
        if (begin < 0) return i;
        int64_t end = begin;
        while (is_narrow(end) || is_one_of(at(end), kLinkSigns)) ++end;
        while (end > begin && !is_narrow(end - 1) && !is_one_of(at(end - 1), kLinkEnds)) --end;
        return end > begin ? end : i;
    }

    // One part of a domain: letters and figures, with hyphens between them.
    int64_t domain_part(int64_t i) const {
        if (!is_ascii_word(at(i))) return i;
        for (;;) {
            while (is_ascii_word(at(i))) ++i;
            int64_t next = i;
            while (at(next) == '-') ++next;
            if (next == i || !is_ascii_word(at(next))) return i;
            i = next;
        }
    }

    int64_t address(int64_t i) const {
        int64_t end = i + 1;
        while (end < i + kLongestLocalPart && (is_ascii_word(at(end)) || is_one_of(at(end), "._%+-"))) ++end;
        if (at(end) != '@') return i;
        int64_t part = domain_part(end + 1);
        if (part == end + 1) return i;
        int64_t parts = 1;
        while (at(part) == '.' && is_ascii_word(at(part + 1))) {
            part = domain_part(part + 1);
            ++parts;
        }
        return parts > 1 ? part : i;
    }

    // U.S., e.g., J.R.R: single letters with stops between them, and perhaps one behind.
    int64_t initials(int64_t i) const {
        int64_t end = i;
        while (end < i + 2 * kMostInitials && is_letter(end) && at(end + 1) == '.') end += 2;
        if (end == i) return i;
        // The last pair is a letter with its stop at the end, unless one more letter follows.
        const bool open = is_letter(end);
        if (!open && end == i + 2) return i;
        if (open) ++end;
        if (open && at(end) == '.' && !goes_on(end + 1)) return end + 1;
        if (!goes_on(end)) return end;
        return !open && !goes_on(end - 1) ? end - 1 : i;
    }

    bool goes_on(int64_t i) const { return is_narrow(i) || is(i, kMark) || (at(i) == '.' && is_narrow(i + 1)); }

    // Dr. Smith, J. Smith: an abbreviation before a name keeps its stop.
    int64_t title(int64_t i) const {
        char letters[kLongestTitle + 1];
        size_t size = 0;
        while (size <= kLongestTitle && is_ascii_letter(at(i + int64_t(size)))) {
            letters[size] = char(at(i + int64_t(size)));
            ++size;
        }
        const int64_t end = i + int64_t(size);
        if (!size || size > kLongestTitle || at(end) != '.') return i;
        if (size == 1) {
            const uint32_t c = at(i), next = at(end + 1) == ' ' ? at(end + 2) : at(end + 1);
            return c >= 'A' && c <= 'Z' && c != 'I' && next >= 'A' && next <= 'Z' ? end + 1 : i;
        }
        if (!is(end + 1, kBlank) || !titles_.count(std::string(letters, size))) return i;
        int64_t next = end + 1;
        while (is(next, kBlank)) ++next;
        return is(next, kWordCharacter) ? end + 1 : i;
    }

    int64_t letters(int64_t i) const {
        while (is_narrow(i) || is(i, kMark) || ((at(i) == 0x200C || at(i) == 0x200D) && is_narrow(i + 1))) ++i;
        return i;
    }

    // Letters and figures, with inner apostrophes and hyphens, and with stops, commas and colons between figures.
    int64_t word(int64_t i) const {
        for (;;) {
            i = letters(i);
            const uint32_t c = at(i);
            const bool between = is_apostrophe(c) || c == '-';
            const bool figures = (c == '.' || c == ',' || c == ':') && is(i - 1, kDecimalDigit) && is(i + 1, kDecimalDigit);
            if (!(between || figures) || !is_narrow(i + 1)) return i;
            ++i;
        }
    }

    int64_t emoji(int64_t i) const {
        for (;;) {
            ++i;
            while (is(i, kMark | kModifier)) ++i;
            if (at(i) != 0x200D || !is(i + 1, kPictograph)) return i;
            ++i;
        }
    }
};

}  // namespace

template <class Char>
void Tokenizer::cut(const Char* text, int64_t size, Cutting cutting, std::vector<TokenPlace>& places) const {
    const Scanner<Char> scanner(text, size, classes_.data(), titles_, cutting);
    if (cutting == Cutting::script) cutting = scanner.is_mainly_wide() ? Cutting::characters : Cutting::words;
    for (int64_t i = 0; i < size;) {
        if (scanner.is(i, kBlank)) {
            ++i;
            continue;
        }
        int64_t end = i + 1;
        if (cutting == Cutting::whitespace)
            while (end < size && !scanner.is(end, kBlank)) ++end;
        else if (cutting != Cutting::characters)
            end = scanner.word_or_sign(i);
        const int64_t cut = cutting == Cutting::treebank ? scanner.clitic(i, end) : end;
        places.push_back({i, cut});
        if (cut < end) places.push_back({cut, end});
        i = end;
    }
}

template <class Char>
int32_t WordNumbers::number(const Char* word, int64_t size) {
    uint64_t hash = 0x9E3779B97F4A7C15ull ^ uint64_t(size);
    for (int64_t i = 0; i < size; ++i) hash = (hash ^ word[i]) * 0x100000001B3ull;
    hash ^= hash >> 29;
    hash *= 0xD6E8FEB86659FD93ull;
    hash ^= hash >> 32;
    const size_t mask = slots_.size() - 1;
    size_t slot = size_t(hash) & mask;
    for (; slots_[slot] >= 0; slot = (slot + 1) & mask) {
        const size_t n = size_t(slots_[slot]);
        const int64_t begin = n ? ends_[n - 1] : 0;
        if (hashes_[n] == hash && ends_[n] - begin == size && std::equal(word, word + size, letters_.data() + begin))
            return int32_t(n);
    }
    const int32_t n = int32_t(ends_.size());
    slots_[slot] = n;
    letters_.insert(letters_.end(), word, word + size);
    ends_.push_back(int64_t(letters_.size()));
    hashes_.push_back(hash);
    if (2 * ends_.size() > slots_.size()) grow();
    return n;
}

void WordNumbers::grow() {
    slots_.assign(2 * slots_.size(), -1);
    const size_t mask = slots_.size() - 1;
    for (size_t n = 0; n < hashes_.size(); ++n) {
        size_t slot = size_t(hashes_[n]) & mask;
        while (slots_[slot] >= 0) slot = (slot + 1) & mask;
        slots_[slot] = int32_t(n);
    }
}

#define TAGLINE_TEXT(Char)                                                                              \
    template void Tokenizer::cut<Char>(const Char*, int64_t, Cutting, std::vector<TokenPlace>&) const; \
    template int32_t WordNumbers::number<Char>(const Char*, int64_t);
TAGLINE_TEXT(uint8_t)
TAGLINE_TEXT(uint16_t)
TAGLINE_TEXT(uint32_t)
#undef TAGLINE_TEXT

}  // namespace tagline
