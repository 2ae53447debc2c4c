#include "bindings/text/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace tagline::bindings {

namespace {

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

}  // namespace

void refuse_others(PyObject* object, const char* name, int64_t index) {
    if (!PyUnicode_Check(object))
        throw nb::type_error((std::string(name) + "[" + std::to_string(index) + "]: expected a string, got " +
                              Py_TYPE(object)->tp_name)
                                 .c_str());
}

void append_string(std::string& out, PyObject* string, int64_t begin, int64_t end) {
    with_characters(string, [&](const auto* text, int64_t size) {
        append_string(out, text + std::min(begin, size), std::min(end, size) - std::min(begin, size));
    });
}

void append_string(std::string& out, PyObject* string) {
    append_string(out, string, 0, int64_t(PyUnicode_GET_LENGTH(string)));
}

std::vector<std::string> as_json(const nb::tuple& strings, const char* name) {
    std::vector<std::string> out;
    int64_t index = 0;
    for (nb::handle string : strings) {
        refuse_others(string.ptr(), name, index++);
        append_string(out.emplace_back(), string.ptr());
    }
    return out;
}

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

const int32_t* word_numbers(const Array& ids, int64_t most) {
    const int32_t* id = checked<int32_t>("ids", ids, {-1});
    if (std::any_of(id, id + ids.size(), [&](int32_t n) { return n < 0 || n >= most; }))
        throw nb::value_error("ids: expected numbers of words, got others");
    return id;
}

Spans::Spans(const SpanParts& parts, int64_t B, const int64_t* offsets)
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

}  // namespace tagline::bindings
