// Looks up the attributes of runs of sentences whose numbers are there already: from a vocabulary, or from hashes.
// expansion.cpp writes the numbers down; training/word_scores.cpp adds up their weights.
#pragma once

#include "features/expansion.h"
#include "features/key_memo.h"
#include "features/thread_shares.h"
#include "runtime/memory.h"

#include <utility>
#include <vector>

namespace tagline {

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

// For one thread. What is remembered of an attribute is a Value: that of its number by value_of(id), id −1 where it has
// none; value_of(−1) stands where a template has no attribute.
template <class Numbers, class Value, class ValueOf>
class Finder {
public:
    Finder(const Expansion& expansion, std::vector<KeyMemo<Value>> memos, const Numbers& numbers, ValueOf value_of)
        : expansion_(expansion),
          tuples_(expansion.sources, expansion.skeletons, expansion.bodies, expansion.tokens()),
          codes_(most_macros(expansion)),
          memos_(std::move(memos)),
          numbers_(numbers),
          value_of_(std::move(value_of)) {}

    // Find the values of sentences first … last − 1.
    void load(int64_t first, int64_t last) {
        first_ = first;
        tuples_.load(expansion_.offsets, first, last);
        make_room();
        for (size_t b = 0; b < memos_.size(); ++b) fetch(b);
        for (size_t b = 0; b < memos_.size(); ++b) remember(b);
        numbers_.find({hashes_.data(), asked_}, ids_.data(), [&](size_t k, std::string_view name, const char* end) {
            const Open& open = open_[askers_[k]];
            tuples_.unpack(open.body, open.key, codes_.data());
            return tuples_.is(expansion_.bodies[open.body].skeletons[k - open.asked], codes_.data(), name, end);
        });
        for (size_t k = 0; k < opened_; ++k) note(open_[k]);
    }

    // The values of sentence b of those: for each template where its tokens begin.
    const std::vector<const Value*>& values(int64_t b) {
        const int64_t* offsets = expansion_.offsets;
        starts_.clear();
        for (size_t s = 0; s < values_.size(); ++s)
            starts_.push_back(values_[s] + tuples_.place(s, offsets[b] - offsets[first_], b - first_));
        return starts_;
    }

private:
    struct Open {  // a key that is not in the memo
        uint64_t key;
        size_t body, place;
        size_t asked;  // where its hashes are, one a template
    };
    const Expansion& expansion_;
    Tuples tuples_;
    std::vector<uint32_t> codes_;
    std::vector<KeyMemo<Value>> memos_;  // by body
    Numbers numbers_;
    ValueOf value_of_;
    int64_t first_ = 0;
    UnsetVector<Value> row_values_;  // of one template after the other
    std::vector<Value*> values_;     // where those of each template begin, by place
    UnsetVector<Open> open_;
    UnsetVector<uint64_t> hashes_;  // of what is asked for
    UnsetVector<uint32_t> askers_;  // which of those that are open
    UnsetVector<int32_t> ids_;      // the answers
    size_t opened_ = 0, asked_ = 0;
    std::vector<Value> noted_;
    std::vector<const Value*> starts_;

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
        Value* at = row_values_.data();
        for (const Skeleton& skeleton : expansion_.skeletons) {
            values_.push_back(at);
            at += tuples_.num_places(skeleton.body);
        }
        opened_ = asked_ = 0;
    }

    void fetch(size_t b) const {
        const uint64_t* keys = tuples_.keys(b);
        for (size_t p = 0; p < tuples_.num_places(b); ++p) memos_[b].prefetch(keys[p]);
    }

    // Take what is known of a body; ask for the rest.
    void remember(size_t b) {
        const std::vector<size_t>& skeletons = expansion_.bodies[b].skeletons;
        const uint64_t* keys = tuples_.keys(b);
        const KeyMemo<Value>& memo = memos_[b];
        for (size_t p = 0; p < tuples_.num_places(b); ++p) {
            if (keys[p] == kAbsent) {
                for (const size_t s : skeletons) values_[s][p] = value_of_(-1);
            } else if (const Value* values = memo.get(keys[p])) {
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
            noted_.push_back(value_of_(ids_[open.asked + noted_.size()]));
            values_[s][open.place] = noted_.back();
        }
        memos_[open.body].set(open.key, noted_.data());
    }
};

}  // namespace tagline
