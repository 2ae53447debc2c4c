// Column files, as Python sees them.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "features/columns.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

namespace tagline::bindings {

namespace {

template <class T>
Result<T> copy(const std::vector<T>& values) {
    Result<T> out = make<T>({values.size()});
    std::copy(values.begin(), values.end(), out.data());
    return out;
}

using ColumnParts = std::tuple<nb::bytes, Result<int32_t>>;
using Parsed = std::tuple<Result<int64_t>, Result<int64_t>, std::vector<ColumnParts>,
                          std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>>, int64_t, int64_t>;

Parsed parse_columns(const Array& text, int64_t columns, int64_t most, const std::string& comment, bool docstart,
                     bool skip_broken) {
    const uint8_t* bytes = checked<uint8_t>("text", text, {-1});
    const std::string_view view(reinterpret_cast<const char*>(bytes), text.size());
    const ColumnOptions options{columns, most, comment, docstart, skip_broken};
    ColumnTable table;
    ask([&] {
        Outcome outcome;
        outcome.finished = tagline::parse_columns(view, options, table, signalled);
        return outcome;
    });
    std::vector<ColumnParts> parts;
    for (size_t c = 0; c < table.words.size(); ++c) {
        std::string joined;
        for (std::string_view word : table.words[c]) (joined += word) += '\n';
        if (!joined.empty()) joined.pop_back();
        parts.emplace_back(nb::bytes(joined.data(), joined.size()), copy(table.ids[c]));
    }
    std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>> broken;
    for (const BrokenLine& line : table.broken) broken.emplace_back(line.line, line.begin, line.end, line.columns);
    return {copy(table.offsets), copy(table.lines), parts, broken, table.columns, table.total_lines};
}

// A list of nothing yet: the garbage collector may look at it before it is filled.
nb::list new_list(int64_t size) {
    PyObject* list = PyList_New(Py_ssize_t(size));
    if (!list) throw nb::python_error();
    return nb::steal<nb::list>(list);
}

// The garbage collector would look at every list again and again, and none can be garbage yet.
class NoCollection {
public:
    NoCollection() : was_enabled_(PyGC_Disable()) {}
    ~NoCollection() {
        if (was_enabled_) PyGC_Enable();
    }
    NoCollection(const NoCollection&) = delete;
    NoCollection& operator=(const NoCollection&) = delete;

private:
    const int was_enabled_;
};

nb::list lists_of(const nb::tuple& words, const Array& numbers, const Array& offsets) {
    const int64_t* number = checked<int64_t>("numbers", numbers, {-1});
    const int64_t* begins = checked<int64_t>("offsets", offsets, {-1});
    const int64_t B = int64_t(offsets.size()) - 1, size = int64_t(nb::len(words));
    if (B < 0 || begins[0] != 0 || begins[B] != int64_t(numbers.size()) || !std::is_sorted(begins, begins + B + 1))
        throw nb::value_error("offsets: expected to rise from 0 to the number of numbers, got something else");
    if (std::any_of(number, number + numbers.size(), [&](int64_t n) { return n < 0 || n >= size; }))
        throw nb::value_error("numbers: expected numbers of words, got others");
    const NoCollection while_lists_are_made;
    nb::list lists = new_list(B);
    for (int64_t b = 0; b < B; ++b) {
        const int64_t length = begins[b + 1] - begins[b];
        nb::list row = new_list(length);
        for (int64_t i = 0; i < length; ++i)
            PyList_SET_ITEM(row.ptr(), i, Py_NewRef(PyTuple_GET_ITEM(words.ptr(), *number++)));
        PyList_SET_ITEM(lists.ptr(), b, row.release().ptr());
    }
    return lists;
}

}  // namespace

void bind_columns(nb::module_& m) {
    using namespace nb::literals;
    m.def("parse_columns", parse_columns, "text"_a, "columns"_a, "most"_a, "comment"_a, "docstart"_a,
          "skip_broken"_a,
          "Parse the bytes of a column file: (offsets [B + 1], lines [B], for each column its distinct words joined by "
          "newlines and ids [N], broken lines (line, begin, end, columns), columns, lines read).");
    m.def("lists_of", lists_of, "words"_a, "numbers"_a, "offsets"_a,
          "Look words up by number [N] and cut them at the offsets [B + 1]: a list for each sentence.");
}

}  // namespace tagline::bindings
