// Spreading sentences over the pool: contiguous blocks of about equal numbers of tokens, fixed by the batch alone, so
// that sums over blocks come out in the same order for any number of threads.
#pragma once

#include "chain/kernels.h"
#include "runtime/pool.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace tagline {

constexpr int64_t kMostBlocks = 32;
constexpr int64_t kSmallWork = 100'000;    // label pairs; below it, waking a thread costs more than it saves
constexpr int64_t kBriefWork = 5'000'000;  // below it, all is done before anybody would want to interrupt

struct Blocks {
    std::vector<int64_t> offsets;  // sentences of block k: offsets[k] … offsets[k + 1] − 1
    bool small, brief;

    Blocks(const int64_t* token_offsets, int64_t B, int64_t L, int64_t most = kMostBlocks) {
        const int64_t tokens = token_offsets[B];
        const double work = double(tokens) * double(L) * double(L);
        small = work < double(kSmallWork);
        brief = work < double(kBriefWork);
        const int64_t wanted = std::clamp<int64_t>(int64_t(work / double(kSmallWork)), 1, most);
        const int64_t together = B >= kGroup * wanted ? kGroup : 1;  // whole groups, where there are enough of them
        offsets.push_back(0);
        for (int64_t b = together; b < B; b += together)
            if (token_offsets[b] * wanted >= tokens * int64_t(offsets.size())) offsets.push_back(b);
        offsets.push_back(B);
    }

    int64_t count() const { return int64_t(offsets.size()) - 1; }
};

// Call work(count, indices) for the non-empty sentences first … last − 1 that are asked for in groups of up to kMost,
// longest first. Neighbours in length go together, whatever their place in the block; false from `work` ends it.
template <int kMost = kGroup, class Asked, class Work>
void for_groups(const int64_t* offsets, int64_t first, int64_t last, const Asked& asked, const Work& work) {
    std::vector<int64_t> order;
    for (int64_t b = first; b < last; ++b)
        if (offsets[b + 1] > offsets[b] && asked(b)) order.push_back(b);
    const auto longer = [&](int64_t a, int64_t b) { return offsets[a + 1] - offsets[a] > offsets[b + 1] - offsets[b]; };
    std::stable_sort(order.begin(), order.end(), longer);
    for (size_t k = 0; k < order.size(); k += kMost) {
        const int count = int(std::min<size_t>(kMost, order.size() - k));
        if (!work(count, order.data() + k)) return;
    }
}

template <int kMost = kGroup, class Work>
void for_groups(const int64_t* offsets, int64_t first, int64_t last, const Work& work) {
    for_groups<kMost>(offsets, first, last, [](int64_t) { return true; }, work);
}

// The smallest sentence that any thread reported.
class FirstSentence {
public:
    void report(int64_t sentence) {
        int64_t known = value_.load();
        while ((known < 0 || sentence < known) && !value_.compare_exchange_weak(known, sentence)) {
        }
    }
    int64_t value() const { return value_; }

private:
    std::atomic<int64_t> value_{-1};
};

// Call work(block, sentence range, stop) for every block.
template <class Work>
bool for_blocks(const Blocks& blocks, const Interrupted& interrupted, const Work& work) {
    int stop = 0;
    return run(blocks.count(), blocks.small, stop, blocks.brief ? Interrupted() : interrupted,
               [&](long k) { work(k, blocks.offsets[size_t(k)], blocks.offsets[size_t(k) + 1], &stop); });
}

}  // namespace tagline
