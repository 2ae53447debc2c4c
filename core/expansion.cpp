// Expansion where attributes have their numbers already, by a vocabulary or by their hashes; numbering.cpp makes new ones.
#include "expansion.h"

#include "arena.h"
#include "shares.h"

#include <bit>
#include <cstdlib>
#include <new>

namespace tagline {

void Release::operator()(void* memory) const { aligned_release(memory); }

void Expansion::prepare() {
    for (Source& source : sources) source.prepare();
    for (Skeleton& skeleton : skeletons) skeleton.prepare(sources);
}

size_t most_macros(const Expansion& expansion) {
    size_t most = 1;
    for (const Skeleton& skeleton : expansion.skeletons) most = std::max(most, skeleton.macros.size());
    return most;
}

namespace {

std::unique_ptr<int32_t[], Release> allocate(int64_t count) {
    return std::unique_ptr<int32_t[], Release>(static_cast<int32_t*>(aligned_allocate(size_t(count), sizeof(int32_t))));
}

// What has been looked up already. Values: 0 not yet, 1 no attribute, id + 2.
struct Memo {
    struct Cell {
        uint64_t key = kAbsent;
        uint32_t value = 0;
    };
    uint32_t* direct = nullptr;  // by key, common to all threads
    std::vector<Cell> cells;     // of one thread; a newcomer takes the place
    int shift = 64;

    void make_cells(int64_t tokens) {
        const int bits = std::clamp(int(std::bit_width(uint64_t(tokens))), 4, 13);
        cells.resize(size_t{1} << bits);
        shift = 64 - bits;
    }

    Cell& cell(uint64_t key) { return cells[(key * 0x9E3779B97F4A7C15ull) >> shift]; }

    uint32_t get(uint64_t key) {
        if (direct) return __atomic_load_n(&direct[key], __ATOMIC_RELAXED);
        const Cell& held = cell(key);
        return held.key == key ? held.value : 0;
    }

    void set(uint64_t key, uint32_t value) {
        if (direct)
            __atomic_store_n(&direct[key], value, __ATOMIC_RELAXED);
        else
            cell(key) = {key, value};
    }
};

// How attributes get their numbers, in the steps of VocabularyView.
struct ByName {
    const VocabularyView& names;

    void ahead(uint64_t hash) const { names.prefetch(hash); }
    int32_t first(uint64_t hash) const { return names.candidate(hash); }
    void prefetch_offset(int32_t id) const { names.prefetch_offset(id); }
    void prefetch_bytes(int32_t id) const { names.prefetch_bytes(id); }
    int32_t last(int32_t id, uint64_t hash, const Tuples& tuples, size_t skeleton, const uint32_t* codes) const {
        if (tuples.is(skeleton, codes, names.name(id), names.bytes + names.offsets[names.size])) return id;
        std::vector<std::string_view> pieces;
        tuples.pieces(skeleton, codes, pieces);
        return names.find(hash, pieces);
    }
};

struct ByHash {
    uint64_t mask;

    void ahead(uint64_t) const {}
    int32_t first(uint64_t hash) const { return int32_t(hash & mask); }
    void prefetch_offset(int32_t) const {}
    void prefetch_bytes(int32_t) const {}
    int32_t last(int32_t id, uint64_t, const Tuples&, size_t, const uint32_t*) const { return id; }
};

// Looks up the attributes of a run of sentences.
template <class Numbers>
class Finder {
public:
    Finder(const Expansion& expansion, std::vector<Memo> memos, const Numbers& numbers)
        : expansion_(expansion),
          tuples_(expansion.sources, expansion.skeletons, expansion.tokens()),
          codes_(most_macros(expansion)),
          memos_(std::move(memos)),
          numbers_(numbers) {}

