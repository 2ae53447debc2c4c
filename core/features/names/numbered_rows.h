// Rows of numbers from rows of names, one a token.
#pragma once

#include "features/names/named_sentence.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tagline {

// Names are looked up in a finished vocabulary (unknown ones are left out), or numbered in the order of their first use,
// or hashed to 2^bits numbers. A look-up waits for memory several times, so that those of a sentence are made together:
// rows are there when their sentence has ended.
class NumberedRows {
public:
    NumberedRows() : names_(std::in_place) {}
    explicit NumberedRows(const VocabularyView& known) : known_(known) {}
    explicit NumberedRows(int hash_bits) : hash_bits_(hash_bits) {}

    void add(const NamedAttributes& token);
    void end_sentence();

    std::vector<int64_t> offsets{0};  // [N + 1]
    std::vector<int32_t> ids;         // [M]
    std::vector<float> values;        // [M], or empty where all of them are 1

    bool builds() const { return names_.has_value(); }
    VocabularyArrays finish() { return names_->finish(); }

private:
    std::optional<Names> names_;
    std::optional<VocabularyView> known_;
    int hash_bits_ = 0;
    NamedSentence sentence_;  // what is looked up at its end
    NamedSentence::Numbers numbers_;

    void append(int32_t id, double value);
};

}  // namespace tagline
