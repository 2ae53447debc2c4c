// Expansion with numbers that are there already, from a vocabulary or from hashes; numbering.cpp makes new ones.
#include "features/expansion.h"

#include "features/key_memo.h"
#include "features/thread_shares.h"
#include "runtime/memory.h"

#include <cstdlib>
#include <new>

namespace tagline {

void Expansion::prepare() {
    for (Source& source : sources) source.prepare();
    bodies = make_bodies(sources, skeletons);
}

namespace {

// How attributes get their numbers: −1 where they have none.
struct ByName {
    const VocabularyView& names;
    std::vector<Likely> scratch;

    void prefetch(uint64_t hash) const { names.prefetch_marks(hash); }

    template <class Same>
    void find(std::span<const uint64_t> hashes, int32_t* ids, const Same& same) {
        const char* end = names.bytes + names.offsets[names.size];
        names.find_many(hashes, scratch, ids, [&](size_t k, std::string_view name) { return same(k, name, end); });
    }
};

struct ByHash {
    uint64_t mask;

    void prefetch(uint64_t) const {}

    template <class Same>
    void find(std::span<const uint64_t> hashes, int32_t* ids, const Same&) {
        for (const uint64_t hash : hashes) *ids++ = int32_t(hash & mask);
    }
};

// Looks up the attributes of a run of sentences.
template <class Numbers>
class Finder final : public Lookup {
public:
    Finder(const Expansion& expansion, std::vector<KeyMemo> memos, const Numbers& numbers)
        : expansion_(expansion),
          tuples_(expansion.sources, expansion.skeletons, expansion.bodies, expansion.tokens()),
          codes_(most_macros(expansion)),
          memos_(std::move(memos)),
          numbers_(numbers) {}

    int32_t* find(int64_t first, int64_t last, int32_t* counts, int32_t* at) override {
        tuples_.load(expansion_.offsets, first, last);
        make_room();
        for (size_t b = 0; b < memos_.size(); ++b) remember(b);
        numbers_.find({hashes_.data(), asked_}, ids_.data(), [&](size_t k, std::string_view name, const char* end) {
            const Open& open = open_[askers_[k]];
            tuples_.unpack(open.body, open.key, codes_.data());
            return tuples_.is(expansion_.bodies[open.body].skeletons[k - open.asked], codes_.data(), name, end);
        });
        for (size_t k = 0; k < opened_; ++k) note(open_[k]);
        for (int64_t b = first; b < last; ++b) at = write(b, first, counts, at);
        return at;
    }

private:
    struct Open {  // a key that is not in the memo
        uint64_t key;
        size_t body, place;
        size_t asked;  // where its hashes are, one a template
    };
    static constexpr size_t kAhead = 16;
    const Expansion& expansion_;
    Tuples tuples_;
    std::vector<uint32_t> codes_;
    std::vector<KeyMemo> memos_;  // by body
    Numbers numbers_;
    UnsetVector<uint32_t> row_values_;           // values, of one template after the other
    std::vector<uint32_t*> values_;  // where those of each template begin, by place
    UnsetVector<Open> open_;
    UnsetVector<uint64_t> hashes_;  // of what is asked for
    UnsetVector<uint32_t> askers_;  // which of those that are open
    UnsetVector<int32_t> ids_;      // the answers
    size_t opened_ = 0, asked_ = 0;
    std::vector<uint32_t> noted_;
    std::vector<const uint32_t*> starts_;

    void make_room() {
        size_t keys = 0, values = 0;
        for (size_t b = 0; b < memos_.size(); ++b) {
            keys += tuples_.num_places(b);
            values += tuples_.num_places(b) * expansion_.bodies[b].skeletons.size();
        }
        open_.resize(keys);
        row_values_.resize(values);
        hashes_.resize(values);
        askers_.resize(values);
        ids_.resize(values);
        values_.clear();
        uint32_t* at = row_values_.data();
        for (const Skeleton& skeleton : expansion_.skeletons) {
            values_.push_back(at);
            at += tuples_.num_places(skeleton.body);
        }
        opened_ = asked_ = 0;
    }

