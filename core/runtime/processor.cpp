#include "runtime/processor.h"

#include "runtime/compiler.h"

#include <initializer_list>

#if defined(TAGLINE_X86)
#include <cpuid.h>
#endif

namespace tagline {

static bool has_all(uint32_t answer, std::initializer_list<int> bits) {
    for (const int bit : bits)
        if (!(answer >> bit & 1)) return false;
    return true;
}

int x86_level(const X86Answers& answers) {
    // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
    if (!has_all(answers.leaf_1_ecx, {0, 9, 13, 19, 20, 23}) || !has_all(answers.extended_ecx, {0})) return 1;
    // FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT
    if (!has_all(answers.leaf_1_ecx, {12, 22, 27, 28, 29}) || !has_all(answers.leaf_7_ebx, {3, 5, 8}) ||
        !has_all(answers.extended_ecx, {5}))
        return 2;
    constexpr uint64_t sse_and_avx = 0x06, avx512 = 0xe0;  // of XCR0
    if ((answers.xcr0 & sse_and_avx) != sse_and_avx) return 2;
    // AVX512F, AVX512DQ, AVX512CD, AVX512BW, AVX512VL. macOS switches their registers on when they are first used, and
    // says before that it does not keep them: such a machine counts as 3.
    if (!has_all(answers.leaf_7_ebx, {16, 17, 28, 30, 31}) || (answers.xcr0 & avx512) != avx512) return 3;
    return 4;
}

int processor_level() {
#if defined(TAGLINE_X86)
    X86Answers answers{};
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) answers.leaf_1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) answers.leaf_7_ebx = ebx;
    if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx)) answers.extended_ecx = ecx;
    if (has_all(answers.leaf_1_ecx, {27})) {  // OSXSAVE: XGETBV may be executed
        uint32_t low = 0, high = 0;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        answers.xcr0 = uint64_t(high) << 32 | low;
    }
    return x86_level(answers);
#else
    return 0;
#endif
}

}  // namespace tagline
