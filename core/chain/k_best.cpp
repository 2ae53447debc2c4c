// The k best labellings, lazily: Viterbi once, then each further path costs about O(T log L).
//
// Every (token, label) keeps a ranked list of the beginnings that end there. Its next beginning is the best candidate
// (previous label i, rank r at i); taking one makes (i, r + 1) a candidate, which may need one more at the token
// before, and so on towards the front: a single line of requests, walked without recursion (Jiménez & Marzal, 1999).
// Equal scores: the smaller label first, from the end backwards.
#include "chain/batch.h"

#include "chain/blocks.h"
#include "chain/pair_lists.h"
#include "chain/variants.h"

#include <algorithm>

namespace tagline {

namespace {

struct Beginning {
    double score;
    int64_t label, rank;  // at the token before
};

struct Worse {
    bool operator()(const Beginning& a, const Beginning& b) const {
        if (a.score != b.score) return a.score < b.score;
        if (a.label != b.label) return a.label > b.label;
        return a.rank > b.rank;
    }
};

struct Node {
    std::vector<Beginning> ranked, candidates;  // candidates are a heap, filled when a second beginning is asked for
    bool filled = false;
};

class Ranking {
public:
    // Where it is stopped, the ranking is left half made.
    Ranking(const Scores<double>& sentence, const int* stop)
        : s_(sentence), T_(s_.T), L_(s_.L), nodes_(size_t(T_ * L_ + 1)) {
        for (int64_t t = 0; t < T_ && !stopped(stop); ++t)
            for (int64_t j = 0; j < L_; ++j) begin(t, j);
        begin(T_, 0);
    }

    // Whether a labelling of this rank exists; ranks are asked for in order.
    bool find(int64_t rank) {
        request(T_, 0, rank);
        return int64_t(node(T_, 0).ranked.size()) > rank;
    }

    double write(int64_t rank, int64_t* path) const {
        const double score = node(T_, 0).ranked[size_t(rank)].score;
        int64_t label = 0;
        for (int64_t t = T_; t > 0; --t) {
            const Beginning& beginning = node(t, label).ranked[size_t(rank)];
            label = path[t - 1] = beginning.label;
            rank = beginning.rank;
        }
        return score;
    }

private:
    const Scores<double>& s_;
    const int64_t T_, L_;
    std::vector<Node> nodes_;                        // [T, L], and one past the end
    std::vector<std::pair<int64_t, int64_t>> line_;  // requests on the way to the front

    const Node& node(int64_t t, int64_t j) const { return nodes_[size_t(t * L_ + j)]; }
    Node& node(int64_t t, int64_t j) { return nodes_[size_t(t * L_ + j)]; }

    // The score of (t, j) after the beginning of that rank at (t − 1, i).
    double extend(int64_t t, int64_t j, int64_t i, int64_t rank) const {
        const double before = node(t - 1, i).ranked[size_t(rank)].score;
        if (t == T_) return before + s_.end[i];
        const double* transitions = s_.per_position ? s_.transitions + t * L_ * L_ : s_.transitions;
        return before + transitions[i * L_ + j] + s_.emissions[t * L_ + j];
    }

    // Call work(i) for the labels with a beginning at t − 1 that may stand before label j at t.
    template <class Work>
    void each_previous(int64_t t, int64_t j, const Work& work) const {
        if (t == 0) return;
        const LegalPairs* legal = t < T_ ? s_.legal : nullptr;
        const int64_t first = legal ? legal->entering[j] : 0, last = legal ? legal->entering[j + 1] : L_;
        for (int64_t k = first; k < last; ++k) {
            const int64_t i = legal ? legal->previous[legal->numbers[k]] : k;
            if (!node(t - 1, i).ranked.empty()) work(i);
        }
    }

    void begin(int64_t t, int64_t j) {
        Beginning best{-kInf, 0, 0};
        if (t == 0) best.score = s_.start[j] + s_.emissions[j];
        each_previous(t, j, [&](int64_t i) {
            const double score = extend(t, j, i, 0);
            if (score > best.score) best = {score, i, 0};
        });
        if (best.score > -kInf) node(t, j).ranked.push_back(best);
    }

    void request(int64_t t, int64_t j, int64_t rank) {
        line_.clear();
        while (t > 0 && !node(t, j).ranked.empty() && int64_t(node(t, j).ranked.size()) <= rank) {
            line_.emplace_back(t, j);
            const Beginning& last = node(t, j).ranked.back();
            j = last.label;
            rank = last.rank + 1;
            --t;
        }
        while (!line_.empty()) {
            advance(line_.back().first, line_.back().second);
            line_.pop_back();
        }
    }

    void advance(int64_t t, int64_t j) {
        Node& here = node(t, j);
        const Beginning last = here.ranked.back();
        if (!here.filled) {
            here.filled = true;
            each_previous(t, j, [&](int64_t i) {
                if (i != last.label) push(here, t, j, i, 0);
            });
        }
        if (int64_t(node(t - 1, last.label).ranked.size()) > last.rank + 1) push(here, t, j, last.label, last.rank + 1);
        if (here.candidates.empty()) return;
        std::pop_heap(here.candidates.begin(), here.candidates.end(), Worse{});
        here.ranked.push_back(here.candidates.back());
        here.candidates.pop_back();
    }

    void push(Node& here, int64_t t, int64_t j, int64_t i, int64_t rank) {
        const double score = extend(t, j, i, rank);
        if (score == -kInf) return;
        here.candidates.push_back({score, i, rank});
        std::push_heap(here.candidates.begin(), here.candidates.end(), Worse{});
    }
};

// False when stopped.
bool rank_paths(const Scores<double>& sentence, int64_t k, Ranked& out, const int* stop) {
    Ranking ranking(sentence, stop);
    for (int64_t rank = 0; rank < k; ++rank) {
        if (stopped(stop)) return false;
        if (!ranking.find(rank)) break;
        out.labels.resize(out.labels.size() + size_t(sentence.T));
        out.scores.push_back(ranking.write(rank, out.labels.data() + rank * sentence.T));
    }
    return true;
}

}  // namespace

Outcome k_best(const Batch<double>& batch, int64_t k, std::vector<Ranked>& out, const Interrupted& interrupted) {
    out.assign(size_t(batch.B), {});
    const Scores<double> common{nullptr, batch.transitions, batch.start, batch.end, 0, batch.L, batch.per_position};
    const auto lists = PairLists::choose(common, active_variant().float64);
    Blocks blocks(batch.offsets, batch.B, batch.L);
    blocks.small = blocks.small && k < 100;
    blocks.take_longer();
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int* stop) {
        for (int64_t b = first; b < last; ++b) {
            Ranked& ranked = out[size_t(b)];
            Scores<double> sentence = batch.sentence(b);
            sentence.legal = lists ? &lists->legal() : nullptr;
            if (sentence.T == 0)
                ranked.scores.push_back(0);
            else if (!rank_paths(sentence, k, ranked, stop))
                return;
            if (ranked.scores.empty()) dead.report(b);
        }
    });
    outcome.sentence = dead.value();
    return outcome;
}

}  // namespace tagline
