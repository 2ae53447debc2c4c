#include "features/expansion/word_functions.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tagline {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
char lower(char c) { return is_upper(c) ? char(c - 'A' + 'a') : c; }
char digit_as_zero(char c) { return is_digit(c) ? '0' : c; }
char kind(char c) { return is_upper(c) ? 'X' : is_lower(c) ? 'x' : is_digit(c) ? 'd' : c; }

void take_step(const WordStep step, std::string& word) {
    const auto each = [&](char (*change)(char)) { std::transform(word.begin(), word.end(), word.begin(), change); };
    switch (step.function) {
        case WordFunction::lower: return each(lower);
        case WordFunction::nfkc: return;
        case WordFunction::digits: return each(digit_as_zero);
        case WordFunction::shape: return each(kind);
        case WordFunction::shortshape:
            each(kind);
            word.erase(std::unique(word.begin(), word.end()), word.end());
            return;
        case WordFunction::prefix:
            word.resize(word.size() < step.size ? 0 : step.size);
            return;
        case WordFunction::suffix: word.erase(0, word.size() < step.size ? word.size() : word.size() - step.size);
    }
}

}  // namespace

std::optional<WordStep> word_step(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, WordFunction>, 5> names{{{"lower", WordFunction::lower},
                                                                              {"nfkc", WordFunction::nfkc},
                                                                              {"digits", WordFunction::digits},
                                                                              {"shape", WordFunction::shape},
                                                                              {"shortshape", WordFunction::shortshape}}};
    for (const auto& [known, function] : names)
        if (name == known) return WordStep{function};
    const std::string_view affix = name.substr(0, 6);
    if (name.size() != 7 || name[6] < '1' || name[6] > '9' || (affix != "prefix" && affix != "suffix"))
        return std::nullopt;
    return WordStep{affix == "prefix" ? WordFunction::prefix : WordFunction::suffix, size_t(name[6] - '0')};
}

bool take_steps(std::span<const WordStep> steps, std::string_view word, std::string& out) {
    out.assign(word);
    for (const WordStep step : steps) {
        take_step(step, out);
        if (out.empty()) return false;
    }
    return true;
}

}  // namespace tagline
