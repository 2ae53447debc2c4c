// Patterns of templates, as Python sees them: programs are checked here, words are read where Python has them.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "features/patterns.h"

#include <string>

namespace tagline::bindings {

namespace {

std::vector<State> as_states(const Array& array, int64_t sets) {
    const int32_t* from = checked<int32_t>("states", array, {-1, 3});
    const int64_t count = int64_t(array.shape(0));
    std::vector<State> states;
    for (int64_t k = 0; k < count; ++k, from += 3) {
        const StateKind kind = StateKind(from[0]);
        const bool known = from[0] >= int32_t(StateKind::match) && from[0] <= int32_t(StateKind::ask);
        const int64_t most = kind == StateKind::take ? sets : kind == StateKind::ask ? kPlaces : count;
        if (!known || from[1] < 0 || from[1] >= most || from[2] < 0 || from[2] >= count)
            throw nb::value_error(("states[" + std::to_string(k) + "]: expected a state, got something else").c_str());
        states.push_back({kind, from[1], from[2]});
    }
    return states;
}

CharacterSet as_set(const uint32_t* bounds, int64_t count) {
    bool rising = count % 2 == 0;
    for (int64_t k = 1; k < count; ++k) rising = rising && bounds[k - 1] < bounds[k];
    if (!rising) throw nb::value_error("bounds: expected pairs that rise, got others");
    return CharacterSet({bounds, size_t(count)});
}

void make_pattern(Pattern* self, const Array& states, int64_t first, const Array& bounds, const Array& offsets,
                  const Array& letters) {
    const uint32_t* all = checked<uint32_t>("bounds", bounds, {-1});
    const int64_t* begins = as_offsets(offsets, int64_t(bounds.size()));
    std::vector<CharacterSet> sets;
    for (int64_t k = 0; k + 1 < int64_t(offsets.size()); ++k)
        sets.push_back(as_set(all + begins[k], begins[k + 1] - begins[k]));
    std::vector<State> program = as_states(states, int64_t(sets.size()));
    if (first < 0 || first >= int64_t(program.size()))
        throw nb::value_error("first: expected the number of a state, got another");
    const uint32_t* of_letters = checked<uint32_t>("letters", letters, {-1});
    new (self) Pattern(std::move(program), int32_t(first), std::move(sets),
                       as_set(of_letters, int64_t(letters.size())));
}

template <class Code>
std::span<const Code> as_span(const Code* data, size_t length) {
    return {data, length};
}

bool find_in(PatternSearch& search, PyObject* word, bool any, Found& found) {
    const size_t length = size_t(PyUnicode_GET_LENGTH(word));
    switch (PyUnicode_KIND(word)) {
        case PyUnicode_1BYTE_KIND: return search.find(as_span(PyUnicode_1BYTE_DATA(word), length), any, found);
        case PyUnicode_2BYTE_KIND: return search.find(as_span(PyUnicode_2BYTE_DATA(word), length), any, found);
        default: return search.find(as_span(PyUnicode_4BYTE_DATA(word), length), any, found);
    }
}

// Search words one after the other and hand over what was found in each; None is no word, and has no match.
template <class Take>
void find_each(const Pattern& pattern, const nb::list& list, bool any, const Take& take) {
    const nb::tuple words(list);  // a signal handler, or another thread, may change the list
    const Interrupted interrupted = signalled;
    PatternSearch search(pattern, interrupted);
    for (size_t index = 0; index < words.size(); ++index) {
        const nb::object word = words[index];
        Found found;
        if (PyUnicode_Check(word.ptr())) {
            if (!find_in(search, word.ptr(), any, found)) throw nb::python_error();
        } else if (!word.is_none()) {
            throw nb::type_error(
                ("words[" + std::to_string(index) + "]: expected a string, got another object").c_str());
        }
        take(word, found);
    }
}

Result<int64_t> find(const Pattern& pattern, const nb::list& words) {
    std::vector<int64_t> places;
    find_each(pattern, words, false, [&](const nb::object&, Found found) {
        places.push_back(found.begin);
        places.push_back(found.end);
    });
    return adopt(std::move(places));
}

nb::list texts(const Pattern& pattern, const nb::list& words) {
    nb::list texts;
    const nb::str none("");
    find_each(pattern, words, false, [&](const nb::object& word, Found found) {
        if (word.is_none() || found.begin < 0)
            texts.append(word.is_none() ? word : nb::object(none));
        else  // the word itself where all of it is matched
            texts.append(nb::steal(PyUnicode_Substring(word.ptr(), found.begin, found.end)));
    });
    return texts;
}

nb::list answers(const Pattern& pattern, const nb::list& words) {
    nb::list answers;
    const nb::str yes("true"), no("false");
    find_each(pattern, words, true, [&](const nb::object& word, Found found) {
        answers.append(word.is_none() ? word : nb::object(found.begin < 0 ? no : yes));
    });
    return answers;
}

}  // namespace

void bind_patterns(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Pattern>(m, "Pattern", "A regular expression that is searched without backtracking.")
        .def("__init__", make_pattern, "states"_a, "first"_a, "bounds"_a, "offsets"_a, "letters"_a,
             "Take a program: states [S, 3], the first of them, the bounds of its sets of characters, one set behind "
             "the other, and those of the word characters.")
        .def("find", find, "words"_a,
             "Find the match in each word: where it begins and ends, one word behind the other [2 n]; -1 for none.")
        .def("texts", texts, "words"_a, nb::sig("def texts(self, words: list[str | None]) -> list[str | None]"),
             "Return the text of the match in each word, empty for none; None for None.")
        .def("answers", answers, "words"_a, nb::sig("def answers(self, words: list[str | None]) -> list[str | None]"),
             "Say \"true\" or \"false\" of each word, whether there is a match; None for None.");
}

}  // namespace tagline::bindings
