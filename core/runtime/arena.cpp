#include "runtime/arena.h"

#include "runtime/memory.h"

namespace tagline {

namespace {

constexpr size_t kFirstBlock = size_t{1} << 16;

}  // namespace

struct alignas(kAlignment) Arena::Block {
    Block* older;
    size_t capacity;
    char* data() { return reinterpret_cast<char*>(this + 1); }
};

// A block that waits for the next arena of its thread: the system clears fresh memory, and where malloc gives it back
// after each call, that takes more time than a gradient does (one sentence of 512 tokens, 45 labels: 2.4 times). Larger
// blocks have runtime/memory.cpp. A sanitizer is to see who uses a block afterwards.
#if defined(TAGLINE_SANITIZED)
constexpr size_t kLargestSpare = 0;
#else
constexpr size_t kLargestSpare = size_t{1} << 21;
#endif

struct Arena::Spare {
    Block* block = nullptr;
    ~Spare() { aligned_release(block); }
};

thread_local Arena::Spare Arena::spare;

Arena::Arena() : blocks_(nullptr), used_(0) {}

Arena::~Arena() {
    if (blocks_ && blocks_->capacity <= kLargestSpare && (!spare.block || spare.block->capacity < blocks_->capacity)) {
        Block* kept = blocks_;  // the newest, the largest
        blocks_ = kept->older;
        aligned_release(spare.block);
        spare.block = kept;
    }
    while (blocks_) {
        Block* older = blocks_->older;
        aligned_release(blocks_);
        blocks_ = older;
    }
}

void* Arena::take(size_t count, size_t size) {
    const size_t bytes = aligned_bytes(count, size);
    if (!blocks_ || blocks_->capacity - used_ < bytes) {
        size_t capacity = blocks_ ? blocks_->capacity * 2 : kFirstBlock;
        if (capacity < bytes) capacity = bytes;
        Block* block = spare.block;
        if (block && block->capacity >= bytes) {
            spare.block = nullptr;
        } else {
            block = static_cast<Block*>(aligned_allocate(1, sizeof(Block) + capacity));
            block->capacity = capacity;
        }
        block->older = blocks_;
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

}  // namespace tagline
