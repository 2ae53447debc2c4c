// Every algorithm here walks places 0 … T + 2 of a sentence: the two boundaries before it, its tokens, the boundary
// behind it. A place has candidates; a value stands for a pair of candidates (b at place k − 1, c at place k):
//
//     δ_k(b, c) = max_a (δ_(k−1)(a, b) + log p(c | a, b)) + e_k(c)
// and the same with log Σ exp for α; β_(k−1)(a, b) = log Σ_c exp(log p(c | a, b) + e_k(c) + β_k(b, c)).
#include "trigram.h"

#include "blocks.h"

#include <cmath>
#include <limits>

namespace tagline {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kManyAnswers = 100;  // for a sentence: then the work is not small, whatever its tokens are

struct Place {
    const Candidate* candidates;
    int64_t count;
    int64_t stride;  // count, up to a multiple of kLanes
    int64_t begin;   // of its pairs [candidates before, stride] among all values

    int64_t pair(int64_t b, int64_t c) const { return begin + b * stride + c; }
};

// The places of one sentence after the other; memory is used again.
class Lattice {
public:
    Lattice(const Trigrams& model, const Candidates& candidates, const Words& words)
        : model_(model), candidates_(candidates), words_(words), boundary_(kLanes, {int32_t(model.S), 0}) {}

    void enter(int64_t b) {
        const int64_t first = words_.offsets[b], T = words_.offsets[b + 1] - first;
        places_.resize(size_t(T + 3));
        places_[0] = places_[1] = {boundary_.data(), 1, kLanes, 0};
        int64_t begin = kLanes, before = 1;
        for (int64_t t = 0; t < T; ++t) {
            const int32_t word = words_.ids[first + t];
            const int64_t count = candidates_.count(word), stride = (count + kLanes - 1) / kLanes * kLanes;
            places_[size_t(t + 2)] = {candidates_.lists + candidates_.offsets[word], count, stride, begin};
            begin += before * stride;
            before = count;
        }
        places_.back() = {boundary_.data(), 1, kLanes, begin};
        size_ = begin + before * kLanes;
    }

    int64_t last() const { return int64_t(places_.size()) - 1; }
    int64_t tokens() const { return int64_t(places_.size()) - 3; }
    int64_t size() const { return size_; }  // of the values
    const Place& operator[](int64_t k) const { return places_[size_t(k)]; }

    // log p(· | a, b) for candidates of places k − 2 and k − 1.
    const float* after(int64_t k, int64_t a, int64_t b) const {
        return model_.after((*this)[k - 2].candidates[a].state, (*this)[k - 1].candidates[b].state);
    }

private:
    const Trigrams& model_;
    const Candidates& candidates_;
    const Words& words_;
    const std::vector<Candidate> boundary_;
    std::vector<Place> places_;
    int64_t size_ = 0;
};

bool stopped(const int* stop) { return __atomic_load_n(stop, __ATOMIC_RELAXED) != 0; }

constexpr auto kNothing = [](int64_t, int64_t) {};

// Call work(lattice, sentence, memory for values, stop) for the sentences with tokens; it returns false where there is
// no path. Before that, call prepare(first sentence, last + 1) for each block. `answers` are asked of each sentence.
template <class Work, class Prepare = decltype(kNothing)>
Outcome for_sentences(const Trigrams& model, const Candidates& candidates, const Words& words, int64_t answers,
                      const Interrupted& interrupted, const Work& work, const Prepare& prepare = kNothing) {
    Blocks blocks(words.offsets, words.B, candidates.widest);
    blocks.small = blocks.small && answers < kManyAnswers;
    First dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t, int64_t first, int64_t last, const int* stop) {
        prepare(first, last);
        Lattice lattice(model, candidates, words);
        std::vector<double> values;
        for (int64_t b = first; b < last; ++b) {
            if (words.offsets[b + 1] == words.offsets[b]) continue;
            lattice.enter(b);
            values.resize(std::max(values.size(), size_t(lattice.size())));
            const bool found = work(lattice, b, values.data(), stop);
            if (stopped(stop)) return;
            if (!found) dead.report(b);
        }
    });
    outcome.sentence = dead.value();
    return outcome;
}

// --- the best labelling -----------------------------------------------------------------------------------------

