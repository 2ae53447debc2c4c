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

Arena::Arena() : blocks_(nullptr), used_(0) {}

Arena::~Arena() {
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

}  // namespace tagline
