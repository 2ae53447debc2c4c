// Wapiti's expressions, as Python sees them.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "bindings/features/vocabulary.h"
#include "features/byte_expressions.h"

namespace tagline::bindings {

namespace {

void make_expression(ByteExpression* self, const Array& members, const Array& kinds, bool at_start, bool at_end) {
    const int32_t* repeats = checked<int32_t>("kinds", kinds, {-1});
    const uint8_t* rows = checked<uint8_t>("members", members, {int64_t(kinds.size()), 256});
    ByteExpression expression{{}, at_start, at_end};
    for (size_t a = 0; a < kinds.size(); ++a, rows += 256) {
        if (repeats[a] < int32_t(Repeat::one) || repeats[a] > int32_t(Repeat::optional))
            throw nb::value_error("kinds: expected 0, 1 or 2, got another number");
        ByteAtom atom;
        for (size_t byte = 0; byte < 256; ++byte) atom.members[byte] = rows[byte] != 0;
        atom.repeat = Repeat(repeats[a]);
        expression.atoms.push_back(atom);
    }
    new (self) ByteExpression(std::move(expression));
}

Result<int64_t> find(const ByteExpression& expression, const nb::list& list) {
    const nb::tuple words(list);  // a signal handler, or another thread, may change the list
    ByteSearch search(expression);
    std::vector<int64_t> places;
    for (size_t index = 0; index < words.size(); ++index) {
        const nb::object word = words[index];
        const ByteMatch match = search.find(text_of(word, "words", int64_t(index)));
        places.push_back(match.begin);
        places.push_back(match.length);
        if (index % 4096 == 0 && signalled()) throw nb::python_error();
    }
    return adopt(std::move(places));
}

}  // namespace

void bind_byte_expressions(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ByteExpression>(m, "ByteExpression", "A regular expression of Wapiti, which is searched in bytes.")
        .def("__init__", make_expression, "members"_a, "kinds"_a, "at_start"_a, "at_end"_a,
             "Take atoms: the bytes of each [A, 256], and how often it is taken [A].")
        .def("find", find, "words"_a,
             "Find the match in each word: where it begins and its length in bytes, one word behind the other [2 n]; "
             "-1 for none.");
}

}  // namespace tagline::bindings