// Several candidates at a time: nearly every token is done in one turn, whose length needs no guess by the processor.
// What is computed of the list behind is not used.
template <int64_t lanes>
void best_pairs(const Trigrams& model, const Place& earlier, const Place& before, const Place& here, double* values) {
    for (int64_t b = 0; b < before.count; ++b) {
        const int32_t state = before.candidates[b].state;
        const double* from = values + before.pair(0, b);
        double* to = values + here.pair(b, 0);
        for (int64_t c = 0; c < here.count; c += lanes) {
            const Candidate* some = here.candidates + c;
            double high[lanes];
            std::fill(high, high + lanes, -kInf);
            for (int64_t a = 0; a < earlier.count; ++a) {
                const float* moves = model.after(earlier.candidates[a].state, state);
                const double so_far = from[a * before.stride];
                for (int64_t n = 0; n < lanes; ++n)
                    high[n] = std::max(high[n], so_far + double(moves[some[n].state]));
            }
            for (int64_t n = 0; n < lanes; ++n) to[c + n] = high[n] + double(some[n].score);
        }
    }
}

void best_pairs(const Trigrams& model, const Lattice& lattice, int64_t k, double* values) {
    const Place earlier = lattice[k - 2], before = lattice[k - 1], here = lattice[k];
    if (here.count <= kLanes / 2)
        best_pairs<kLanes / 2>(model, earlier, before, here, values);
    else
        best_pairs<kLanes>(model, earlier, before, here, values);
}

// The candidate of place k − 2 on the best way to the pair (b, c): computed again, by the same arithmetic.
int64_t best_before(const Lattice& lattice, int64_t k, int64_t b, int64_t c, const double* values) {
    const int64_t A = lattice[k - 2].count;
    const int32_t state = lattice[k].candidates[c].state;
    int64_t best = 0;
    if (A == 1) return best;
    double high = -kInf;
    for (int64_t a = 0; a < A; ++a) {
        const double score = values[lattice[k - 1].pair(a, b)] + double(lattice.after(k, a, b)[state]);
        if (score > high) {
            high = score;
            best = a;
        }
    }
    return best;
}

// The best states of a sentence, and their score; −∞ where there are none, or where it was stopped.
double best_path(const Trigrams& model, const Lattice& lattice, double* values, int32_t* path, const int* stop) {
    values[0] = 0;
    const int64_t last = lattice.last();
    for (int64_t k = 2; k <= last; ++k) {
        best_pairs(model, lattice, k, values);
        if (stopped(stop)) return -kInf;
    }
    int64_t b = 0, c = 0;
    for (int64_t other = 1; other < lattice[last - 1].count; ++other)
        if (values[lattice[last].pair(other, 0)] > values[lattice[last].pair(b, 0)]) b = other;
    const double score = lattice[last - 1].count ? values[lattice[last].pair(b, 0)] : -kInf;
    if (score == -kInf) return score;
    for (int64_t k = last; k >= 3; --k) {
        path[k - 3] = lattice[k - 1].candidates[b].state;
        const int64_t a = best_before(lattice, k, b, c, values);
        c = b;
        b = a;
    }
    return score;
}

}  // namespace

Outcome best_states(const Trigrams& model, const Candidates& candidates, const Words& words, int32_t* states,
                    double* scores, const Interrupted& interrupted) {
    std::fill(scores, scores + words.B, 0.0);
    const auto work = [&](const Lattice& lattice, int64_t sentence, double* values, const int* stop) {
        scores[sentence] = best_path(model, lattice, values, states + words.offsets[sentence], stop);
        return scores[sentence] > -kInf;
    };
    return for_sentences(model, candidates, words, 1, interrupted, work);
}

Outcome tag_texts(const Trigrams& model, const Candidates& candidates, const Lexicon& lexicon, const Text* texts,
                  const int64_t* offsets, int64_t B, int32_t* states, const Interrupted& interrupted) {
    std::vector<int32_t> ids(size_t(offsets[B]));
    const Words words{ids.data(), offsets, B};
    const auto look_up = [&](int64_t first, int64_t last) {
        lexicon.find_all(texts + offsets[first], offsets[last] - offsets[first], ids.data() + offsets[first]);
    };
    const auto work = [&](const Lattice& lattice, int64_t sentence, double* values, const int* stop) {
        return best_path(model, lattice, values, states + offsets[sentence], stop) > -kInf;
    };
    return for_sentences(model, candidates, words, 1, interrupted, work, look_up);
}

