// Scratch memory that grows and is used again: 64-byte aligned, freed as one. Every recursion takes its tables from
// here.
//
// The kernels include this header: it holds no inline code, see chain/kernels.h.
#pragma once

#include <cstddef>

namespace tagline {

class Arena {
public:
    Arena();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // Hand out `count` elements of `size` bytes, uninitialised; throws std::bad_alloc where that is too much.
    void* take(size_t count, size_t size);

    // Forget everything taken; the memory stays for the next sentence.
    void reset();

private:
    struct Block;
    struct Spare;
    static thread_local Spare spare;
    Block* blocks_;   // newest first
    size_t used_;     // of the newest block
};

}  // namespace tagline
