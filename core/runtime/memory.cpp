#include "runtime/memory.h"

#include <cstdlib>
#include <new>

#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <mutex>
#include <utility>
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

#if defined(__linux__) && !defined(TAGLINE_SANITIZED)  // a sanitizer is to see who uses a block afterwards
#define TAGLINE_SPARE
// The large block that was released last waits for the next one who asks for its size, as a gradient does evaluation by
// evaluation: the system clears a fresh block, which takes a tenth of an evaluation (CoNLL-2000, all pairs of labels). It is kept as long as the process
// lives. Nobody waits for the lock: a fork may have left it behind.
constexpr size_t kLargestSpare = size_t(1) << 27;
std::mutex spare_lock;
void* spare = nullptr;

bool is_large(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % kHugePage == 0; }

void* take_spare(size_t bytes) {
    const std::unique_lock<std::mutex> lock(spare_lock, std::try_to_lock);
    if (!lock) return nullptr;
    const size_t size = spare ? malloc_usable_size(spare) : 0;
    return size >= bytes && size <= bytes + kHugePage ? std::exchange(spare, nullptr) : nullptr;
}

// The block to free in its place.
void* keep_spare(void* memory) {
    const size_t size = malloc_usable_size(memory);
    if (size < kHugePage || size > kLargestSpare) return memory;
    const std::unique_lock<std::mutex> lock(spare_lock, std::try_to_lock);
    return lock ? std::exchange(spare, memory) : memory;
}
#endif

}  // namespace

void* aligned_allocate(size_t count, size_t size) {
    const size_t bytes = aligned_bytes(count, size);
#if defined(__linux__)
    if (bytes >= kHugePage) {  // weights are read here and there: 3 % of an evaluation saved (CoNLL-2000)
        const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
#if defined(TAGLINE_SPARE)
        if (void* memory = take_spare(whole)) return memory;
#endif
        void* memory = allocate(kHugePage, whole);
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
#if defined(TAGLINE_SPARE)
    if (memory && is_large(memory)) memory = keep_spare(memory);
#endif
    std::free(memory);
#endif
}

}  // namespace tagline
