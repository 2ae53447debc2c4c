// A corpus cut into one share of sentences a thread, and the rows that the shares fill. Nothing in a result depends on
// how it was cut.
#pragma once

#include "features/expansion.h"
#include "runtime/pool.h"

#include <algorithm>
#include <vector>

namespace tagline {

constexpr int64_t kSmallTokens = 2'000;  // below it, waking a thread costs more than it saves
constexpr int64_t kTogether = 160;       // tokens, at least, that are worked on together

inline bool stopped(const int& stop) { return __atomic_load_n(&stop, __ATOMIC_RELAXED) != 0; }

struct Shares {
    std::vector<int64_t> bounds{0};  // share k: sentences bounds[k] … bounds[k + 1] − 1
    bool small;

    explicit Shares(const Expansion& expansion) : small(expansion.tokens() < kSmallTokens) {
        const int64_t tokens = expansion.tokens();
        const int64_t wanted = small ? 1 : std::min<int64_t>(threads(), tokens / kSmallTokens + 1);
        for (int64_t b = 0; b + 1 < expansion.B; ++b)
            if (expansion.bounds[b + 1] * wanted >= tokens * int64_t(bounds.size())) bounds.push_back(b + 1);
        bounds.push_back(expansion.B);
    }

    long count() const { return long(bounds.size()) - 1; }
};

// Call group(first, last) for runs of the sentences of a share, until a stop.
template <class Group>
void for_runs(const Expansion& expansion, const Shares& shares, long share, const int& stop, const Group& group) {
    int64_t first = shares.bounds[size_t(share)];
    const int64_t end = shares.bounds[size_t(share) + 1];
    while (first < end && !stopped(stop)) {
        int64_t last = first + 1;
        while (last < end && expansion.bounds[last] - expansion.bounds[first] < kTogether) ++last;
        group(first, last);
        first = last;
    }
}

size_t most_macros(const Expansion& expansion);

// The rows of all shares in one array: a share writes its rows one after the other, beginning where they would if every
// template had an attribute at every token before.
class ShareRows {
public:
    explicit ShareRows(const Expansion& expansion);

    int64_t room() const { return room_; }
    int32_t* begin(const Expansion& expansion, int64_t sentence) {
        return ids_.get() + expansion.bounds[sentence] * room_;
    }
    int32_t& count(int64_t token) { return counts_[size_t(token)]; }

    // Hand them over without the gaps between shares.
    bool close(const Expansion& expansion, const Shares& shares, AttributeRows& rows, const Interrupted& interrupted);

private:
    int64_t room_;
    std::unique_ptr<int32_t[], Release> ids_;
    std::vector<int32_t> counts_;  // [N]
};

}  // namespace tagline