    // Take what is known of a body; ask for the rest.
    void remember(size_t b) {
        const std::vector<size_t>& skeletons = expansion_.bodies[b].skeletons;
        const size_t places = tuples_.num_places(b);
        const uint64_t* keys = tuples_.keys(b);
        const KeyMemo& memo = memos_[b];
        for (size_t p = 0; p < places; ++p) {
            if (p + kAhead < places) memo.prefetch(keys[p + kAhead]);
            if (keys[p] == kAbsent) {
                for (const size_t s : skeletons) values_[s][p] = 1;
            } else if (const uint32_t* values = memo.get(keys[p])) {
                for (const size_t s : skeletons) values_[s][p] = __atomic_load_n(values++, __ATOMIC_RELAXED);
            } else {
                ask(b, keys[p], p);
            }
        }
    }

    void ask(size_t b, uint64_t key, size_t place) {
        tuples_.unpack(b, key, codes_.data());
        const PieceHash body = tuples_.hash(b, codes_.data());
        open_[opened_] = {key, b, place, asked_};
        for (const size_t s : expansion_.bodies[b].skeletons) {
            hashes_[asked_] = finish_hash(tuples_.hash(s, body));
            askers_[asked_] = uint32_t(opened_);
            numbers_.prefetch(hashes_[asked_++]);
        }
        ++opened_;
    }

    void note(const Open& open) {
        noted_.clear();
        for (const size_t s : expansion_.bodies[open.body].skeletons) {
            noted_.push_back(uint32_t(ids_[open.asked + noted_.size()] + 2));
            values_[s][open.place] = noted_.back();
        }
        memos_[open.body].set(open.key, noted_.data());
    }

    // The rows of sentence b of a run that begins with `first`.
    int32_t* write(int64_t b, int64_t first, int32_t* counts, int32_t* at) {
        const int64_t* offsets = expansion_.offsets;
        starts_.clear();
        for (size_t s = 0; s < values_.size(); ++s)
            starts_.push_back(values_[s] + tuples_.place(s, offsets[b] - offsets[first], b - first));
        for (int64_t n = offsets[b]; n < offsets[b + 1]; ++n) {
            const int32_t* begin = at;
            if (n > offsets[b] || !expansion_.after_first)
                for (const uint32_t* start : starts_) {
                    const uint32_t value = start[n - offsets[b]];
                    *at = int32_t(value) - 2;
                    at += value > 1;
                }
            counts[n] = int32_t(at - begin);
        }
        return at;
    }
};

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

template <class Numbers>
bool find_all(const Expansion& expansion, ExpandedRows& rows, const Interrupted& interrupted, const Numbers& numbers) {
    const ThreadShares shares(expansion);
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
        Finder finder(expansion, memos, numbers);
        int32_t* at = filled.begin(expansion, shares.offsets[size_t(k)]);
        for_runs(expansion, shares, k, stop,
                 [&](int64_t first, int64_t last) { at = finder.find(first, last, filled.counts(), at); });
    });
    return finished && filled.close(expansion, shares, rows, interrupted);
}

constexpr int kMostBits = 16;  // of the keys that a Lookup remembers of each body

template <class Numbers>
std::unique_ptr<Lookup> lookup_by(const Expansion& expansion, const Numbers& numbers) {
    std::vector<KeyMemo> memos;
    for (const Body& body : expansion.bodies) memos.emplace_back(body.skeletons.size(), nullptr, 256, kMostBits);
    return std::make_unique<Finder<Numbers>>(expansion, std::move(memos), numbers);
}

}  // namespace

std::unique_ptr<Lookup> make_lookup(const Expansion& expansion, const VocabularyView* names, int hash_bits) {
    if (names) return lookup_by(expansion, ByName{*names, {}});
    return lookup_by(expansion, ByHash{(uint64_t{1} << hash_bits) - 1});
}

bool expand_known(const Expansion& expansion, const VocabularyView& names, ExpandedRows& rows,
                  const Interrupted& interrupted) {
    return find_all(expansion, rows, interrupted, ByName{names, {}});
}

bool expand_hashed(const Expansion& expansion, int bits, ExpandedRows& rows, const Interrupted& interrupted) {
    return find_all(expansion, rows, interrupted, ByHash{(uint64_t{1} << bits) - 1});
}

}  // namespace tagline