    // Write rows from `at` on; returns the end.
    int32_t* find(int64_t first, int64_t last, ShareRows& rows, int32_t* at) {
        tuples_.load(expansion_.bounds, first, last, expansion_.after_first);
        const size_t templates = memos_.size(), length = size_t(tuples_.length());
        found_.resize(templates * length);
        open_.clear();
        for (size_t s = 0; s < templates; ++s) remember(s, length);
        for (Open& open : open_)
            if ((open.id = numbers_.first(open.hash)) >= 0) numbers_.prefetch_offset(open.id);
        for (const Open& open : open_)
            if (open.id >= 0) numbers_.prefetch_bytes(open.id);
        for (const Open& open : open_) note(open);
        for (size_t i = 0; i < length; ++i) {
            const int32_t* begin = at;
            for (size_t s = 0; s < templates; ++s) {
                const uint32_t value = found_[s * length + i];
                *at = int32_t(value) - 2;
                at += value > 1;
            }
            rows.count(expansion_.bounds[first] + int64_t(i)) = int32_t(at - begin);
        }
        return at;
    }

private:
    struct Open {
        uint64_t key, hash;
        size_t place;
        uint32_t skeleton;
        int32_t id;
    };
    const Expansion& expansion_;
    Tuples tuples_;
    std::vector<uint32_t> codes_;
    std::vector<Memo> memos_;
    const Numbers& numbers_;
    std::vector<uint32_t> found_;  // [templates, length]
    std::vector<Open> open_;

    void remember(size_t s, size_t length) {
        const uint64_t* keys = tuples_.keys(s);
        uint32_t* found = found_.data() + s * length;
        Memo& memo = memos_[s];
        for (size_t i = 0; i < length; ++i) {
            found[i] = keys[i] == kAbsent ? 1 : memo.get(keys[i]);
            if (found[i]) continue;
            tuples_.unpack(s, keys[i], codes_.data());
            const uint64_t hash = finish_hash(tuples_.hash(s, codes_.data()));
            numbers_.ahead(hash);
            open_.push_back({keys[i], hash, s * length + i, uint32_t(s), -1});
        }
    }

    void note(const Open& open) {
        uint32_t value = 1;
        if (open.id >= 0) {
            tuples_.unpack(open.skeleton, open.key, codes_.data());
            value = uint32_t(numbers_.last(open.id, open.hash, tuples_, open.skeleton, codes_.data()) + 2);
        }
        found_[open.place] = value;
        memos_[open.skeleton].set(open.key, value);
    }
};

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

template <class Numbers>
bool find_all(const Expansion& expansion, AttributeRows& rows, const Interrupted& interrupted, const Numbers& numbers) {
    const Shares shares(expansion);
    ShareRows filled(expansion);
    std::vector<std::unique_ptr<uint32_t, Free>> owned;
    std::vector<Memo> memos(expansion.skeletons.size());
    for (size_t s = 0; s < memos.size(); ++s) {
        const Skeleton& skeleton = expansion.skeletons[s];
        if (skeleton.folds() || !KeyTable::fits(skeleton.bits, expansion.tokens())) {
            memos[s].make_cells(expansion.tokens());
            continue;
        }
        owned.emplace_back(static_cast<uint32_t*>(std::calloc(size_t{1} << skeleton.bits, sizeof(uint32_t))));
        memos[s].direct = owned.back().get();
        if (!memos[s].direct) throw std::bad_alloc();
    }
    int stop = 0;
    const bool finished = run(shares.count(), shares.small, stop, interrupted, [&](long k) {
        Finder finder(expansion, memos, numbers);
        int32_t* at = filled.begin(expansion, shares.bounds[size_t(k)]);
        for_runs(expansion, shares, k, stop,
                 [&](int64_t first, int64_t last) { at = finder.find(first, last, filled, at); });
    });
    return finished && filled.close(expansion, shares, rows, interrupted);
}

}  // namespace

ShareRows::ShareRows(const Expansion& expansion)
    : room_(int64_t(expansion.skeletons.size())),
      ids_(allocate(expansion.tokens() * room_ + 1)),  // one more: a row is written before it is known to count
      counts_(size_t(expansion.tokens())) {}

bool ShareRows::close(const Expansion& expansion, const Shares& shares, AttributeRows& rows,
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
        const int64_t first = shares.bounds[size_t(k)], last = shares.bounds[size_t(k) + 1];
        const int64_t from = rows.offsets[size_t(expansion.bounds[first])];
        std::copy_n(begin(expansion, first), rows.offsets[size_t(expansion.bounds[last])] - from, rows.ids.get() + from);
    });
}

bool expand_known(const Expansion& expansion, const VocabularyView& names, AttributeRows& rows,
                  const Interrupted& interrupted) {
    return find_all(expansion, rows, interrupted, ByName{names});
}

bool expand_hashed(const Expansion& expansion, int bits, AttributeRows& rows, const Interrupted& interrupted) {
    return find_all(expansion, rows, interrupted, ByHash{(uint64_t{1} << bits) - 1});
}

}  // namespace tagline
