// Levels of x86-64 from registers that are made up here: each missing bit takes a processor down to the level below.
#include "runtime/processor.h"

#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

using tagline::X86Answers;

namespace {

struct Bit {
    int leaf, bit, level_without;
};

// By the tables of the processors' manuals: leaf 1 (ECX), 7 (EBX), 8 for 0x80000001 (ECX), 0 for XCR0.
const std::vector<Bit> kBits = {
    {1, 0, 1},  {1, 9, 1},  {1, 13, 1}, {1, 19, 1}, {1, 20, 1}, {1, 23, 1}, {8, 0, 1},  {1, 12, 2}, {1, 22, 2},
    {1, 27, 2}, {1, 28, 2}, {1, 29, 2}, {7, 3, 2},  {7, 5, 2},  {7, 8, 2},  {8, 5, 2},  {0, 1, 2},  {0, 2, 2},
    {7, 16, 3}, {7, 17, 3}, {7, 28, 3}, {7, 30, 3}, {7, 31, 3}, {0, 5, 3},  {0, 6, 3},  {0, 7, 3},
};

void put(X86Answers& answers, const Bit& bit, bool value) {
    const auto set = [&](auto& word) {
        using Word = std::remove_reference_t<decltype(word)>;
        word = value ? word | Word(1) << bit.bit : word & ~(Word(1) << bit.bit);
    };
    if (bit.leaf == 0) set(answers.xcr0);
    if (bit.leaf == 1) set(answers.leaf_1_ecx);
    if (bit.leaf == 7) set(answers.leaf_7_ebx);
    if (bit.leaf == 8) set(answers.extended_ecx);
}

bool expect(const char* what, const Bit& bit, const X86Answers& answers, int wanted) {
    if (tagline::x86_level(answers) == wanted) return true;
    std::printf("%s leaf %d, bit %d: got level %d, expected %d\n", what, bit.leaf, bit.bit, tagline::x86_level(answers),
                wanted);
    return false;
}

}  // namespace

// False after the first level that is wrong, which is printed.
bool check_levels() {
    X86Answers needed{};
    for (const Bit& bit : kBits) put(needed, bit, true);
    const X86Answers everything{~0u, ~0u, ~0u, ~uint64_t(0)};
    if (!expect("all of", {}, needed, 4) || !expect("none of", {}, {}, 1)) return false;
    for (const Bit& bit : kBits) {
        X86Answers without = everything;
        put(without, bit, false);
        if (!expect("without", bit, without, bit.level_without)) return false;
    }
    std::printf("levels of x86-64: %d comparisons hold\n", int(kBits.size()) + 2);
    return true;
}
