// Which instructions this processor has, asked of the processor itself. Compilers have a builtin for it, but that needs a
// table of their runtime library, which is not linked everywhere.
#pragma once

#include <cstdint>

namespace tagline {

// What an x86-64 processor says of itself: registers of the instruction CPUID, named for its leaf, and XCR0, the
// registers that the operating system keeps when it switches threads (0 where it has not said so).
struct X86Answers {
    uint32_t leaf_1_ecx, leaf_7_ebx, extended_ecx;
    uint64_t xcr0;
};

// The level of the x86-64 psABI, 1 to 4: all instructions of x86-64-v4, for instance, can be executed where it is 4.
int x86_level(const X86Answers& answers);

// The level of this machine; 0 on other processors.
int processor_level();

}  // namespace tagline
