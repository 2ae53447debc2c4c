// Raw text as Python sees it: strings in, tokens by number out; labelled sentences as JSON lines.
#include "bindings/arrays.h"
#include "bindings/text/json.h"
#include "bindings/module.h"
#include "features/tokens.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

namespace tagline::bindings {

namespace {

Tokenizer new_tokenizer(const Array& ranges, const std::vector<std::string>& titles) {
    const int64_t* range = checked<int64_t>("ranges", ranges, {-1, 3});
    std::vector<uint8_t> classes(kCharacters);
    for (uint32_t c = 0; c < kCharacters; ++c) {
        const Py_UCS4 letter = c;
        if (Py_UNICODE_ISALNUM(letter) || c == '_') classes[c] |= kWordCharacter;
        if (Py_UNICODE_ISDECIMAL(letter)) classes[c] |= kDecimalDigit;
        if (Py_UNICODE_ISSPACE(letter)) classes[c] |= kBlank;
    }
    for (size_t r = 0; r < ranges.shape(0); ++r, range += 3) {
        if (range[0] < 0 || range[1] < range[0] || range[1] >= int64_t(kCharacters) || range[2] < 0 || range[2] > 255)
            throw nb::value_error("ranges: expected (first character, last, class), got something else");
        for (int64_t c = range[0]; c <= range[1]; ++c) classes[size_t(c)] |= uint8_t(range[2]);
    }
    return Tokenizer(std::move(classes), {titles.begin(), titles.end()});
}

Cutting cutting_of(const std::string& name) {
    const char* names[] = {"whitespace", "words", "characters", "treebank", "script"};
    for (int k = 0; k < 5; ++k)
        if (name == names[k]) return Cutting(k);
    throw nb::value_error(("tokenizer: expected a name that there is, got " + name).c_str());
}

using Cut = std::tuple<Result<int64_t>, Result<int64_t>, nb::tuple, Result<int32_t>>;

Cut cut_texts(const Tokenizer& tokenizer, const nb::list& texts, const std::string& name) {
    const Cutting cutting = cutting_of(name);
    std::vector<TokenPlace> places;
    std::vector<int64_t> offsets{0};
    std::vector<int32_t> ids;
    WordNumbers numbers;
    nb::list words;
    int64_t index = 0;
    for (nb::handle text : texts) {
        refuse_others(text.ptr(), "texts", index++);
        const size_t first = places.size();
        with_characters(text.ptr(), [&](const auto* characters, int64_t size) {
            tokenizer.cut(characters, size, cutting, places);
            for (size_t n = first; n < places.size(); ++n) {
                const auto [begin, end] = places[n];
                const int64_t known = numbers.size();
                ids.push_back(numbers.number(characters + begin, end - begin));
                if (numbers.size() > known) {
                    PyObject* word = PyUnicode_Substring(text.ptr(), Py_ssize_t(begin), Py_ssize_t(end));
                    if (!word) throw nb::python_error();
                    words.append(nb::steal(word));
                }
            }
        });
        offsets.push_back(int64_t(places.size()));
        if (index % 1024 == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    Result<int64_t> spans = make<int64_t>({places.size(), 2});
    static_assert(sizeof(TokenPlace) == 2 * sizeof(int64_t));
    if (!places.empty()) std::memcpy(spans.data(), places.data(), places.size() * sizeof(TokenPlace));
    return {adopt(std::move(offsets)), std::move(spans), nb::tuple(words), adopt(std::move(ids))};
}

void append_span(std::string& out, const Spans& spans, int64_t m, PyObject* text, const int64_t* places) {
    const int64_t first = places[2 * spans.start[m]], last = places[2 * (spans.end[m] - 1) + 1];
    out += "{\"start\": ";
    append_number(out, spans.start[m]);
    out += ", \"end\": ";
    append_number(out, spans.end[m]);
    out += ", \"type\": ";
    out += spans.names[size_t(spans.kind[m])];
    out += ", \"text\": ";
    append_string(out, text, first, last);
    out += ", \"char_start\": ";
    append_number(out, first);
    out += ", \"char_end\": ";
    append_number(out, last);
    out += ", \"probability\": ";
    append_number(out, spans.probability[m]);
    out += '}';
}

nb::object json_lines(const nb::list& list, const nb::tuple& words, const Array& ids, const Array& offsets,
                      const Array& places, const nb::tuple& names, const Array& labels,
                      const std::optional<Array>& probabilities, const std::optional<SpanParts>& spans) try {
    const nb::tuple texts(list);  // a signal handler, or another thread, may change the list
    const int64_t B = int64_t(nb::len(texts)), N = int64_t(ids.size());
    check("offsets", offsets, nb::dtype<int64_t>(), {B + 1});
    const int64_t* begins = as_offsets(offsets, N);
    const int64_t* place = checked<int64_t>("places", places, {N, 2});
    if (std::any_of(place, place + 2 * N, [](int64_t n) { return n < 0; }))
        throw nb::value_error("places: expected characters of the texts, got others");
    const std::vector<std::string> tokens = as_json(words, "words"), tags = as_json(names, "names");
    const int32_t* id = word_numbers(ids, int64_t(tokens.size()));
    const int64_t* label = numbers_below("labels", labels, N, int64_t(tags.size()));
    const double* chance = probabilities ? checked<double>("probabilities", *probabilities, {N}) : nullptr;
    std::optional<Spans> marked;
    if (spans) marked.emplace(*spans, B, begins);
    std::string out;
    int64_t m = 0;
    for (int64_t b = 0; b < B; ++b) {
        PyObject* text = PyTuple_GET_ITEM(texts.ptr(), b);
        refuse_others(text, "texts", b);
        const int64_t first = begins[b], last = begins[b + 1];
        out += "{\"text\": ";
        append_string(out, text);
        out += ", \"tokens\": ";
        append_list(out, first, last, ", ", [&](int64_t n) { out += tokens[size_t(id[n])]; });
        out += ", \"tags\": ";
        append_list(out, first, last, ", ", [&](int64_t n) { out += tags[size_t(label[n])]; });
        if (chance) {
            out += ", \"probabilities\": ";
            append_list(out, first, last, ", ", [&](int64_t n) { append_number(out, chance[n]); });
        }
        if (marked) {
            const int64_t from = m;
            m = marked->last_of(m, b);
            out += ", \"spans\": ";
            append_list(out, from, m, ", ", [&](int64_t k) { append_span(out, *marked, k, text, place + 2 * first); });
        }
        out += "}\n";
        if (b % 4096 == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    PyObject* result = PyUnicode_DecodeUTF8(out.data(), Py_ssize_t(out.size()), nullptr);
    if (!result) throw nb::python_error();
    return nb::steal(result);
} catch (const LoneSurrogate&) {
    return nb::none();
}

}  // namespace

void bind_text(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Tokenizer>(m, "Tokenizer")
        .def("__init__", [](Tokenizer* self, const Array& ranges, const std::vector<std::string>& titles) {
            new (self) Tokenizer(new_tokenizer(ranges, titles));
        }, "ranges"_a, "titles"_a)
        .def("cut", cut_texts, "texts"_a, "tokenizer"_a,
             "Find the tokens of texts: (offsets [B + 1], characters [N, 2], distinct words, ids [N]).");
    m.def("json_lines", json_lines, "texts"_a, "words"_a, "ids"_a, "offsets"_a, "places"_a, "names"_a, "labels"_a,
          "probabilities"_a.none(), "spans"_a.none(),
          "Write labelled texts as JSON lines, as json.dumps does; None where a string has a lone surrogate.");
}

}  // namespace tagline::bindings
