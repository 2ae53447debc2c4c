// Raw text as Python sees it: strings in, tokens by number out; labelled sentences as JSON lines.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "features/tokens.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <tuple>

namespace tagline::bindings {

namespace {

void refuse_others(PyObject* object, const char* name, int64_t index) {
    if (!PyUnicode_Check(object))
        throw nb::type_error((std::string(name) + "[" + std::to_string(index) + "]: expected a string, got " +
                              Py_TYPE(object)->tp_name)
                                 .c_str());
}

// Call with the code points of a string, in the width that it has.
template <class Call>
void with_characters(PyObject* string, const Call& call) {
    const int64_t size = int64_t(PyUnicode_GET_LENGTH(string));
    const void* data = PyUnicode_DATA(string);
    switch (PyUnicode_KIND(string)) {
        case PyUnicode_1BYTE_KIND: return call(static_cast<const uint8_t*>(data), size);
        case PyUnicode_2BYTE_KIND: return call(static_cast<const uint16_t*>(data), size);
        default: return call(static_cast<const uint32_t*>(data), size);
    }
}

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

// --- JSON -------------------------------------------------------------------------------------------------------

// A character that UTF-8 cannot have: a half of a surrogate pair.
struct LoneSurrogate {};

void append_utf8(std::string& out, uint32_t c) {
    if (c < 0x80) {
        out += char(c);
    } else if (c < 0x800) {
        out += {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
    } else if (c < 0x10000) {
        if (c >= 0xD800 && c < 0xE000) throw LoneSurrogate();
        out += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    } else {
        out += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    }
}

void append_escape(std::string& out, uint32_t c) {
    constexpr std::string_view signs = "\"\\\n\r\t\f\b", letters = "\"\\nrtfb";
    out += '\\';
    if (const size_t k = signs.find(char(c)); k != signs.npos) {
        out += letters[k];
        return;
    }
    constexpr char figures[] = "0123456789abcdef";
    out += {'u', '0', '0', figures[c >> 4], figures[c & 15]};
}

// A string with its quotes, as Python's json.dumps(…, ensure_ascii=False) writes it.
template <class Char>
void append_string(std::string& out, const Char* text, int64_t size) {
    const auto is_plain = [](uint32_t c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; };
    out += '"';
    for (int64_t i = 0; i < size;) {
        int64_t end = i;
        while (end < size && is_plain(text[end])) ++end;
        out.append(text + i, text + end);
        for (i = end; i < size && !is_plain(text[i]); ++i) {
            const uint32_t c = text[i];
            if (c < 0x80)
                append_escape(out, c);
            else
                append_utf8(out, c);
        }
    }
    out += '"';
}

void append_string(std::string& out, PyObject* string, int64_t begin, int64_t end) {
    with_characters(string, [&](const auto* text, int64_t size) {
        append_string(out, text + std::min(begin, size), std::min(end, size) - std::min(begin, size));
    });
}

std::vector<std::string> as_json(const nb::tuple& strings, const char* name) {
    std::vector<std::string> out;
    int64_t index = 0;
    for (nb::handle string : strings) {
        refuse_others(string.ptr(), name, index++);
        append_string(out.emplace_back(), string.ptr(), 0, int64_t(PyUnicode_GET_LENGTH(string.ptr())));
    }
    return out;
}

// As Python's json does: the shortest figures that stand for this number and no other.
void append_number(std::string& out, double value) {
    if (!std::isfinite(value)) {
        out += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
        return;
    }
    const double size = std::fabs(value);
    const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
    char text[32];
    const auto form = fixed ? std::chars_format::fixed : std::chars_format::scientific;
    char* end = std::to_chars(text, text + sizeof text, value, form).ptr;
    out.append(text, end);
    if (fixed && std::find(text, end, '.') == end) out += ".0";
}

void append_number(std::string& out, int64_t value) {
    char text[20];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

const int64_t* numbers_below(const char* name, const Array& array, int64_t size, int64_t most) {
    const int64_t* numbers = checked<int64_t>(name, array, {size});
    if (std::any_of(numbers, numbers + array.size(), [&](int64_t n) { return n < 0 || n >= most; }))
        throw nb::value_error((std::string(name) + ": expected numbers from 0 to " + std::to_string(most - 1) +
                               ", got others")
                                  .c_str());
    return numbers;
}

// Sentence, start, end and type of each span, sorted by sentence; the names of the types; the probabilities.
using SpanParts = std::tuple<Array, Array, Array, Array, nb::tuple, Array>;

struct Spans {
    const int64_t *sentence, *start, *end, *kind;
    std::vector<std::string> names;
    const double* probability;
    int64_t count;

    Spans(const SpanParts& parts, int64_t B, const int64_t* offsets)
        : names(as_json(std::get<4>(parts), "types")), count(int64_t(std::get<0>(parts).size())) {
        sentence = numbers_below("sentence", std::get<0>(parts), -1, B);
        start = checked<int64_t>("start", std::get<1>(parts), {count});
        end = checked<int64_t>("end", std::get<2>(parts), {count});
        kind = numbers_below("kind", std::get<3>(parts), count, int64_t(names.size()));
        probability = checked<double>("probability", std::get<5>(parts), {count});
        for (int64_t m = 0; m < count; ++m)
            if (start[m] < 0 || start[m] >= end[m] || end[m] > offsets[sentence[m] + 1] - offsets[sentence[m]] ||
                (m && sentence[m] < sentence[m - 1]))
                throw nb::value_error("spans: expected spans of tokens, sorted by sentence, got others");
    }

    void write(std::string& out, int64_t m, PyObject* text, const int64_t* places) const {
        const int64_t first = places[2 * start[m]], last = places[2 * (end[m] - 1) + 1];
        out += "{\"start\": ";
        append_number(out, start[m]);
        out += ", \"end\": ";
        append_number(out, end[m]);
        out += ", \"type\": ";
        out += names[size_t(kind[m])];
        out += ", \"text\": ";
        append_string(out, text, first, last);
        out += ", \"char_start\": ";
        append_number(out, first);
        out += ", \"char_end\": ";
        append_number(out, last);
        out += ", \"probability\": ";
        append_number(out, probability[m]);
        out += '}';
    }
};

template <class Write>
void append_list(std::string& out, int64_t first, int64_t last, const Write& write) {
    out += '[';
    for (int64_t n = first; n < last; ++n) {
        if (n > first) out += ", ";
        write(n);
    }
    out += ']';
}

nb::object json_lines(const nb::list& texts, const nb::tuple& words, const Array& ids, const Array& offsets,
                      const Array& places, const nb::tuple& names, const Array& labels,
                      const std::optional<Array>& probabilities, const std::optional<SpanParts>& spans) try {
    const int64_t B = int64_t(nb::len(texts)), N = int64_t(ids.size());
    const int32_t* id = checked<int32_t>("ids", ids, {-1});
    check("offsets", offsets, nb::dtype<int64_t>(), {B + 1});
    const int64_t* begins = as_offsets(offsets, N);
    const int64_t* place = checked<int64_t>("places", places, {N, 2});
    if (std::any_of(place, place + 2 * N, [](int64_t n) { return n < 0; }))
        throw nb::value_error("places: expected characters of the texts, got others");
    const std::vector<std::string> tokens = as_json(words, "words"), tags = as_json(names, "names");
    if (std::any_of(id, id + N, [&](int32_t n) { return n < 0 || size_t(n) >= tokens.size(); }))
        throw nb::value_error("ids: expected numbers of words, got others");
    const int64_t* label = numbers_below("labels", labels, N, int64_t(tags.size()));
    const double* chance = probabilities ? checked<double>("probabilities", *probabilities, {N}) : nullptr;
    std::optional<Spans> marked;
    if (spans) marked.emplace(*spans, B, begins);
    std::string out;
    int64_t m = 0;
    for (int64_t b = 0; b < B; ++b) {
        PyObject* text = PyList_GET_ITEM(texts.ptr(), b);
        refuse_others(text, "texts", b);
        const int64_t first = begins[b], last = begins[b + 1];
        out += "{\"text\": ";
        append_string(out, text, 0, int64_t(PyUnicode_GET_LENGTH(text)));
        out += ", \"tokens\": ";
        append_list(out, first, last, [&](int64_t n) { out += tokens[size_t(id[n])]; });
        out += ", \"tags\": ";
        append_list(out, first, last, [&](int64_t n) { out += tags[size_t(label[n])]; });
        if (chance) {
            out += ", \"probabilities\": ";
            append_list(out, first, last, [&](int64_t n) { append_number(out, chance[n]); });
        }
        if (marked) {
            const int64_t from = m;
            while (m < marked->count && marked->sentence[m] == b) ++m;
            out += ", \"spans\": ";
            append_list(out, from, m, [&](int64_t k) { marked->write(out, k, text, place + 2 * first); });
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
