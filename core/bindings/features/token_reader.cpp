#include "bindings/features/token_reader.h"

#include "bindings/lists.h"

#include <cmath>

namespace tagline::bindings {

namespace {

constexpr size_t kDeepest = 32;
constexpr std::string_view kJoin = ":";

std::string shown(PyObject* object) {
    const nb::object repr = nb::steal(PyObject_Repr(object));
    const nb::object text =
        repr.is_valid() ? nb::steal(PyUnicode_AsEncodedString(repr.ptr(), "utf-8", "replace")) : repr;
    if (!text.is_valid()) {
        PyErr_Clear();
        return "";
    }
    std::string cut(PyBytes_AS_STRING(text.ptr()), size_t(PyBytes_GET_SIZE(text.ptr())));
    if (cut.size() > 60) {
        size_t end = 59;
        while (end > 0 && (cut[end] & 0xC0) == 0x80) --end;
        cut.replace(end, std::string::npos, "…");
    }
    return " " + cut;
}

}  // namespace

nb::object owned(PyObject* object) {
    if (!object) throw nb::python_error();
    return nb::steal(object);
}

std::string kind_of(PyObject* object) {
    return object == Py_None ? "None" : Py_TYPE(object)->tp_name + shown(object);
}

[[noreturn]] void refuse(const std::string& message) {
    const nb::object error = nb::module_::import_("tagline.errors").attr("InputError");
    PyErr_SetString(error.ptr(), message.c_str());
    throw nb::python_error();
}

bool is_text(PyObject* object) { return PyUnicode_Check(object) || PyBytes_Check(object); }

bool is_mapping(PyObject* object) { return PyDict_Check(object) || PyObject_HasAttrString(object, "keys"); }

bool is_iterable(PyObject* object) { return Py_TYPE(object)->tp_iter || PySequence_Check(object); }

void fetch_ahead(PyObject* tokens, Py_ssize_t t) {
    if (!kLocked) return;  // another thread may change the lists
    constexpr Py_ssize_t kToken = 6, kItems = 4, kStrings = 2;  // tokens ahead
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(tokens);
    PyObject* const* const items = PySequence_Fast_ITEMS(tokens);
    // Before the first token nobody was there to make the first steps.
    for (Py_ssize_t at = t ? t + kToken : 0; at <= t + kToken && at < count; ++at) __builtin_prefetch(items[at]);
    for (Py_ssize_t at = t ? t + kItems : 0; at <= t + kItems && at < count; ++at) {
        if (!PyList_CheckExact(items[at])) continue;
        const auto* strings = reinterpret_cast<const char*>(PySequence_Fast_ITEMS(items[at]));
        for (size_t byte = 0; byte < size_t(PyList_GET_SIZE(items[at])) * sizeof(PyObject*) && byte < 512; byte += 64)
            __builtin_prefetch(strings + byte);
    }
    for (Py_ssize_t at = t ? t + kStrings : 0; at <= t + kStrings && at < count; ++at) {
        if (!PyList_CheckExact(items[at])) continue;
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(items[at]); ++k) {
            const char* string = reinterpret_cast<const char*>(PyList_GET_ITEM(items[at], k));
            __builtin_prefetch(string);
            __builtin_prefetch(string + sizeof(PyASCIIObject));  // where its letters begin
        }
    }
}

void TokenReader::begin_sentence() {
    ++sentence_;
    token_ = -1;
}

const NamedAttributes& TokenReader::read(PyObject* token) {
    ++token_;
    clear();
    holds_ = !kLocked;
    if (is_text(token) || !read_container(token)) {
        if (is_text(token)) refuse_token(token);
        clear();
        holds_ = true;
        if (!read_container(token)) refuse_token(token);
    }
    return attributes_;
}

void TokenReader::clear() {
    attributes_.clear();
    held_.clear();
    depth_ = 0;
}

std::string TokenReader::place_of_attribute() const {
    std::string name;
    for (const NamedAttributes::Piece& piece : attributes_.path) name += piece.text;
    return place() + ", attribute \"" + name + "\"";
}

void TokenReader::refuse_token(PyObject* token) const {
    refuse(place() + ": expected a dict or a list of strings, got " + kind_of(token) +
           "; X is a list of sentences, each a list of tokens, each a dict or a list of strings");
}

PyObject* TokenReader::hold(nb::object object) {
    held_.push_back(std::move(object));
    return held_.back().ptr();
}

bool TokenReader::read_container(PyObject* container) {
    if (++depth_ > kDeepest) refuse(place() + ": expected dicts at most 32 deep, got more");
    bool done;
    if (PyDict_Check(container))
        done = read_dict(holds_ ? hold(owned(PyDict_Copy(container))) : container);
    else if (PyList_Check(container) || PyTuple_Check(container))
        done = read_strings(holds_ ? hold(owned(PySequence_Tuple(container))) : container);
    else if (PyAnySet_CheckExact(container))
        done = read_set(container);
    else
        done = holds_ && read_other(container);
    --depth_;
    return done;
}

