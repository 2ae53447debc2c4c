#include "runtime/memory.h"

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tagline {

namespace {

[[maybe_unused]] constexpr size_t kHugePage = size_t(1) << 21;

}  // namespace

void* aligned_allocate(size_t count, size_t size) {
    const size_t bytes = aligned_bytes(count, size);
#if defined(__linux__)
    if (bytes >= kHugePage) {  // weights are read here and there: 3 % of an evaluation saved (CoNLL-2000)
        void* memory = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
        if (!memory) throw std::bad_alloc();
        madvise(memory, bytes, MADV_HUGEPAGE);
        return memory;
    }
#endif
    void* memory = std::aligned_alloc(kAlignment, bytes);
    if (!memory) throw std::bad_alloc();
    return memory;
}

void aligned_release(void* memory) noexcept { std::free(memory); }

}  // namespace tagline
