// Memory for everybody: 64-byte aligned blocks, which the kernels read in whole vectors, and vectors that grow without
// being filled. At the top of the flow; nothing here knows what the memory holds.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace tagline {

constexpr size_t kAlignment = 64;

// The bytes that `count` elements of `size` bytes take, rounded up to whole alignments and never 0; throws
// std::bad_alloc where that is too much.
inline size_t aligned_bytes(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > (size_t{1} << 62)) throw std::bad_alloc();
    return bytes ? (bytes + kAlignment - 1) / kAlignment * kAlignment : kAlignment;
}

// That much memory, uninitialised.
void* aligned_allocate(size_t count, size_t size);
void aligned_release(void* memory) noexcept;

struct AlignedRelease {
    void operator()(void* memory) const noexcept { aligned_release(memory); }
};

template <class T>
using AlignedPointer = std::unique_ptr<T, AlignedRelease>;

// A vector whose new elements are left unset unless a value is given for them.
template <class T>
struct UnsetAllocator : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = UnsetAllocator<U>;
    };
    template <class U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }
};

template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace tagline