bool TokenReader::read_dict(PyObject* dict) {
    std::vector<NamedAttributes::Piece>& path = attributes_.path;
    const size_t before = path.size();
    Py_ssize_t at = 0;
    PyObject *key, *value;
    for (size_t place = 0; PyDict_Next(dict, &at, &key, &value); ++place) {
        const std::string_view name = text(key, "a string as a key");
        if (before == 0 && place < prefixes_.size() && is_text(value)) {
            path.push_back(prefix(place, name));
            add_string(value);
        } else {
            attributes_.push(name);
            if (!read_value(value)) return false;
        }
        path.resize(before);
    }
    return true;
}

NamedAttributes::Piece TokenReader::prefix(size_t place, std::string_view key) {
    Prefix& prefix = prefixes_[place];
    if (prefix.text.size() != key.size() + kJoin.size() || !prefix.text.starts_with(key)) {
        prefix.text.assign(key).append(kJoin);
        prefix.hash = hash_piece(prefix.text).value;
    }
    return {prefix.text, prefix.hash};
}

bool TokenReader::read_strings(PyObject* sequence) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    PyObject** strings = PySequence_Fast_ITEMS(sequence);
    for (Py_ssize_t k = 0; k < count; ++k) add_string(strings[k]);
    return true;
}

bool TokenReader::read_set(PyObject* set) {
    const size_t first = attributes_.attributes.size();
    PyObject* members = holds_ ? hold(owned(PySequence_Tuple(set))) : set;
    const nb::object iterator = owned(PyObject_GetIter(members));
    while (PyObject* member = PyIter_Next(iterator.ptr())) {
        const nb::object string = nb::steal(member);  // the set, or its copy, holds it too
        add_string(member);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    attributes_.sort_from(first);
    return true;
}

bool TokenReader::read_other(PyObject* container) {
    if (is_text(container)) return false;
    if (is_mapping(container)) {
        const nb::object copy = owned(PyDict_New());
        if (PyDict_Update(copy.ptr(), container) != 0) throw nb::python_error();
        return read_dict(hold(copy));
    }
    if (!is_iterable(container)) return false;
    const nb::object strings = owned(PySequence_List(container));
    if (PyAnySet_Check(container) && PyList_Sort(strings.ptr()) != 0) PyErr_Clear();  // not all of them strings
    return read_strings(hold(owned(PySequence_Tuple(strings.ptr()))));
}

bool TokenReader::read_value(PyObject* value) {
    if (is_text(value)) {
        attributes_.push(kJoin);
        add_string(value);
        attributes_.path.pop_back();
        return true;
    }
    if (PyFloat_Check(value)) return add_number(PyFloat_AS_DOUBLE(value), value);
    if (PyLong_Check(value)) {  // bool too
        double number = PyLong_AsDouble(value);
        if (number == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            number = INFINITY;
        }
        return add_number(number, value);
    }
    const bool known =
        PyDict_Check(value) || PyList_Check(value) || PyTuple_Check(value) || PyAnySet_CheckExact(value);
    if (!known && !holds_) return false;
    if (!known && PyNumber_Check(value)) {
        const double number = PyFloat_AsDouble(value);
        if (!PyErr_Occurred()) return add_number(number, value);
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
        PyErr_Clear();  // an array, perhaps of strings
    }
    attributes_.push(kJoin);
    const bool done = read_container(value);
    attributes_.path.pop_back();
    if (!done && holds_)
        refuse(place_of_attribute() +
               ": expected a string, a number, a truth value, a dict or a list of strings, got " + kind_of(value));
    return done;
}

void TokenReader::add_string(PyObject* string) {
    attributes_.add(text(string, "a string"), 1);
}

bool TokenReader::add_number(double number, PyObject* value) {
    const float small = float(number);
    if (!std::isfinite(small))
        refuse(place_of_attribute() + ": expected a finite number that fits float32, got " + kind_of(value));
    attributes_.add(number);
    return true;
}

std::string_view TokenReader::text(PyObject* object, const char* wanted) {
    if (PyBytes_Check(object)) {
        PyObject* decoded = PyUnicode_DecodeUTF8(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object), nullptr);
        if (!decoded) {
            PyErr_Clear();
            refuse(place() + ": expected UTF-8, got " + kind_of(object));
        }
        object = hold(nb::steal(decoded));
    }
    if (!PyUnicode_Check(object)) {
        const std::string where = attributes_.path.empty() ? place() : place_of_attribute();
        refuse(where + ": expected " + wanted + ", got " + kind_of(object));
    }
    if (PyUnicode_IS_COMPACT_ASCII(object))  // is its own UTF-8
        return {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(object)), size_t(PyUnicode_GET_LENGTH(object))};
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(object, &size);
    if (!bytes) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
        PyErr_Clear();
        refuse(place() + ": expected Unicode text, got" + shown(object) + " with a lone surrogate");
    }
    return {bytes, size_t(size)};
}

}  // namespace tagline::bindings
