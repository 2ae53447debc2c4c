// Features as Python objects: a list of sentences, each a list of tokens, each a dict or strings.
//
// Nothing of Python runs while a token is read, so that borrowed objects stay: where a value has to be asked for its
// number, or a container for its contents, the token is read again from copies that are held. Without the global lock it
// is read from copies at once.
#include "bindings/arrays.h"
#include "bindings/lists.h"
#include "bindings/module.h"
#include "bindings/features/token_reader.h"
#include "bindings/features/vocabulary.h"
#include "features/names/numbered_rows.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>
#include <tuple>

namespace tagline::bindings {

namespace {

using Numbered = std::tuple<Result<int64_t>, Result<int64_t>, Result<int32_t>, std::optional<Result<float>>,
                            std::optional<VocabularyResult>>;

Numbered number_items(nb::handle sentences, const std::string& name, const std::optional<VocabularyParts>& known,
                      int hash_bits) {
    if (hash_bits < 0 || hash_bits > 30) throw nb::value_error("hash_bits: expected 0 to 30, got something else");
    const bool whole = is_text(sentences.ptr()) || is_mapping(sentences.ptr());
    if (whole || !is_iterable(sentences.ptr()))
        refuse((name.empty() ? "X" : name) + ": expected a list of sentences, got " + kind_of(sentences.ptr()));
    NumberedRows rows = hash_bits ? NumberedRows(hash_bits)
                        : known   ? NumberedRows(as_vocabulary(*known))
                                  : NumberedRows();
    const std::string where = name.empty() ? "sentence " : name + " of sentence ";
    TokenReader reader(where.c_str());
    std::vector<int64_t> offsets{0};
    const nb::object iterator = owned(PyObject_GetIter(sentences.ptr()));
    while (PyObject* next = PyIter_Next(iterator.ptr())) {
        const nb::object sentence = nb::steal(next);
        reader.begin_sentence();
        if (is_text(next) || is_mapping(next) || !is_iterable(next))
            refuse(reader.sentence_place() + ": expected a list of tokens, got " + kind_of(next) +
                   "; put a single sentence into a list of its own");
        const nb::object tokens = steady(owned(PySequence_Fast(next, "a sentence")));
        for (Py_ssize_t t = 0; t < PySequence_Fast_GET_SIZE(tokens.ptr()); ++t) {
            const nb::object token = nb::borrow(PySequence_Fast_GET_ITEM(tokens.ptr(), t));
            fetch_ahead(tokens.ptr(), t);
            rows.add(reader.read(token.ptr()));
        }
        rows.end_sentence();
        offsets.push_back(int64_t(rows.offsets.size()) - 1);
        if (offsets.size() % 1024 == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    if (PyErr_Occurred()) throw nb::python_error();
    std::optional<VocabularyResult> names;
    if (rows.builds()) names = as_result(rows.finish());
    std::optional<Result<float>> values;
    if (!rows.values.empty()) values = adopt(std::move(rows.values));
    return {adopt(std::move(offsets)), adopt(std::move(rows.offsets)), adopt(std::move(rows.ids)),
            std::move(values), std::move(names)};
}

}  // namespace

void bind_items(nb::module_& m) {
    using namespace nb::literals;
    m.def("number_items", number_items, "sentences"_a, "name"_a, "known"_a.none(), "hash_bits"_a,
          "Number the attributes of tokens given as dicts or lists of strings: (offsets of sentences [B + 1], offsets "
          "of tokens [N + 1], ids [M], values [M] or None where all are 1, the vocabulary's arrays where it was "
          "built).");
}

}  // namespace tagline::bindings
