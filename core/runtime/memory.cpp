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
// Large blocks that were released last wait for whoever asks for their size next, as a gradient does evaluation by
// evaluation: the system clears a fresh block, page by page, which takes a tenth of an evaluation (CoNLL-2000, all pairs
// of labels) and three quarters of the gradient of two short sentences with 300 labels. They are kept as long as the
// process lives: one of up to 128 MB, and a few of less than a huge page. Nobody waits for the lock: a fork may have left
// it behind.
constexpr size_t kLeastSpare = size_t(1) << 17, kLargestSpare = size_t(1) << 27;
constexpr int kSmallSpares = 4;
std::mutex spare_lock;
void* large_spare = nullptr;
void* small_spares[kSmallSpares] = {};
size_t oldest_spare = 0;  // among the small ones, counted on and on

bool is_huge(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % kHugePage == 0; }

// A block that is not much larger than what is asked for.
bool fits(void* spare, size_t bytes, size_t more) {
    const size_t size = spare ? malloc_usable_size(spare) : 0;
    return size >= bytes && size <= bytes + more;
}

void* take_spare(size_t bytes) {
    const std::unique_lock<std::mutex> lock(spare_lock, std::try_to_lock);
    if (!lock) return nullptr;
    if (bytes >= kHugePage) return fits(large_spare, bytes, kHugePage) ? std::exchange(large_spare, nullptr) : nullptr;
    for (void*& spare : small_spares)
        if (fits(spare, bytes, bytes / 4)) return std::exchange(spare, nullptr);
    return nullptr;
}

// The block to free in its place.
void* keep_spare(void* memory) {
    const size_t size = malloc_usable_size(memory);
    if (size < kLeastSpare || size > kLargestSpare) return memory;
    const std::unique_lock<std::mutex> lock(spare_lock, std::try_to_lock);
    if (!lock) return memory;
    if (size >= kHugePage) return is_huge(memory) ? std::exchange(large_spare, memory) : memory;
    for (void*& spare : small_spares)
        if (!spare) return std::exchange(spare, memory);
    return std::exchange(small_spares[oldest_spare++ % kSmallSpares], memory);
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
#if defined(TAGLINE_SPARE)
    if (bytes >= kLeastSpare)
        if (void* memory = take_spare(bytes)) return memory;
#endif
    return allocate(kAlignment, bytes);
}

void aligned_release(void* memory) noexcept {
#if defined(_WIN32)
    _aligned_free(memory);
#else
#if defined(TAGLINE_SPARE)
    if (memory) memory = keep_spare(memory);
#endif
    std::free(memory);
#endif
}

}  // namespace tagline
