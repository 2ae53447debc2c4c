// How threads share an expansion: each gets a run of the sentences, its share, and writes the rows of those. Nothing in
// a result depends on how the sentences were cut.
#pragma once

#include "features/expansion/expansion.h"
#include "runtime/pool.h"

#include <algorithm>
#include <vector>

namespace tagline {

constexpr int64_t kSmallTokens = 2'000;  // below it, waking a thread costs more than it saves
constexpr int64_t kTogether = 160;       // tokens, at least, that are worked on together

struct ThreadShares {
    std::vector<int64_t> offsets{0};  // share k: sentences offsets[k] … offsets[k + 1] − 1
    bool small;

    explicit ThreadShares(const Expansion& expansion) : small(expansion.tokens() < kSmallTokens) {
        const int64_t tokens = expansion.tokens();
        const int64_t wanted = small ? 1 : std::min<int64_t>(threads(), tokens / kSmallTokens + 1);
        for (int64_t b = 0; b + 1 < expansion.B; ++b)
            if (expansion.offsets[b + 1] * wanted >= tokens * int64_t(offsets.size())) offsets.push_back(b + 1);
        offsets.push_back(expansion.B);
    }

    long count() const { return long(offsets.size()) - 1; }
};

// Call group(first, last) for runs of the sentences of a share, until `stop`.
template <class Group>
void for_runs(const Expansion& expansion, const ThreadShares& shares, long share, const int& stop, const Group& group) {
    int64_t first = shares.offsets[size_t(share)];
    const int64_t end = shares.offsets[size_t(share) + 1];
    while (first < end && !stopped(&stop)) {
        int64_t last = first + 1;
        while (last < end && expansion.offsets[last] - expansion.offsets[first] < kTogether) ++last;
        group(first, last);
        first = last;
    }
}

// The number of macros of the template with most of them; at least 1.
size_t most_macros(const Expansion& expansion);

// The rows of all shares in one array. A share writes its rows one after the other, and begins where they would if
// every template had an attribute at every token before it.
class RowsByShare {
public:
    explicit RowsByShare(const Expansion& expansion);

    int64_t room() const { return room_; }
    int32_t* begin(const Expansion& expansion, int64_t sentence) {
        return ids_.get() + expansion.offsets[sentence] * room_;
    }
    int32_t& count(int64_t token) { return counts_[size_t(token)]; }
    int32_t* counts() { return counts_.data(); }

    // Hand the rows over without the gaps between shares.
    bool close(const Expansion& expansion, const ThreadShares& shares, ExpandedRows& rows,
               const Interrupted& interrupted);

private:
    int64_t room_;
    std::unique_ptr<int32_t[], GiveBack> ids_;
    std::vector<int32_t> counts_;  // [N]
};

}  // namespace tagline
