// Spreading sentences over the pool: contiguous blocks of about equal numbers of tokens, fixed by the batch alone, so
// that sums over blocks come out in the same order for any number of threads.
#pragma once

#include "chain/kernels.h"
#include "runtime/pool.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

namespace tagline {

constexpr int64_t kMostBlocks = 32;
constexpr int64_t kBlockWork = 400'000;    // label pairs, 10 to 40 µs; no smaller blocks
constexpr int64_t kSmallWork = 1'000'000;  // 0.1 to 0.4 ms; below it, waking a thread costs more than it saves
constexpr int64_t kBriefWork = 5'000'000;  // below it, all is done before anybody would want to interrupt it

struct Blocks {
    std::vector<int64_t> offsets;  // sentences of block k: offsets[k] … offsets[k + 1] − 1
    bool small, brief;  // all of them together
    bool each_brief;

    // `abreast`: sentences may go one a lane, see kernels/abreast.h.
    Blocks(const int64_t* token_offsets, int64_t B, int64_t L, int64_t most = kMostBlocks, bool abreast = false) {
        const int64_t tokens = token_offsets[B];
        const double work = double(tokens) * double(L) * double(L);
        small = work < double(kSmallWork);
        brief = work < double(kBriefWork);
        const int64_t wanted = std::clamp<int64_t>(int64_t(work / double(kBlockWork)), 1, most);
        const int64_t together = sentences_together(B, L, wanted, abreast);
        offsets.push_back(0);
        for (int64_t b = together; b < B; b += together)
            if (token_offsets[b] * wanted >= tokens * int64_t(offsets.size())) offsets.push_back(b);
        offsets.push_back(B);
        int64_t most_tokens = 0;
        for (size_t k = 1; k < offsets.size(); ++k)
            most_tokens = std::max(most_tokens, token_offsets[offsets[k]] - token_offsets[offsets[k - 1]]);
        each_brief = double(most_tokens) * double(L) * double(L) < double(kBriefWork);
    }

    int64_t count() const { return int64_t(offsets.size()) - 1; }

    // Where sentences take longer than their label pairs tell, somebody may want to interrupt any block.
    void take_longer() { brief = each_brief = false; }

private:
    // Whole groups, where that leaves blocks for some threads: 16 of them, or 4 where lanes are worth more than that
    // (with up to 32 labels they are twice as fast, or more). Half a group of the widest vectors fills those of AVX2: with
    // 8 blocks of it, 64 sentences of 45 labels take 0.7 of the time there.
    static int64_t sentences_together(int64_t B, int64_t L, int64_t wanted, bool abreast) {
        const auto leaves_blocks = [&](int64_t size, int64_t few) { return B >= size * std::min(wanted, few); };
        if (abreast && leaves_blocks(kMostAbreast, L <= 32 ? 4 : 16)) return kMostAbreast;
        if (abreast && leaves_blocks(kMostAbreast / 2, L <= 16 ? 4 : 8)) return kMostAbreast / 2;
        return leaves_blocks(kGroup, 16) ? kGroup : 1;
    }
};

// Sentences by length, the longest first, equal ones in their order: so those that go through the kernels together are
// alike. Blocks of such an order are fixed by the batch alone, too.
struct ByLength {
    std::vector<int64_t> order;          // [B] sentences with tokens come first
    std::vector<int64_t> token_offsets;  // [B + 1] of the sentences in this order

    ByLength(const int64_t* offsets, int64_t B) : order(size_t(B)), token_offsets(size_t(B) + 1) {
        const auto length = [&](int64_t b) { return offsets[b + 1] - offsets[b]; };
        int64_t longest = 0;
        for (int64_t b = 0; b < B; ++b) longest = std::max(longest, length(b));
        if (longest <= 4 * B + 1024) {  // few lengths: by counting them
            std::vector<int64_t> begins(size_t(longest) + 2, 0);  // of a length, those above it come before
            for (int64_t b = 0; b < B; ++b) ++begins[size_t(longest - length(b)) + 1];
            std::partial_sum(begins.begin(), begins.end(), begins.begin());
            for (int64_t b = 0; b < B; ++b) order[size_t(begins[size_t(longest - length(b))]++)] = b;
        } else {
            std::iota(order.begin(), order.end(), int64_t(0));
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
        }
        for (size_t k = 0; k < order.size(); ++k) token_offsets[k + 1] = token_offsets[k] + length(order[k]);
    }

    bool is_empty(int64_t k) const { return token_offsets[size_t(k)] == token_offsets[size_t(k) + 1]; }
};

// Call work(count, indices) for the non-empty sentences first … last − 1 that are asked for in groups of up to `most`,
// longest first. Neighbours in length go together, whatever their place in the block; false from `work` ends it.
template <class Asked, class Work>
void for_groups(const int64_t* offsets, int64_t first, int64_t last, const Asked& asked, const Work& work,
                int most = kGroup) {
    std::vector<int64_t> order = std::move(ByLength(offsets + first, last - first).order);
    for (int64_t& b : order) b += first;
    std::erase_if(order, [&](int64_t b) { return offsets[b + 1] == offsets[b] || !asked(b); });
    for (size_t k = 0; k < order.size(); k += size_t(most)) {
        const int count = int(std::min<size_t>(size_t(most), order.size() - k));
        if (!work(count, order.data() + k)) return;
    }
}

template <class Work>
void for_groups(const int64_t* offsets, int64_t first, int64_t last, const Work& work, int most = kGroup) {
    for_groups(offsets, first, last, [](int64_t) { return true; }, work, most);
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
               [&](long k) { work(k, blocks.offsets[size_t(k)], blocks.offsets[size_t(k) + 1], &stop); },
               blocks.each_brief);
}

}  // namespace tagline
