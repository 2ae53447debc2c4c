// The lattice of a sentence of a second-order chain. Every algorithm walks its places 0 … T + 2: the two boundaries
// before the sentence, its tokens, the boundary behind it. A place has candidates; a value stands for a pair of
// candidates (b at place k − 1, c at place k).
#pragma once

#include "chain/blocks.h"
#include "trigram/trigrams.h"

#include <vector>

namespace tagline {

constexpr int64_t kManyAnswers = 100;  // to a sentence: then the work is not small, however few its tokens are

struct Place {
    const Candidate* candidates;
    int64_t count;
    int64_t begin;  // of its pairs [candidates before, count] among all values

    int64_t pair(int64_t b, int64_t c) const { return begin + b * count + c; }
};

// The places of one sentence after the other; memory is used again.
class Lattice {
public:
    Lattice(const Trigrams& model, const Candidates& candidates, const Words& words)
        : model_(model), candidates_(candidates), words_(words), boundary_{int32_t(model.S), 0} {}

    void enter(int64_t b) {
        const int64_t first = words_.offsets[b], T = words_.offsets[b + 1] - first;
        places_.resize(size_t(T + 3));
        places_[0] = places_[1] = {&boundary_, 1, 0};
        int64_t begin = 1, before = 1;
        for (int64_t t = 0; t < T; ++t) {
            const int32_t word = words_.ids[first + t];
            const int64_t count = candidates_.count(word);
            places_[size_t(t + 2)] = {candidates_.lists + candidates_.offsets[word], count, begin};
            begin += before * count;
            before = count;
        }
        places_.back() = {&boundary_, 1, begin};
        size_ = begin + before;
    }

    int64_t last() const { return int64_t(places_.size()) - 1; }
    int64_t tokens() const { return int64_t(places_.size()) - 3; }
    int64_t size() const { return size_; }  // of the values
    const Place& operator[](int64_t k) const { return places_[size_t(k)]; }

    // log p(· | a, b) for candidates of places k − 2 and k − 1.
    const float* after(int64_t k, int64_t a, int64_t b) const {
        return model_.after((*this)[k - 2].candidates[a].state, (*this)[k - 1].candidates[b].state);
    }

    int32_t state(int64_t k, int64_t c) const { return (*this)[k].candidates[c].state; }

    // The score of candidate c of place k after a and b.
    double step(int64_t k, int64_t a, int64_t b, int64_t c) const {
        const Candidate& here = (*this)[k].candidates[c];
        return double(after(k, a, b)[here.state]) + double(here.score);
    }

private:
    const Trigrams& model_;
    const Candidates& candidates_;
    const Words& words_;
    const Candidate boundary_;
    std::vector<Place> places_;
    int64_t size_ = 0;
};

// Spread sentences; the best labelling of a token takes as long as 16 label pairs of a first-order chain for each
// candidate squared.
inline Blocks blocks_of(const Candidates& candidates, const Words& words) {
    return Blocks(words.offsets, words.B, 4 * candidates.typical);
}

// The same where more is asked than the best labelling: `answers` to each sentence.
inline Blocks blocks_of(const Candidates& candidates, const Words& words, int64_t answers) {
    Blocks blocks = blocks_of(candidates, words);
    blocks.small = blocks.small && answers < kManyAnswers;
    blocks.take_longer();
    return blocks;
}

// Call work(lattice, sentence, memory, stop) for the sentences with tokens; it returns false where there is no
// labelling. Each block has one memory, which is used again.
template <class Memory, class Work>
Outcome for_sentences(const Trigrams& model, const Candidates& candidates, const Words& words, const Blocks& blocks,
                      const Interrupted& interrupted, const Work& work) {
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int* stop) {
        Lattice lattice(model, candidates, words);
        Memory memory;
        for (int64_t b = first; b < last; ++b) {
            if (words.offsets[b + 1] == words.offsets[b]) continue;
            lattice.enter(b);
            const bool possible = work(lattice, b, memory, stop);
            if (stopped(stop)) return;
            if (!possible) dead.report(b);
        }
    });
    outcome.sentence = dead.value();
    return outcome;
}

}  // namespace tagline
