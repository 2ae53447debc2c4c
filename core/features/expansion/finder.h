// Looks up the attributes of runs of sentences whose numbers are there already: from a vocabulary, or from hashes.
// expansion.cpp writes the numbers down; scoring/word_scores.cpp adds up their weights.
#pragma once

#include "features/expansion/contexts.h"
#include "features/expansion/spelling.h"
#include "features/expansion/thread_shares.h"
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

// For one thread. What a Memo holds of an attribute is a value for its number, value_of(id); value_of(−1) where the
// number is not known or a template has no attribute.
template <class Numbers, class Memo, class ValueOf>
class Finder {
public:
    using Value = typename Memo::Value;

    Finder(const Expansion& expansion, const Contexts& contexts, std::vector<Memo> memos, const Numbers& numbers,
           ValueOf value_of)
        : expansion_(expansion),
          contexts_(contexts),
          tuples_(expansion.sources, contexts.keys, expansion.tokens()),
          spelling_(expansion.sources, expansion.skeletons, expansion.bodies),
          memos_(std::move(memos)),
          numbers_(numbers),
          value_of_(std::move(value_of)) {
        size_t most = most_macros(expansion);
        for (const Body& key : contexts.keys) most = std::max(most, key.macros.size());
        key_codes_.resize(most);
        codes_.resize(most);
    }

    // Find the values of sentences first … last − 1.
    void load(int64_t first, int64_t last) {
        first_ = first;
        tuples_.load(expansion_.offsets, first, last);
        make_room();
        for (size_t c = 0; c < memos_.size(); ++c) remember(c);
        ask();
        numbers_.find({hashes_.data(), asked_}, ids_.data(), [&](size_t k, std::string_view name, const char* end) {
            const Question& question = questions_[k];
            const Open& open = open_[question.open];
            tuples_.unpack(open.context, open.key, key_codes_.data());
            spell(open.context, question.part);
            return spelling_.is(question.skeleton, codes_.data(), name, end);
        });
        for (size_t k = 0; k < asked_; ++k) noted_[questions_[k].answer] = value_of_(ids_[k]);
        for (size_t k = 0; k < opened_; ++k) note(open_[k]);
    }

    // The values of sentence b of those: for each template where its tokens begin.
    const std::vector<const Value*>& values(int64_t b) {
        const int64_t* offsets = expansion_.offsets;
        starts_.clear();
        for (size_t s = 0; s < values_.size(); ++s)
            starts_.push_back(values_[s] + tuples_.place(contexts_.of_skeleton[s], contexts_.rows[s],
                                                         offsets[b] - offsets[first_], b - first_));
        return starts_;
    }

private:
    struct Open {  // a key that is not in the memo
        uint64_t key;
        size_t context, place;
        size_t noted;  // where its values go, one a template
    };
    struct Question {  // a string that is looked up
        uint32_t open, part, skeleton;
        uint32_t answer;  // where its value goes
    };
    static constexpr size_t kAhead = 24;  // keys that are waited for together; all of a run at once come late
    const Expansion& expansion_;
    const Contexts& contexts_;
    Tuples tuples_;
    Spelling spelling_;
    std::vector<uint32_t> key_codes_, codes_;
    std::vector<Memo> memos_;  // by context
    Numbers numbers_;
    ValueOf value_of_;
    int64_t first_ = 0;
    UnsetVector<Value> row_values_;  // of one template after the other
    std::vector<Value*> values_;     // where those of each template begin, by place
    UnsetVector<const Value*> remembered_;
    UnsetVector<Open> open_;
    UnsetVector<Question> questions_;
    UnsetVector<uint64_t> hashes_;  // of the questions
    UnsetVector<int32_t> ids_;      // the answers
    UnsetVector<Value> noted_;      // of what is open
    size_t opened_ = 0, asked_ = 0, noting_ = 0;
    std::vector<const Value*> starts_;

