// Words as they come from Python, looked up in a lexicon.
#pragma once

#include "bindings/arrays.h"
#include "bindings/features/vocabulary.h"
#include "trigram/lexicon.h"

namespace tagline::bindings {

// A lexicon and what was looked up in it lately; whoever asks holds the GIL, or the lock of the Python object.
struct OwnLexicon {
    VocabularyParts words, small, capital;
    Lexicon lexicon;
    WordMemo memo;

    OwnLexicon(const VocabularyParts& given_words, const VocabularyParts& given_small,
               const VocabularyParts& given_capital, int64_t longest);

    Result<int32_t> find(const nb::list& words);
};

// Looks up the words of sentences in their order; those that the memo does not have wait for each other, so that memory
// answers several at once.
class Reader {
public:
    explicit Reader(OwnLexicon& lexicon) : lexicon_(lexicon) {}

    // Number strings; false for anything but strings.
    bool read(PyObject** words, Py_ssize_t count, int32_t* lists);

    // Number those that still wait.
    void finish();

private:
    static constexpr int64_t kTogether = 32;

    OwnLexicon& lexicon_;
    Word texts_[kTogether];
    ShortWord keys_[kTogether];
    int32_t* places_[kTogether];
    int64_t waiting_ = 0;
};

}  // namespace tagline::bindings
