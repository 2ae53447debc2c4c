// Scratch memory that grows and is used again: 64-byte aligned, freed as one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

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
    Block* blocks_;   // newest first
    size_t used_;     // of the newest block
};

// 64-byte aligned memory outside an arena; null only for std::bad_alloc, which is thrown.
void* aligned_allocate(size_t count, size_t size);
void aligned_release(void* memory) noexcept;

// A vector whose new elements are left unset where nothing is given for them.
template <class T>
struct Unset : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Unset<U>;
    };
    template <class U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... Given>
    void construct(U* at, Given&&... given) {
        ::new (static_cast<void*>(at)) U(std::forward<Given>(given)...);
    }
};

template <class T>
using Room = std::vector<T, Unset<T>>;

}  // namespace tagline