// --- sums -------------------------------------------------------------------------------------------------------

namespace {

// log Σ exp of terms, −∞ for nothing but −∞.
double log_sum(const std::vector<double>& terms) {
    double high = -kInf, sum = 0;
    for (const double term : terms) high = std::max(high, term);
    if (high == -kInf) return high;
    for (const double term : terms) sum += std::exp(term - high);
    return high + std::log(sum);
}

// log α of the last tokens' pairs with the boundary.
void ends(const Lattice& lattice, const double* alpha, std::vector<double>& terms) {
    terms.clear();
    for (int64_t b = 0; b < lattice[lattice.last() - 1].count; ++b)
        terms.push_back(alpha[lattice[lattice.last()].pair(b, 0)]);
}

// log α of all pairs; log Z, or −∞ too where it was stopped.
double forward(const Lattice& lattice, double* alpha, const int* stop) {
    std::vector<double> terms;
    alpha[0] = 0;
    for (int64_t k = 2; k <= lattice.last(); ++k) {
        if (stopped(stop)) return -kInf;
        const Place &before = lattice[k - 1], &here = lattice[k];
        terms.resize(size_t(lattice[k - 2].count));
        for (int64_t b = 0; b < before.count; ++b)
            for (int64_t c = 0; c < here.count; ++c) {
                for (size_t a = 0; a < terms.size(); ++a)
                    terms[a] = alpha[before.pair(int64_t(a), b)] +
                               double(lattice.after(k, int64_t(a), b)[here.candidates[c].state]);
                alpha[here.pair(b, c)] = log_sum(terms) + double(here.candidates[c].score);
            }
    }
    ends(lattice, alpha, terms);
    return log_sum(terms);
}

// log β of the pairs of place k − 1 from those of place k; returns their share of the expected score.
double backward_step(const Lattice& lattice, int64_t k, const double* alpha, double log_z, double* beta,
                     std::vector<double>& terms) {
    const Place &before = lattice[k - 1], &here = lattice[k];
    double expected = 0;
    terms.resize(size_t(here.count));
    for (int64_t a = 0; a < lattice[k - 2].count; ++a)
        for (int64_t b = 0; b < before.count; ++b) {
            const int64_t pair = before.pair(a, b);
            const float* moves = lattice.after(k, a, b);
            for (int64_t c = 0; c < here.count; ++c) {
                const double score = double(moves[here.candidates[c].state]) + double(here.candidates[c].score);
                terms[size_t(c)] = score + beta[here.pair(b, c)];
                if (score == -kInf) continue;
                expected += std::exp(alpha[pair] + terms[size_t(c)] - log_z) * score;
            }
            beta[pair] = log_sum(terms);
        }
    return expected;
}

}  // namespace

Outcome trigram_posterior(const Trigrams& model, const Candidates& candidates, const Words& words,
                          const TrigramPosterior& want, const Interrupted& interrupted) {
    std::fill(want.log_z, want.log_z + words.B, 0.0);
    std::fill(want.entropy, want.entropy + words.B, 0.0);
    const auto work = [&](const Lattice& lattice, int64_t sentence, double* alpha, const int* stop) {
        const double log_z = want.log_z[sentence] = forward(lattice, alpha, stop);
        if (log_z == -kInf) return false;
        std::vector<double> beta(size_t(lattice.size()), 0.0), terms;
        double expected = 0;
        for (int64_t k = lattice.last(); k >= 2; --k) {
            if (stopped(stop)) return false;
            expected += backward_step(lattice, k, alpha, log_z, beta.data(), terms);
        }
        want.entropy[sentence] = std::max(0.0, log_z - expected);
        for (int64_t k = 2; k < lattice.last(); ++k) {
            const Place& here = lattice[k];
            double* nodes = want.nodes + want.node_begins[words.offsets[sentence] + k - 2];
            std::fill(nodes, nodes + here.count, 0.0);
            for (int64_t b = 0; b < lattice[k - 1].count; ++b)
                for (int64_t c = 0; c < here.count; ++c) {
                    const int64_t pair = here.pair(b, c);
                    nodes[c] += std::exp(alpha[pair] + beta[size_t(pair)] - log_z);
                }
        }
        return true;
    };
    return for_sentences(model, candidates, words, 1, interrupted, work);
}

