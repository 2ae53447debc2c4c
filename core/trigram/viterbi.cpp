// Viterbi over pairs of candidates, the best labelling:
//
//     δ_k(b, c) = max_a (δ_(k−1)(a, b) + log p(c | a, b)) + e_k(c)
//
// Half of the tokens of a text have one candidate and few have more than four, so the time goes into branches that the
// processor does not foresee. Therefore the candidates c are taken one to four together, by loops of fixed length. The
// best of few a is stored; the best of many, of which only one is asked for, is computed again on the way back.
#include "runtime/compiler.h"
#include "trigram/lattice.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int64_t kFew = 8;  // candidates
constexpr int64_t kPairsAtOnce = 4096;  // before it is asked whether to stop

struct Paths {
    std::vector<double> scores;   // δ
    std::vector<uint8_t> before;  // a, the smallest of equals, where there are few

    void reserve(int64_t size) {
        if (int64_t(scores.size()) >= size) return;
        scores.resize(size_t(size));
        before.resize(size_t(size));
    }
};

// The pairs of a place with its candidates first … first + count − 1.
template <int count, bool few>
inline void best_pairs(const Trigrams& model, const Place* place, int64_t first, Paths& paths) {
    const Place &earlier = place[-2], &before = place[-1], &here = place[0];
    int64_t states[count];
    double scores[count];
    for (int c = 0; c < count; ++c) {
        states[c] = here.candidates[first + c].state;
        scores[c] = double(here.candidates[first + c].score);
    }
    const int64_t A = earlier.count, B = before.count, C = here.count;
    const double* from = paths.scores.data() + before.begin;
    double* to = paths.scores.data() + here.pair(0, first);
    uint8_t* ways = paths.before.data() + here.pair(0, first);
    for (int64_t b = 0; b < B; ++b, ++from, to += C, ways += C) {
        const int32_t state = before.candidates[b].state;
        const float* transitions = model.after(earlier.candidates[0].state, state);
        double high[count];
        int32_t best[count] = {};
        for (int c = 0; c < count; ++c) high[c] = from[0] + double(transitions[states[c]]);
        for (int64_t a = 1; a < A; ++a) {
            transitions = model.after(earlier.candidates[a].state, state);
            const double so_far = from[a * B];
            for (int c = 0; c < count; ++c) {
                const double score = so_far + double(transitions[states[c]]);
                if (few) best[c] = score > high[c] ? int32_t(a) : best[c];
                high[c] = std::max(high[c], score);
            }
        }
        for (int c = 0; c < count; ++c) to[c] = high[c] + scores[c];
        for (int c = 0; few && c < count; ++c) ways[c] = uint8_t(best[c]);
    }
}

template <bool few>
inline void best_pairs(const Trigrams& model, const Place* place, Paths& paths) {
    int64_t first = 0;
    for (; !few && first + 8 <= place->count; first += 8) best_pairs<8, few>(model, place, first, paths);
    for (; first + 4 <= place->count; first += 4) best_pairs<4, few>(model, place, first, paths);
    switch (place->count - first) {
        case 1: return best_pairs<1, few>(model, place, first, paths);
        case 2: return best_pairs<2, few>(model, place, first, paths);
        case 3: return best_pairs<3, few>(model, place, first, paths);
    }
}

// Kept out of the loop over places: where both are in it, that takes an eighth longer.
TAGLINE_APART void pairs_of_many(const Trigrams& model, const Place* place, Paths& paths) {
    best_pairs<false>(model, place, paths);
}

// δ of all pairs; false where a token has no candidates, or where it was stopped.
bool best_pairs(const Trigrams& model, const Lattice& lattice, Paths& paths, const int* stop) {
    paths.reserve(lattice.size());
    paths.scores[0] = 0;
    const int64_t places = lattice.last() + 1, pace = std::max<int64_t>(1, kPairsAtOnce * places / lattice.size());
    for (int64_t k = 2; k < places;) {
        for (const int64_t end = std::min(k + pace, places); k < end; ++k) {
            if (!lattice[k].count) return false;
            if (lattice[k - 2].count <= kFew)
                best_pairs<true>(model, &lattice[k], paths);
            else
                pairs_of_many(model, &lattice[k], paths);
        }
        if (stopped(stop)) return false;
    }
    return true;
}

// The candidate of place k − 2 on the best way to the pair (b, c).
inline int64_t best_before(const Lattice& lattice, int64_t k, int64_t b, int64_t c, const Paths& paths) {
    const int64_t A = lattice[k - 2].count;
    if (A <= kFew) return paths.before[size_t(lattice[k].pair(b, c))];
    const int32_t state = lattice[k].candidates[c].state;
    int64_t best = 0;
    double high = -kInf;
    for (int64_t a = 0; a < A; ++a) {
        const double score = paths.scores[size_t(lattice[k - 1].pair(a, b))] + double(lattice.after(k, a, b)[state]);
        if (score > high) {
            high = score;
            best = a;
        }
    }
    return best;
}

// The best states of a sentence, and their score; −∞ where there are none, or where it was stopped.
double best_path(const Trigrams& model, const Lattice& lattice, Paths& paths, int32_t* path, const int* stop) {
    if (!best_pairs(model, lattice, paths, stop)) return -kInf;
    const int64_t last = lattice.last();
    const double* ends = paths.scores.data() + lattice[last].begin;
    int64_t b = std::max_element(ends, ends + lattice[last - 1].count) - ends, c = 0;
    const double score = ends[b];
    if (score == -kInf) return score;
    for (int64_t k = last; k >= 3; --k) {
        path[k - 3] = lattice[k - 1].candidates[b].state;
        const int64_t a = best_before(lattice, k, b, c, paths);
        c = b;
        b = a;
    }
    return score;
}

}  // namespace

Outcome best_states(const Trigrams& model, const Candidates& candidates, const Words& words, int32_t* states,
                    double* scores, const Interrupted& interrupted) {
    if (scores) std::fill(scores, scores + words.B, 0.0);
    const auto work = [&](const Lattice& lattice, int64_t sentence, Paths& paths, const int* stop) {
        const double score = best_path(model, lattice, paths, states + words.offsets[sentence], stop);
        if (scores) scores[sentence] = score;
        return score > -kInf;
    };
    return for_sentences<Paths>(model, candidates, words, blocks_of(candidates, words), interrupted, work);
}

}  // namespace tagline
