#include "features/byte_expressions.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr uint32_t kLongest = uint32_t(1) << 30;

}  // namespace

ByteMatch ByteSearch::find(std::string_view word) {
    ways_.assign(word.size() + 1, {!expression_.at_end, 0});
    ways_[word.size()].found = true;
    for (size_t a = expression_.atoms.size(); a-- > 0;) step(expression_.atoms[a], word);
    const size_t begins = expression_.at_start ? 1 : ways_.size();
    for (size_t j = 0; j < begins; ++j)
        if (ways_[j].found) return {int64_t(j), int64_t(ways_[j].length)};
    return {};
}

// From the ways of the next atom to those of this one, in place, from the end of the word to its start: the way behind
// a byte is that of this atom already, so `behind` keeps the next atom's.
void ByteSearch::step(const ByteAtom& atom, std::string_view word) {
    Way behind{false, 0};  // of the next atom, one byte on
    for (size_t j = word.size() + 1; j-- > 0;) {
        const Way here = ways_[j];
        const bool fits = j < word.size() && atom.members[uint8_t(word[j])];
        Way way = here;
        if (atom.repeat == Repeat::one) {
            way = fits ? Way{behind.found, 1 + behind.length} : Way{false, 1};
        } else if (atom.repeat == Repeat::star && !here.found) {
            way = fits ? Way{ways_[j + 1].found, 1 + ways_[j + 1].length} : Way{false, 1};
        } else if (atom.repeat == Repeat::optional && fits) {
            way = behind.found ? Way{true, 1 + behind.length} : Way{here.found, behind.length + here.length};
        }
        way.length = std::min(way.length, kLongest);
        ways_[j] = way;
        behind = here;
    }
}

}  // namespace tagline
