// What compilers and processors call by different names. The core is written in C++20 with the vector types of GCC and
// clang (on Windows clang-cl, or GCC of MinGW); whatever else they do not share stands here.
//
// Macros alone: every instruction set's copy of the kernels sees this file, and an inline function that was compiled for
// AVX-512 must never be the one that the linker keeps for everybody.
#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#error "expected GCC or clang, for their vector types; on Windows build with clang-cl: cmake -T ClangCL"
#endif

// The processor; with TAGLINE_PLAIN it counts as one that is not known.
#if (defined(__x86_64__) || defined(_M_X64)) && !defined(TAGLINE_PLAIN)
#define TAGLINE_X86
#elif (defined(__aarch64__) || defined(_M_ARM64)) && !defined(TAGLINE_PLAIN)
#define TAGLINE_ARM
#endif

// A vector type of so many bytes: typedef float Vec TAGLINE_VECTOR(16). A loose one may lie anywhere that its numbers may.
#define TAGLINE_VECTOR(bytes) __attribute__((vector_size(bytes), may_alias))
#define TAGLINE_LOOSE_VECTOR(bytes, alignment) __attribute__((vector_size(bytes), may_alias, aligned(alignment)))

// The inner loops are fast only where all that they call is inlined. The sanitized build leaves that to the compiler:
// its speed does not matter, and it compiles in three quarters of the time.
#if defined(TAGLINE_SANITIZED)
#define TAGLINE_INLINED
#else
#define TAGLINE_INLINED __attribute__((always_inline))
#endif
#define TAGLINE_APART __attribute__((noinline))

// A function for another instruction set than the rest of its file.
#define TAGLINE_FOR(instructions) __attribute__((target(instructions)))

// Lanes of two vectors by numbers that are known when the code is compiled, and of one by numbers that are not: clang has
// the first alone, GCC before 12 the second alone.
#if defined(__clang__)
#define TAGLINE_CONSTANT_SHUFFLES
#endif
