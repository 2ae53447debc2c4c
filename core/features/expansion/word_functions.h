// Functions of words that templates may name, for words of ASCII: features/templates/word_functions.py defines them, for all words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tagline {

enum class WordFunction { lower, nfkc, digits, shape, shortshape, prefix, suffix };

struct WordStep {
    WordFunction function;
    size_t size = 0;  // of a prefix or suffix
};

// The step with this name, such as lower or suffix3; nothing where there is none.
std::optional<WordStep> word_step(std::string_view name);

// What steps, the first one first, make of a word, in `out`; false where one has nothing to say of it.
bool take_steps(std::span<const WordStep> steps, std::string_view word, std::string& out);

}  // namespace tagline
