// JSON from what Python holds: strings of any width, numbers, the spans of labelled sentences.
#pragma once

#include "bindings/arrays.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace tagline::bindings {

// A character that UTF-8 cannot have: a half of a surrogate pair.
struct LoneSurrogate {};

void refuse_others(PyObject* object, const char* name, int64_t index);

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

// Characters of a string with quotes around them, as Python's json.dumps(…, ensure_ascii=False) writes them.
void append_string(std::string& out, PyObject* string, int64_t begin, int64_t end);
void append_string(std::string& out, PyObject* string);

// As Python's json does: the shortest figures that stand for this number and no other.
void append_number(std::string& out, double value);
void append_number(std::string& out, int64_t value);

template <class Write>
void append_list(std::string& out, int64_t first, int64_t last, const char* separator, const Write& write) {
    out += '[';
    for (int64_t n = first; n < last; ++n) {
        if (n > first) out += separator;
        write(n);
    }
    out += ']';
}

std::vector<std::string> as_json(const nb::tuple& strings, const char* name);

// Numbers [N] of words, each below `most`.
const int32_t* word_numbers(const Array& ids, int64_t most);

// Sentence, start, end and type of each span, sorted by sentence; the names of the types; the probabilities.
using SpanParts = std::tuple<Array, Array, Array, Array, nb::tuple, Array>;

struct Spans {
    const int64_t *sentence, *start, *end, *kind;
    std::vector<std::string> names;
    const double* probability;
    int64_t count;

    Spans(const SpanParts& parts, int64_t B, const int64_t* offsets);

    // The spans of a sentence begin at m; return where they end.
    int64_t last_of(int64_t m, int64_t b) const {
        while (m < count && sentence[m] == b) ++m;
        return m;
    }
};

}  // namespace tagline::bindings
