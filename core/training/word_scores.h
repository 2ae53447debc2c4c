// Emissions straight from the words of sentences, for templates. What the lines that look at one word add up to is known
// of each distinct word, for each row of the template; the attributes of all other lines are looked up.
//
//     e_n = Σ over columns and rows r of sums[word at n + r, r]  +  Σ of the weights of the attributes of several words
//
// The order of these sums is that of rows and lines: nothing depends on the batch, the threads or the words before.
#pragma once

#include "features/contexts.h"
#include "training/layout.h"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tagline {

// What the words of a column add to the tokens around them. The first numbers are paddings: _B-1, _B-2, … before a
// sentence, _B+1, _B+2, … behind it.
class WordSums {
public:
    // `rows` are those that the lines look at, counted from the token.
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
    int before_ = 0, after_ = 0;  // paddings
    int64_t words_ = 0, room_ = 0;
    AlignedPointer<void> memory_;  // [room_, rows, stride]
    WeightTable<float> table_;
};

// The lines that look at several words, or at none: attributes that are looked up, and remembered with their weights.
// For one thread.
class SeveralWords {
public:
    virtual ~SeveralWords() = default;

    // Add the weights of sentences first … last − 1 to out [tokens, L], or write them there.
    virtual void score(int64_t first, int64_t last, bool add, float* out) = 0;
};

// For one caller at a time; the threads of the pool share the sentences.
class WordScores {
public:
    // The weights and the vocabulary stay where they are. `several` has the lines that look at more than one word or at
    // none; its sources have no words yet, and source k looks at column columns[k].
    WordScores(const Layout& layout, const WeightTable<float>& weights, std::optional<VocabularyView> names,
               int hash_bits, std::vector<WordSums> sums, Expansion several, std::vector<size_t> columns);

    WordScores(const WordScores&) = delete;
    WordScores& operator=(const WordScores&) = delete;

    int64_t words(size_t column) const { return sums_[column].words(); }
    size_t num_columns() const { return sums_.size(); }
    const WordSums& sums(size_t column) const { return sums_[column]; }
    const std::vector<size_t>& columns() const { return columns_; }
    int64_t num_labels() const { return layout_.L(); }

    // The number of a word of a column, which must have been added; −1 where it is not known.
    int32_t find(size_t column, std::string_view word) const {
        const int32_t index = words_[column].find(word);
        return index < 0 ? -1 : int32_t(sums_[column].paddings()) + index;
    }

    using Words = std::vector<std::optional<std::string_view>>;  // nothing where there is no attribute

    // More words of a column, each for the first time: their sums [count, rows, L], and the words as each of the sources
    // on it has them. The paddings come first, and have no names.
    void add(size_t column, std::span<const std::string_view> names, const float* sums, int64_t count,
             std::span<const Words> words);

    // Score B sentences: numbers[c][n] is the word of token n in column c, out [N, L]. False when interrupted.
    bool emissions(const std::vector<const int32_t*>& numbers, const int64_t* offsets, int64_t B, float* out,
                   const Interrupted& interrupted);

private:
    struct Worker {  // what one share of the sentences needs
        std::unique_ptr<SeveralWords> several;
        OccurrenceLists lists;
        std::vector<uint32_t> scratch;
    };
    const Layout& layout_;
    const WeightTable<float> weights_;
    std::optional<VocabularyView> names_;
    int hash_bits_;
    std::vector<WordSums> sums_;  // by column
    Expansion several_;
    Contexts contexts_;  // of these lines
    std::vector<size_t> columns_;  // by source
    std::vector<Names> words_;     // by column
    std::vector<Names> seen_;      // by source
    std::vector<std::unique_ptr<Worker>> workers_;

    std::unique_ptr<SeveralWords> new_several() const;
    void score(Worker& worker, const std::vector<const int32_t*>& numbers, int64_t first, int64_t last, float* out);
};

}  // namespace tagline
