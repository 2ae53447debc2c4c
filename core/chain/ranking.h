// The k best labellings of a lattice over pairs of candidates, ranked on demand as in chain/k_best.cpp.
//
// A lattice walks places 0 … last(): two boundaries, the tokens, a boundary behind them. It knows how many candidates a
// place has and the number of each of its pairs, lattice[k].count and .pair(b, c); the state of a candidate, state(k, c);
// and the score of candidate c of place k after a and b, step(k, a, b, c).
#pragma once

#include "chain/batch.h"

#include <algorithm>
#include <vector>

namespace tagline {

struct Beginning {
    double score;
    int64_t a, rank;  // the candidate of place k − 2, and which of the ways to its pair
};

struct Worse {
    bool operator()(const Beginning& x, const Beginning& y) const {
        if (x.score != y.score) return x.score < y.score;
        return x.a != y.a ? x.a > y.a : x.rank > y.rank;
    }
};

// Every pair keeps a ranked list of the ways to it, which grows by one when one more is asked for. That may need one
// more at a pair before it, and so on towards the front. Behind the last place stands one pair more, to which all pairs
// of the last place lead.
template <class Lattice>
class Ranking {
public:
    // Where is_stopped() says so, the ranking is left half made.
    template <class Stopped>
    Ranking(const Lattice& lattice, const Stopped& is_stopped)
        : lattice_(lattice), last_(lattice.last()), nodes_(size_t(lattice.size()) + 1) {
        nodes_[0].ranked.push_back({0, 0, 0});
        for (int64_t k = 2; k <= last_ && !is_stopped(); ++k)
            for (int64_t b = 0; b < lattice_[k - 1].count; ++b)
                for (int64_t c = 0; c < lattice_[k].count; ++c) begin({k, b, c});
        begin(end());
    }

    // Whether a labelling of this rank exists; ranks are asked for in order.
    bool find(int64_t rank) {
        request(end(), rank);
        return int64_t(node(end()).ranked.size()) > rank;
    }

    double write(int64_t rank, int64_t* path) const {
        const double score = node(end()).ranked[size_t(rank)].score;
        for (Pair at = end(); at.place > 3;) {
            const Beginning& way = node(at).ranked[size_t(rank)];
            at = before(at, way.a);
            rank = way.rank;
            path[at.place - 3] = lattice_.state(at.place - 1, at.b);
        }
        return score;
    }

private:
    struct Pair {
        int64_t place, b, c;
    };
    struct Node {
        std::vector<Beginning> ranked, candidates;  // candidates are a heap, filled when a second way is asked for
        bool filled = false;
    };

    const Lattice& lattice_;
    const int64_t last_;
    std::vector<Node> nodes_;
    std::vector<Pair> line_;  // requests on the way to the front

    Pair end() const { return {last_ + 1, 0, 0}; }
    size_t index(const Pair& at) const {
        return at.place > last_ ? nodes_.size() - 1 : size_t(lattice_[at.place].pair(at.b, at.c));
    }
    Node& node(const Pair& at) { return nodes_[index(at)]; }
    const Node& node(const Pair& at) const { return nodes_[index(at)]; }

    // Candidates of place k − 2, and the pair that one of them makes with b.
    int64_t choices(const Pair& at) const { return lattice_[at.place - 2].count; }
    Pair before(const Pair& at, int64_t a) const {
        return at.place > last_ ? Pair{last_, a, 0} : Pair{at.place - 1, a, at.b};
    }

    double extend(const Pair& at, int64_t a, int64_t rank) const {
        const double so_far = node(before(at, a)).ranked[size_t(rank)].score;
        if (at.place > last_) return so_far;
        return so_far + lattice_.step(at.place, a, at.b, at.c);
    }

    void begin(const Pair& at) {
        Beginning best{-kInf, 0, 0};
        for (int64_t a = 0; a < choices(at); ++a) {
            if (node(before(at, a)).ranked.empty()) continue;
            const double score = extend(at, a, 0);
            if (score > best.score) best = {score, a, 0};
        }
        if (best.score > -kInf) node(at).ranked.push_back(best);
    }

    void request(Pair at, int64_t rank) {
        line_.clear();
        while (at.place > 1 && !node(at).ranked.empty() && int64_t(node(at).ranked.size()) <= rank) {
            line_.push_back(at);
            const Beginning& latest = node(at).ranked.back();
            rank = latest.rank + 1;
            at = before(at, latest.a);
        }
        for (; !line_.empty(); line_.pop_back()) advance(line_.back());
    }

    void advance(const Pair& at) {
        Node& here = node(at);
        const Beginning latest = here.ranked.back();
        if (!here.filled) {
            here.filled = true;
            for (int64_t a = 0; a < choices(at); ++a)
                if (a != latest.a && !node(before(at, a)).ranked.empty()) push(here, at, a, 0);
        }
        if (int64_t(node(before(at, latest.a)).ranked.size()) > latest.rank + 1)
            push(here, at, latest.a, latest.rank + 1);
        if (here.candidates.empty()) return;
        std::pop_heap(here.candidates.begin(), here.candidates.end(), Worse{});
        here.ranked.push_back(here.candidates.back());
        here.candidates.pop_back();
    }

    void push(Node& here, const Pair& at, int64_t a, int64_t rank) {
        const double score = extend(at, a, rank);
        if (score == -kInf) return;
        here.candidates.push_back({score, a, rank});
        std::push_heap(here.candidates.begin(), here.candidates.end(), Worse{});
    }
};

// Rank up to k labellings of T tokens; false where there is none, or where it was stopped.
template <class Lattice, class Stopped>
bool rank_labellings(const Lattice& lattice, int64_t k, int64_t T, Ranked& ranked, const Stopped& is_stopped) {
    Ranking<Lattice> ranking(lattice, is_stopped);
    for (int64_t rank = 0; rank < k; ++rank) {
        if (is_stopped()) return false;
        if (!ranking.find(rank)) break;
        ranked.labels.resize(ranked.labels.size() + size_t(T));
        ranked.scores.push_back(ranking.write(rank, ranked.labels.data() + rank * T));
    }
    return !ranked.scores.empty();
}

}  // namespace tagline
