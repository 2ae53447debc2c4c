// Patterns of templates: programs of states are searched in words without backtracking, so that a word of n characters
// costs at most n + 1 times the number of states, whatever the pattern. src/tagline/features/expressions/automata.py builds the
// programs, and has the plain definition of the search.
#pragma once

#include "runtime/outcome.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tagline {

// A set of characters: its members lie from the first bound up to the second, from the third up to the fourth, and so
// on; the upper bounds are left out.
class CharacterSet {
public:
    CharacterSet() = default;
    explicit CharacterSet(std::span<const uint32_t> bounds);

    bool contains(uint32_t code) const {
        return code < 256 ? latin_[code >> 6] >> (code & 63) & 1 : contains_beyond_latin(code);
    }
    bool reaches_beyond_latin() const { return !bounds_.empty() && bounds_.back() > 256; }

private:
    bool contains_beyond_latin(uint32_t code) const;

    std::array<uint64_t, 4> latin_{};  // a bit for each of the first 256 characters
    std::vector<uint32_t> bounds_;
};

// What a state does, in the numbers of automata.py.
enum class StateKind : int32_t { match, take, split, ask };
enum class Place : int32_t {
    start, end, line_start, line_end, last_line_end, boundary, inside, ascii_boundary, ascii_inside
};
constexpr int32_t kPlaces = 9;

struct State {
    StateKind kind;
    int32_t one;    // take: number of a set; split: the state that is tried first; ask: a Place
    int32_t other;  // the next state; split: the one that is tried then
};

// A program, checked by who made it. `letters` are the word characters, for boundaries.
struct Pattern {
    Pattern(std::vector<State> states, int32_t first, std::vector<CharacterSet> sets, CharacterSet letters);

    bool may_begin_with(uint32_t code) const {
        return code < 256 ? latin_begins[code] : begins_beyond_latin;
    }

    std::vector<State> states;
    int32_t first;
    std::vector<CharacterSet> sets;
    CharacterSet letters;
    bool only_at_start = true;     // matches begin nowhere else
    bool may_be_empty = false;     // and then any character may follow
    std::array<bool, 256> latin_begins{};
    bool begins_beyond_latin = false;
};

struct Found {
    int64_t begin = -1, end = -1;  // −1: no match
};

// Searches one word after the other; its memory is used again.
class PatternSearch {
public:
    PatternSearch(const Pattern& pattern, const Interrupted& interrupted);

    // Find the match of Python's re.search in a word of 1, 2 or 4 bytes a character; or, where it does not matter which,
    // any match. False when interrupted.
    template <class Code>
    bool find(std::span<const Code> word, bool any, Found& found);

private:
    struct Thread {
        int32_t state;
        int64_t begin;
    };

    // In order of preference; no state is in it twice.
    struct Threads {
        explicit Threads(size_t states) : all(states) {}
        std::vector<Thread> all;
        size_t size = 0;
    };

    template <class Code>
    void follow(std::span<const Code> word, int64_t at, int32_t state, int64_t begin, Threads& threads);
    template <class Code>
    bool is_at(Place place, std::span<const Code> word, int64_t at) const;
    void forget();

    const Pattern& pattern_;
    const Interrupted& interrupted_;
    CharacterSet ascii_letters_;
    Threads threads_, next_;
    std::vector<uint32_t> reached_;       // [states] the stamp of the place at which it was last reached
    std::vector<int32_t> waiting_;        // [states] the second ways of splits
    uint32_t stamp_ = 0;
    int64_t steps_ = 0;  // since the caller was last asked
};

}  // namespace tagline
