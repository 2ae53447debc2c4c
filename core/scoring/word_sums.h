// What the lines that look at one word add to the tokens around it, summed once for each distinct word of a column.
#pragma once

#include "features/expansion/expansion.h"
#include "training/layout.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tagline {

// Where attributes are looked up: in a vocabulary, or by their hashes where there is none; and their weights.
struct NumberedWeights {
    const Layout& layout;
    WeightTable<float> weights;
    std::optional<VocabularyView> names;
    int hash_bits = 0;
};

using Words = std::vector<std::optional<std::string_view>>;  // nothing where there is no attribute

// Lines of one column, with the row of each; in the lines themselves the row is 0.
class WordLines {
public:
    // Source k takes its words from derivations[k]; there are no paddings.
    WordLines(Expansion lines, std::vector<size_t> derivations, std::vector<int> rows);

    const std::vector<int>& rows() const { return rows_; }  // each once, ascending

    // What the lines add up to for so many words, given as each derivation has them: [count, rows, L].
    std::vector<float> sums(const NumberedWeights& known, const std::vector<Words>& words, size_t count);

private:
    struct Question {
        size_t word, skeleton;
    };
    Expansion lines_;
    std::vector<size_t> derivations_;  // by source
    std::vector<int> rows_;
    std::vector<size_t> places_;  // by line: which of the rows
    std::vector<Question> questions_;
    std::vector<uint64_t> hashes_;
    std::vector<int32_t> ids_;

    void load(const std::vector<Words>& words, size_t first, size_t last);
    bool codes_of(const Body& body, size_t word, std::vector<uint32_t>& codes) const;
    void ask(size_t count);
    void find(const NumberedWeights& known);
};

// The sums of all words of a column that are known, by number. The first numbers are paddings: _B-1, _B-2, … before a
// sentence, _B+1, _B+2, … behind it.
class WordSums {
public:
    WordSums(std::vector<int> rows, int64_t L, int64_t stride);

    int64_t words() const { return words_; }
    int64_t rows() const { return int64_t(rows_.size()); }
    int64_t paddings() const { return before_ + after_; }
    const WeightTable<float>& table() const { return table_; }

    // More words: sums [count, rows, L].
    void add(const float* sums, int64_t count);

    // Append the sums that the tokens of a sentence add up, given the numbers of its words.
    void place(const int32_t* numbers, int64_t T, OccurrenceLists& lists, std::vector<uint32_t>& scratch) const;

private:
    std::vector<int> rows_;
    int before_ = 0, after_ = 0;
    int64_t words_ = 0, room_ = 0;
    AlignedPointer<void> memory_;  // [room_, rows, stride]
    WeightTable<float> table_;
};

}  // namespace tagline
