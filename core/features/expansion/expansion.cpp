// Expansion with numbers that are there already, from a vocabulary or from hashes; numbering.cpp makes new ones.
#include "features/expansion/expansion.h"

#include "features/expansion/finder.h"
#include "features/expansion/key_memo.h"

#include <cstdlib>
#include <new>

namespace tagline {

void Expansion::prepare() {
    for (Source& source : sources) source.prepare();
    bodies = make_bodies(sources, skeletons);
}

namespace {

// What a memo holds: 0 where nothing was looked up yet, 1 for no attribute, else id + 2.
constexpr auto kPlusTwo = [](int32_t id) { return uint32_t(id + 2); };

template <class Numbers>
using IdFinder = Finder<Numbers, KeyMemo, decltype(kPlusTwo)>;

// Write the rows of sentence b from `at` on, and to counts[n] how many ids token n has; returns the end.
int32_t* write(const Expansion& expansion, int64_t b, const std::vector<const uint32_t*>& values, int32_t* counts,
               int32_t* at) {
    const int64_t* offsets = expansion.offsets;
    for (int64_t n = offsets[b]; n < offsets[b + 1]; ++n) {
        const int32_t* begin = at;
        if (n > offsets[b] || !expansion.after_first)
            for (const uint32_t* of_template : values) {
                const uint32_t value = of_template[n - offsets[b]];
                *at = int32_t(value) - 2;
                at += value > 1;
            }
        counts[n] = int32_t(at - begin);
    }
    return at;
}

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

template <class Numbers>
bool find_all(const Expansion& expansion, ExpandedRows& rows, const Interrupted& interrupted, const Numbers& numbers) {
    const ThreadShares shares(expansion);
    const Contexts contexts = single_contexts(expansion);
    RowsByShare filled(expansion);
    std::vector<std::unique_ptr<uint32_t, Free>> owned;
    std::vector<KeyMemo> memos;
    for (const Body& body : expansion.bodies) {
        uint32_t* direct = nullptr;
        if (!body.folds() && KeyTable::fits(body.bits, expansion.tokens())) {
            direct = static_cast<uint32_t*>(std::calloc(body.skeletons.size() << body.bits, sizeof(uint32_t)));
            if (!direct) throw std::bad_alloc();
            owned.emplace_back(direct);
        }
        memos.emplace_back(body.skeletons.size(), direct, expansion.tokens());
    }
    int stop = 0;
    const bool finished = run(shares.count(), shares.small, stop, interrupted, [&](long k) {
        IdFinder<Numbers> finder(expansion, contexts, memos, numbers, kPlusTwo);
        int32_t* at = filled.begin(expansion, shares.offsets[size_t(k)]);
        for_runs(expansion, shares, k, stop, [&](int64_t first, int64_t last) {
            finder.load(first, last);
            for (int64_t b = first; b < last; ++b)
                at = write(expansion, b, finder.values(b), filled.counts(), at);
        });
    });
    return finished && filled.close(expansion, shares, rows, interrupted);
}

}  // namespace

bool expand_known(const Expansion& expansion, const VocabularyView& names, ExpandedRows& rows,
                  const Interrupted& interrupted) {
    return find_all(expansion, rows, interrupted, ByName{names, {}});
}

bool expand_hashed(const Expansion& expansion, int bits, ExpandedRows& rows, const Interrupted& interrupted) {
    return find_all(expansion, rows, interrupted, ByHash{(uint64_t{1} << bits) - 1});
}

}  // namespace tagline
