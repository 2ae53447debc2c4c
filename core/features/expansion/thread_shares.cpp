#include "features/expansion/thread_shares.h"

#include "runtime/memory.h"

#include <atomic>
#include <utility>

namespace tagline {

namespace {

// The memory of the rows that were given back last, for the next ones: clearing fresh pages is a twentieth of a
// look-up. Its first bytes hold its size. There is no lock: at a fork another thread could hold it, and the child would
// wait for ever.
class Spare {
public:
    static void* take(size_t bytes) {
        if (bytes < kLeast) return nullptr;
        void* memory = memory_.exchange(nullptr);
        if (!memory) return nullptr;
        const size_t size = *static_cast<const size_t*>(memory);
        if (bytes <= size && bytes >= size / 4) return memory;
        keep(memory);
        return nullptr;
    }

    static void give(void* memory, size_t bytes) {
        if (bytes >= kLeast && bytes <= kMost) {
            *static_cast<size_t*>(memory) = bytes;
            memory = memory_.exchange(memory);
        }
        if (memory) aligned_release(memory);
    }

private:
    // Put memory back, unless there is other memory by now.
    static void keep(void* memory) {
        void* none = nullptr;
        if (!memory_.compare_exchange_strong(none, memory)) aligned_release(memory);
    }

    static constexpr size_t kLeast = size_t{1} << 20, kMost = size_t{1} << 23;
    static inline constinit std::atomic<void*> memory_{nullptr};  // never released: rows may be given back at the end
};

std::unique_ptr<int32_t[], GiveBack> allocate(int64_t count) {
    const size_t bytes = size_t(count) * sizeof(int32_t);
    void* memory = Spare::take(bytes);
    if (!memory) memory = aligned_allocate(size_t(count), sizeof(int32_t));
    return {static_cast<int32_t*>(memory), GiveBack{bytes}};
}

}  // namespace

void GiveBack::operator()(void* memory) const { Spare::give(memory, bytes); }

size_t most_macros(const Expansion& expansion) {
    size_t most = 1;
    for (const Skeleton& skeleton : expansion.skeletons) most = std::max(most, skeleton.macros.size());
    return most;
}

RowsByShare::RowsByShare(const Expansion& expansion)
    : room_(int64_t(expansion.skeletons.size())),
      ids_(allocate(expansion.tokens() * room_ + 1)),  // one more: a row is written before it is known to count
      counts_(size_t(expansion.tokens())) {}

bool RowsByShare::close(const Expansion& expansion, const ThreadShares& shares, ExpandedRows& rows,
                        const Interrupted& interrupted) {
    const int64_t N = expansion.tokens();
    rows.offsets.resize(size_t(N) + 1);
    rows.offsets[0] = 0;
    for (int64_t n = 0; n < N; ++n) rows.offsets[size_t(n) + 1] = rows.offsets[size_t(n)] + counts_[size_t(n)];
    if (shares.count() == 1 || rows.offsets[size_t(N)] == N * room_) {
        rows.ids = std::move(ids_);
        return true;
    }
    rows.ids = allocate(rows.offsets[size_t(N)]);
    int stop = 0;
    return run(shares.count(), shares.small, stop, interrupted, [&](long k) {
        const int64_t first = shares.offsets[size_t(k)], last = shares.offsets[size_t(k) + 1];
        const int64_t from = rows.offsets[size_t(expansion.offsets[first])];
        const int64_t to = rows.offsets[size_t(expansion.offsets[last])];
        std::copy_n(begin(expansion, first), to - from, rows.ids.get() + from);
    });
}

}  // namespace tagline
