#include "bindings/lexicon.h"

#include "bindings/lists.h"

#include <bit>
#include <cstring>

namespace tagline::bindings {

namespace {

// The UTF-8 of a string; one that has none is a word without a known ending.
Word text_of(PyObject* word) {
    if (PyUnicode_IS_COMPACT_ASCII(word)) {
        const char* text = reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(word));
        const size_t size = size_t(PyUnicode_GET_LENGTH(word));
        return {{text, size}, size && text[0] >= 'A' && text[0] <= 'Z'};
    }
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(word, &size);
    if (!text) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
        PyErr_Clear();
    }
    const bool capital = PyUnicode_GET_LENGTH(word) > 0 && Py_UNICODE_ISUPPER(PyUnicode_READ_CHAR(word, 0));
    return {{text, text ? size_t(size) : 0}, capital};
}

// An ASCII string as numbers. Eight bytes at a time are read that end with the word: before its first byte stands the
// header of the object, which is longer.
ShortWord short_word(PyObject* word) {
    if (!PyUnicode_IS_COMPACT_ASCII(word)) return {};
    const uint64_t size = uint64_t(PyUnicode_GET_LENGTH(word));
    if (size - 1 >= ShortWord::kMost) return {};
    static_assert(sizeof(PyASCIIObject) >= 16 && std::endian::native == std::endian::little);
    const char* end = reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(word)) + size;
    uint64_t low, high = 0;
    std::memcpy(&low, end - 8, 8);
    if (size <= 8) {
        low >>= 64 - 8 * size;
    } else {
        std::memcpy(&high, end - 16, 8);
        high >>= 128 - 8 * size;
    }
    return {low, high | size << 56};
}

}  // namespace

OwnLexicon::OwnLexicon(const VocabularyParts& given_words, const VocabularyParts& given_small,
                       const VocabularyParts& given_capital, int64_t longest)
    : words(given_words), small(given_small), capital(given_capital) {
    lexicon = {as_vocabulary(words), {as_vocabulary(small), as_vocabulary(capital)}, longest};
    if (lexicon.size() > kMostNames) throw nb::value_error("words, endings: expected up to 2147483646, got more");
}

Result<int32_t> OwnLexicon::find(const nb::list& words) {
    const nb::object row = steady(words);
    Result<int32_t> lists = make<int32_t>({nb::len(row)});
    Reader reader(*this);
    if (!reader.read(PySequence_Fast_ITEMS(row.ptr()), Py_ssize_t(lists.size()), lists.data()))
        throw nb::type_error("words: expected strings, got something else");
    reader.finish();
    return lists;
}

bool Reader::read(PyObject** words, Py_ssize_t count, int32_t* lists) {
    for (Py_ssize_t n = 0; n < count; ++n) {
        if (!PyUnicode_Check(words[n])) return false;
        const ShortWord key = short_word(words[n]);
        lists[n] = lexicon_.memo.find(key);
        if (lists[n] >= 0) continue;
        texts_[waiting_] = text_of(words[n]);
        keys_[waiting_] = key;
        places_[waiting_] = lists + n;
        if (++waiting_ == kTogether) finish();
    }
    return true;
}

void Reader::finish() {
    int32_t numbers[kTogether];
    lexicon_.lexicon.find_all(texts_, waiting_, numbers);
    for (int64_t n = 0; n < waiting_; ++n) {
        *places_[n] = numbers[n];
        if (keys_[n].high) lexicon_.memo.remember(keys_[n], numbers[n]);
    }
    waiting_ = 0;
}

}  // namespace tagline::bindings