    void make_room() {
        size_t keys = 0, values = 0;
        for (size_t c = 0; c < memos_.size(); ++c) {
            keys += tuples_.num_places(c);
            values += tuples_.num_places(c) * contexts_.keys[c].skeletons.size();
        }
        open_.resize(keys);
        row_values_.resize(values);
        questions_.resize(values);
        hashes_.resize(values);
        ids_.resize(values);
        noted_.resize(values);
        values_.clear();
        Value* at = row_values_.data();
        for (const size_t context : contexts_.of_skeleton) {
            values_.push_back(at);
            at += tuples_.num_places(context);
        }
        opened_ = asked_ = noting_ = 0;
    }

    // Take what is known of a context; the rest is open.
    void remember(size_t c) {
        const std::vector<size_t>& skeletons = contexts_.keys[c].skeletons;
        const uint64_t* keys = tuples_.keys(c);
        const Memo& memo = memos_[c];
        remembered_.resize(tuples_.num_places(c));
        for (size_t p = 0; p < tuples_.num_places(c); ++p) {
            if (p + kAhead < tuples_.num_places(c)) memo.prefetch(keys[p + kAhead]);
            remembered_[p] = keys[p] == kAbsent ? nullptr : memo.get(keys[p]);
            if (remembered_[p] || keys[p] == kAbsent) continue;
            open_[opened_++] = {keys[p], c, p, noting_};
            noting_ += skeletons.size();
        }
        for (size_t p = 0; p < tuples_.num_places(c); ++p) {
            if (const Value* values = remembered_[p])
                for (const size_t s : skeletons) values_[s][p] = __atomic_load_n(values++, __ATOMIC_RELAXED);
            else if (keys[p] == kAbsent)
                for (const size_t s : skeletons) values_[s][p] = value_of_(-1);
        }
    }

    // Ask for the attributes of what is open.
    void ask() {
        for (size_t k = 0; k < opened_; ++k) {
            if (k + kAhead < opened_) fetch_pieces(open_[k + kAhead]);
            ask(k);
        }
    }

    void ask(size_t k) {
        const size_t c = open_[k].context;
        size_t answer = open_[k].noted;
        tuples_.unpack(c, open_[k].key, key_codes_.data());
        for (size_t part = 0; part < contexts_.parts[c].size(); ++part) {
            const size_t b = contexts_.parts[c][part].body;
            const std::vector<size_t>& skeletons = expansion_.bodies[b].skeletons;
            if (!spell(c, part)) {
                for (size_t n = 0; n < skeletons.size(); ++n) noted_[answer++] = value_of_(-1);
                continue;
            }
            const PieceHash body = spelling_.hash(b, codes_.data());
            for (const size_t s : skeletons) {
                hashes_[asked_] = finish_hash(spelling_.hash(s, body));
                questions_[asked_] = {uint32_t(k), uint32_t(part), uint32_t(s), uint32_t(answer++)};
                numbers_.prefetch(hashes_[asked_++]);
            }
        }
    }

    void fetch_pieces(const Open& open) {
        tuples_.unpack(open.context, open.key, key_codes_.data());
        for (size_t part = 0; part < contexts_.parts[open.context].size(); ++part) {
            spell(open.context, part);
            spelling_.prefetch(contexts_.parts[open.context][part].body, codes_.data());
        }
    }

    // The codes of a part, from those of the key; false where it has no attribute.
    bool spell(size_t c, size_t p) {
        const Contexts::Part& part = contexts_.parts[c][p];
        const Body& body = expansion_.bodies[part.body];
        part_codes(expansion_.sources, contexts_.keys[c], part, body, key_codes_.data(), codes_.data());
        return std::find(codes_.data(), codes_.data() + body.macros.size(), 0u) == codes_.data() + body.macros.size();
    }

    void note(const Open& open) {
        const Value* values = noted_.data() + open.noted;
        memos_[open.context].set(open.key, values);
        for (const size_t s : contexts_.keys[open.context].skeletons) values_[s][open.place] = *values++;
    }
};

}  // namespace tagline
