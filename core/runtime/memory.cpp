#include "runtime/memory.h"

#include <cstdlib>
#include <new>

#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#endif

namespace tagline {

namespace {

[[maybe_unused]] constexpr size_t kHugePage = size_t(1) << 21;

// std::aligned_alloc is not to be had on Windows, nor on older systems of Apple.
void* allocate(size_t alignment, size_t bytes) {
#if defined(_WIN32)
    void* memory = _aligned_malloc(bytes, alignment);
#else
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes) != 0) memory = nullptr;
#endif
    if (!memory) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* aligned_allocate(size_t count, size_t size) {
    const size_t bytes = aligned_bytes(count, size);
#if defined(__linux__)
    if (bytes >= kHugePage) {  // weights are read here and there: 3 % of an evaluation saved (CoNLL-2000)
        void* memory = allocate(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
        madvise(memory, bytes, MADV_HUGEPAGE);
        return memory;
    }
#endif
    return allocate(kAlignment, bytes);
}

void aligned_release(void* memory) noexcept {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

}  // namespace tagline
