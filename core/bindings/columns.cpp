// Column files, as Python sees them.
#include "../columns.h"
#include "arrays.h"
#include "module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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

Parsed parse_columns(const Array& text, int64_t columns, const std::string& comment, bool docstart,
                     bool skip_broken) {
    const uint8_t* bytes = checked<uint8_t>("text", text, {-1});
    const std::string_view view(reinterpret_cast<const char*>(bytes), text.size());
    const ColumnOptions options{columns, comment, docstart, skip_broken};
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

}  // namespace

void bind_columns(nb::module_& m) {
    using namespace nb::literals;
    m.def("parse_columns", parse_columns, "text"_a, "columns"_a, "comment"_a, "docstart"_a, "skip_broken"_a,
          "Parse the bytes of a column file: (offsets [B + 1], lines [B], for each column its distinct words joined by "
          "newlines and ids [N], broken lines (line, begin, end, columns), columns, lines read).");
}

}  // namespace tagline::bindings
