// From Python's dicts and lists of strings to the names and values of a token's attributes; features/items.py says what
// may stand where.
#pragma once

#include "features/names/named_attributes.h"

#include <nanobind/nanobind.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tagline::bindings {

namespace nb = nanobind;

// A new reference, or the error that is set.
nb::object owned(PyObject* object);

// The type of an object and how it is written, for messages.
std::string kind_of(PyObject* object);

// Raise an InputError.
[[noreturn]] void refuse(const std::string& message);

bool is_text(PyObject* object);
bool is_mapping(PyObject* object);
bool is_iterable(PyObject* object);

// While token t of a list is read, bring those that follow into the cache. Objects lie all over the memory, and the way
// to a string is long: a token's list, where that keeps its strings, the strings. Each step is made some tokens early.
void fetch_ahead(PyObject* tokens, Py_ssize_t t);

// Reads the attributes of tokens.
class TokenReader {
public:
    explicit TokenReader(const char* name) : name_(name) {}

    void begin_sentence();

    // The sentence's place, for messages.
    std::string sentence_place() const { return name_ + std::to_string(sentence_); }

    // The attributes of the next token of the sentence; they hold until the next is read.
    const NamedAttributes& read(PyObject* token);

private:
    // "key:", where the next dict most often has the same key in the same place.
    struct Prefix {
        std::string text;
        uint64_t hash;
    };

    const std::string name_;
    int64_t sentence_ = -1, token_ = -1;
    NamedAttributes attributes_;
    std::array<Prefix, 64> prefixes_;  // of the latest dict that had so many keys, by the places of those
    std::vector<nb::object> held_;
    size_t depth_ = 0;
    bool holds_ = false;

    void clear();
    std::string place() const { return sentence_place() + ", token " + std::to_string(token_); }
    std::string place_of_attribute() const;
    [[noreturn]] void refuse_token(PyObject* token) const;
    PyObject* hold(nb::object object);

    // False where the container has to be held, or is none.
    bool read_container(PyObject* container);
    bool read_dict(PyObject* dict);
    bool read_strings(PyObject* sequence);
    NamedAttributes::Piece prefix(size_t place, std::string_view key);
    bool read_set(PyObject* set);
    bool read_other(PyObject* container);
    bool read_value(PyObject* value);
    void add_string(PyObject* string);
    bool add_number(double number, PyObject* value);
    std::string_view text(PyObject* object, const char* wanted);
};

}  // namespace tagline::bindings
