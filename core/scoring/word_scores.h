// Emissions straight from the words of sentences, for templates. What the lines that look at one word add up to is known
// of each distinct word, for each row of the template (word_sums.h); the attributes of all other lines are looked up.
//
//     e_n = Σ over columns and rows r of sums[word at n + r, r]  +  Σ of the weights of the attributes of several words
//
// The order of these sums is that of rows and lines: nothing depends on the batch, the threads or the words before.
#pragma once

#include "features/expansion/contexts.h"
#include "features/expansion/word_functions.h"
#include "scoring/word_sums.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tagline {

// What lines take from the words of a column: the words as they are, what functions make of those of ASCII, or, where it
// is not native, what the caller says.
struct WordDerivation {
    size_t column;
    std::vector<WordStep> steps;
    bool native = true;
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
    // The weights and the vocabulary stay where they are. `alone` has the lines that look at one word, by column;
    // `several` those that look at more than one, or at none: its sources have no words yet, and source k takes them from
    // derivation several_derivations[k].
    WordScores(const NumberedWeights& known, std::vector<WordDerivation> derivations, std::vector<WordLines> alone,
               Expansion several, std::vector<size_t> several_derivations);

    WordScores(const WordScores&) = delete;
    WordScores& operator=(const WordScores&) = delete;

    size_t num_columns() const { return sums_.size(); }
    const WordSums& sums(size_t column) const { return sums_[column]; }
    const std::vector<WordDerivation>& derivations() const { return derivations_; }
    int64_t num_labels() const { return known_.layout.L(); }

    // The number of a word of a column; −1 where it was not added.
    int32_t find(size_t column, std::string_view word) const {
        const int32_t index = words_[column].find(word);
        return index < 0 ? -1 : int32_t(sums_[column].paddings()) + index;
    }

    // More words of a column, each for the first time, by derivation; what is empty there is derived from the names. The
    // paddings come first, and have no names.
    void add(size_t column, std::span<const std::string_view> names, size_t count, std::vector<Words> words);

    // Score B sentences: numbers[c][n] is the word of token n in column c, out [N, L]. False when interrupted.
    bool emissions(const std::vector<const int32_t*>& numbers, const int64_t* offsets, int64_t B, float* out,
                   const Interrupted& interrupted);

private:
    struct Worker {  // what one share of the sentences needs
        std::unique_ptr<SeveralWords> several;
        OccurrenceLists lists;
        std::vector<uint32_t> scratch;
    };
    const NumberedWeights known_;
    std::vector<WordDerivation> derivations_;
    std::vector<WordLines> alone_;  // by column
    std::vector<WordSums> sums_;    // by column
    Expansion several_;
    Contexts contexts_;  // of these lines
    std::vector<size_t> several_derivations_;  // by source
    std::vector<Names> words_;                 // by column
    std::vector<Names> seen_;                  // by source
    std::vector<std::unique_ptr<Worker>> workers_;

    std::unique_ptr<SeveralWords> new_several() const;
    void add(size_t source, const Words& words);
    void score(Worker& worker, const std::vector<const int32_t*>& numbers, int64_t first, int64_t last, float* out);
};

}  // namespace tagline
