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

bool find_in(PatternSearch& search, PyObject* word, Found& found) {
    const size_t length = size_t(PyUnicode_GET_LENGTH(word));
    switch (PyUnicode_KIND(word)) {
        case PyUnicode_1BYTE_KIND: return search.find(as_span(PyUnicode_1BYTE_DATA(word), length), found);
        case PyUnicode_2BYTE_KIND: return search.find(as_span(PyUnicode_2BYTE_DATA(word), length), found);
        default: return search.find(as_span(PyUnicode_4BYTE_DATA(word), length), found);
    }
}

Result<int64_t> find(const Pattern& pattern, nb::tuple words) {
    const Interrupted interrupted = signalled;
    PatternSearch search(pattern, interrupted);
    Result<int64_t> spans = make<int64_t>({nb::len(words), 2});
    int64_t* to = spans.data();
    int64_t index = 0;
    for (nb::handle word : words) {
        if (!PyUnicode_Check(word.ptr()))
            throw nb::type_error(("words[" + std::to_string(index) + "]: expected a string, got another object").c_str());
        Found found;
        if (!find_in(search, word.ptr(), found)) throw nb::python_error();
        to[2 * index] = found.begin;
        to[2 * index + 1] = found.end;
        ++index;
    }
    return spans;
}

}  // namespace

void bind_patterns(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Pattern>(m, "Pattern", "A regular expression that is searched without backtracking.")
        .def("__init__", make_pattern, "states"_a, "first"_a, "bounds"_a, "offsets"_a, "letters"_a,
             "Take a program: states [S, 3], the first of them, the bounds of its sets of characters, one set behind "
             "the other, and those of the word characters.")
        .def("find", find, "words"_a, "Find the first match in each word: where it begins and ends [n, 2], -1 for none.");
}

}  // namespace tagline::bindings