// --- samples ----------------------------------------------------------------------------------------------------

namespace {

// The entry in which the share u of Σ exp(terms) falls.
int64_t draw(std::vector<double>& terms, double u) {
    const double total = log_sum(terms);
    int64_t last = 0;
    for (int64_t n = 0; n < int64_t(terms.size()); ++n) {
        const double share = std::exp(terms[size_t(n)] - total);
        if (share == 0) continue;
        last = n;
        if ((u -= share) < 0) break;
    }
    return last;
}

}  // namespace

Outcome sample_states(const Trigrams& model, const Candidates& candidates, const Words& words, const double* uniforms,
                      int64_t samples, int32_t* states, const Interrupted& interrupted) {
    const int64_t N = words.offsets[words.B];
    const auto work = [&](const Lattice& lattice, int64_t sentence, double* alpha, const int* stop) {
        if (forward(lattice, alpha, stop) == -kInf) return false;
        const int64_t last = lattice.last();
        std::vector<double> terms;
        for (int64_t n = 0; n < samples; ++n) {
            if (stopped(stop)) return false;
            const int64_t at = n * N + words.offsets[sentence];
            ends(lattice, alpha, terms);
            int64_t b = draw(terms, uniforms[at + last - 3]), c = 0;
            states[at + last - 3] = lattice[last - 1].candidates[b].state;
            for (int64_t k = last; k >= 4; --k) {
                terms.resize(size_t(lattice[k - 2].count));
                for (size_t a = 0; a < terms.size(); ++a)
                    terms[a] = alpha[lattice[k - 1].pair(int64_t(a), b)] +
                               double(lattice.after(k, int64_t(a), b)[lattice[k].candidates[c].state]);
                c = b;
                b = draw(terms, uniforms[at + k - 4]);
                states[at + k - 4] = lattice[k - 2].candidates[b].state;
            }
        }
        return true;
    };
    return for_sentences(model, candidates, words, samples, interrupted, work);
}

// --- the k best -------------------------------------------------------------------------------------------------

namespace {

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

// Lazily, as in kbest.cpp: every pair keeps a ranked list of the ways to it, which grows by one when one more is asked
// for; that may need one more at a pair before it, and so on towards the front. Behind the last place stands one pair
// more, to which all pairs of the last place lead.
class Ranking {
public:
    explicit Ranking(const Lattice& lattice)
        : lattice_(lattice), last_(lattice.last()), nodes_(size_t(lattice.size()) + 1) {
        nodes_[0].ranked.push_back({0, 0, 0});
        for (int64_t k = 2; k <= last_; ++k)
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
            path[at.place - 3] = lattice_[at.place - 1].candidates[at.b].state;
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
        const Candidate& here = lattice_[at.place].candidates[at.c];
        return so_far + double(lattice_.after(at.place, a, at.b)[here.state]) + double(here.score);
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

}  // namespace

Outcome rank_states(const Trigrams& model, const Candidates& candidates, const Words& words, int64_t k,
                    std::vector<Ranked>& out, const Interrupted& interrupted) {
    out.assign(size_t(words.B), {});
    for (int64_t b = 0; b < words.B; ++b)
        if (words.offsets[b + 1] == words.offsets[b]) out[size_t(b)].scores.push_back(0);
    const auto work = [&](const Lattice& lattice, int64_t sentence, double*, const int* stop) {
        Ranking ranking(lattice);
        Ranked& found = out[size_t(sentence)];
        const int64_t T = lattice.tokens();
        for (int64_t rank = 0; rank < k && ranking.find(rank); ++rank) {
            if (stopped(stop)) return false;
            found.labels.resize(found.labels.size() + size_t(T));
            found.scores.push_back(ranking.write(rank, found.labels.data() + rank * T));
        }
        return !found.scores.empty();
    };
    return for_sentences(model, candidates, words, k, interrupted, work);
}

}  // namespace tagline
