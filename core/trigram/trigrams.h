// The trigram tagger: second-order chains with few states a token. It knows p(s_t | s_(t−2), s_(t−1)) and, for each
// token, the states that it may have. viterbi.cpp, forward_backward.cpp and k_best.cpp answer the questions below. A
// sentence stands between boundaries: S, S before its first token, S after its last.
//
//     score(s) = Σ_t (log p(s_t | s_(t−2), s_(t−1)) + e_t(s_t)) + log p(S | s_(T−2), s_(T−1)),     s_(−2) = s_(−1) = S
#pragma once

#include "chain/batch.h"

#include <cstdint>
#include <vector>

namespace tagline {

// log p(c | a, b) = table[rows[a, b], c]; contexts that were never seen share the row of their b.
struct Trigrams {
    const float* table;   // [R, S + 1]
    const int32_t* rows;  // [S + 1, S + 1]
    int64_t S;

    const float* after(int32_t a, int32_t b) const { return table + rows[a * (S + 1) + b] * (S + 1); }
};

// A state that a word may have, and log P(word | state) up to a constant for each word.
struct Candidate {
    int32_t state;
    float score;
};

struct Candidates {
    const int64_t* offsets;  // [W + 1]
    const Candidate* lists;  // [M], states ascending in each list
    int64_t W, typical;      // lists, and the root mean square of their lengths

    int64_t count(int32_t word) const { return offsets[word + 1] - offsets[word]; }
};

// Sentences as numbers of words; a word without candidates leaves a sentence without a labelling.
struct Words {
    const int32_t* ids;      // [N]
    const int64_t* offsets;  // [B + 1]
    int64_t B;
};

// The best states [N] and, unless that is null, their scores [B]. Equal scores: the smaller state, from the end
// backwards.
Outcome best_states(const Trigrams& model, const Candidates& candidates, const Words& words, int32_t* states,
                    double* scores, const Interrupted& interrupted);

// log Z [B], the entropy [B] in nats, and the probability of each candidate of each token, one after the other.
struct TrigramPosterior {
    double *log_z, *entropy;
    double* nodes;               // [Σ candidates of the tokens]
    const int64_t* node_begins;  // [N]
};

Outcome trigram_posterior(const Trigrams& model, const Candidates& candidates, const Words& words,
                          const TrigramPosterior& want, const Interrupted& interrupted);

// uniforms [samples, N] in, states [samples, N] out.
Outcome sample_states(const Trigrams& model, const Candidates& candidates, const Words& words, const double* uniforms,
                      int64_t samples, int32_t* states, const Interrupted& interrupted);

// The k best labellings of each sentence; equal scores as above.
Outcome rank_states(const Trigrams& model, const Candidates& candidates, const Words& words, int64_t k,
                    std::vector<Ranked>& out, const Interrupted& interrupted);

}  // namespace tagline
