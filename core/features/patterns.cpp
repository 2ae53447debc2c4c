#include "features/patterns.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr uint32_t kAsciiLetters[] = {'0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1};
constexpr int64_t kStepsBetweenQuestions = int64_t(1) << 22;

}  // namespace

CharacterSet::CharacterSet(std::span<const uint32_t> bounds) : bounds_(bounds.begin(), bounds.end()) {
    for (size_t k = 0; k + 1 < bounds_.size(); k += 2)
        for (uint32_t code = bounds_[k]; code < std::min(bounds_[k + 1], 256u); ++code)
            latin_[code >> 6] |= uint64_t(1) << (code & 63);
}

bool CharacterSet::contains_beyond_latin(uint32_t code) const {
    return (std::upper_bound(bounds_.begin(), bounds_.end(), code) - bounds_.begin()) & 1;
}

// What is reached from the first state before a character is taken says where a match can begin.
Pattern::Pattern(std::vector<State> all, int32_t begin, std::vector<CharacterSet> of, CharacterSet word_characters)
    : states(std::move(all)), first(begin), sets(std::move(of)), letters(std::move(word_characters)) {
    std::vector<bool> reached(states.size()), unbound(states.size());
    std::vector<std::pair<int32_t, bool>> waiting{{first, false}};  // whether it is reached only at the start
    while (!waiting.empty()) {
        const auto [number, bound] = waiting.back();
        waiting.pop_back();
        if (reached[size_t(number)] && (bound || unbound[size_t(number)])) continue;
        reached[size_t(number)] = true;
        if (!bound) unbound[size_t(number)] = true;
        const State& state = states[size_t(number)];
        switch (state.kind) {
            case StateKind::split:
                waiting.push_back({state.one, bound});
                waiting.push_back({state.other, bound});
                break;
            case StateKind::ask:
                waiting.push_back({state.other, bound || Place(state.one) == Place::start});
                break;
            case StateKind::match:
                may_be_empty = true;
                only_at_start = only_at_start && bound;
                break;
            case StateKind::take:
                only_at_start = only_at_start && bound;
                const CharacterSet& set = sets[size_t(state.one)];
                for (uint32_t code = 0; code < 256; ++code) latin_begins[code] |= set.contains(code);
                begins_beyond_latin |= set.reaches_beyond_latin();
                break;
        }
    }
}

PatternSearch::PatternSearch(const Pattern& pattern, const Interrupted& interrupted)
    : pattern_(pattern),
      interrupted_(interrupted),
      ascii_letters_(kAsciiLetters),
      threads_(pattern.states.size()),
      next_(pattern.states.size()),
      reached_(pattern.states.size()),
      waiting_(pattern.states.size()) {}

template <class Code>
bool PatternSearch::find(std::span<const Code> word, bool any, Found& found) {
    const int64_t length = int64_t(word.size());
    found = {};
    threads_.size = 0;
    forget();
    for (int64_t at = 0; at <= length; ++at) {
        if (found.begin < 0) {
            if (threads_.size == 0) {
                if (at > 0 && pattern_.only_at_start) return true;
                if (!pattern_.may_be_empty) {
                    while (at < length && !pattern_.may_begin_with(word[size_t(at)])) ++at;
                    if (at == length) return true;
                }
                forget();
                follow(word, at, pattern_.first, at, threads_);
            } else if (!pattern_.only_at_start &&
                       (pattern_.may_be_empty || (at < length && pattern_.may_begin_with(word[size_t(at)])))) {
                follow(word, at, pattern_.first, at, threads_);
            }
        }
        next_.size = 0;
        forget();
        for (size_t k = 0; k < threads_.size; ++k) {
            const Thread& thread = threads_.all[k];
            const State& state = pattern_.states[size_t(thread.state)];
            if (state.kind == StateKind::match) {
                found = {thread.begin, at};
                if (any) return true;
                break;  // the threads behind it are of less preferred ways
            }
            if (at < length && pattern_.sets[size_t(state.one)].contains(word[size_t(at)]))
                follow(word, at + 1, state.other, thread.begin, next_);
        }
        std::swap(threads_, next_);
        if (threads_.size == 0 && found.begin >= 0) return true;
        if (steps_ > kStepsBetweenQuestions) {
            steps_ = 0;
            if (interrupted_ && interrupted_()) return false;
        }
    }
    return true;
}

// Add the states that are reached without a character, in order of preference.
template <class Code>
void PatternSearch::follow(std::span<const Code> word, int64_t at, int32_t state, int64_t begin,
                           Threads& threads) {
    size_t waiting = 0;
    while (true) {
        ++steps_;
        if (reached_[size_t(state)] != stamp_) {
            reached_[size_t(state)] = stamp_;
            const State& here = pattern_.states[size_t(state)];
            if (here.kind == StateKind::split) {
                waiting_[waiting++] = here.other;
                state = here.one;
                continue;
            }
            if (here.kind != StateKind::ask) {
                threads.all[threads.size++] = {state, begin};
            } else if (is_at(Place(here.one), word, at)) {
                state = here.other;
                continue;
            }
        }
        if (waiting == 0) return;
        state = waiting_[--waiting];
    }
}

template <class Code>
bool PatternSearch::is_at(Place place, std::span<const Code> word, int64_t at) const {
    const int64_t end = int64_t(word.size());
    const auto code = [&](int64_t k) { return uint32_t(word[size_t(k)]); };
    switch (place) {
        case Place::start: return at == 0;
        case Place::end: return at == end;
        case Place::line_start: return at == 0 || code(at - 1) == '\n';
        case Place::line_end: return at == end || code(at) == '\n';
        case Place::last_line_end: return at == end || (at == end - 1 && code(at) == '\n');
        default: break;
    }
    if (end == 0) return false;  // Python finds neither a boundary nor the inside of an empty word
    const bool ascii = place == Place::ascii_boundary || place == Place::ascii_inside;
    const CharacterSet& letters = ascii ? ascii_letters_ : pattern_.letters;
    const bool before = at > 0 && letters.contains(code(at - 1)), behind = at < end && letters.contains(code(at));
    return (before != behind) == (place == Place::boundary || place == Place::ascii_boundary);
}

// No state is reached at the place that comes next.
void PatternSearch::forget() {
    if (++stamp_ != 0) return;
    std::fill(reached_.begin(), reached_.end(), 0);
    stamp_ = 1;
}

template bool PatternSearch::find(std::span<const uint8_t>, bool, Found&);
template bool PatternSearch::find(std::span<const uint16_t>, bool, Found&);
template bool PatternSearch::find(std::span<const uint32_t>, bool, Found&);

}  // namespace tagline
