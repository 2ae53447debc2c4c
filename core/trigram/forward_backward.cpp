// Forward–backward over pairs of candidates, in the log domain, and samples drawn from α:
//
//     α_k(b, c) = log Σ_a exp(α_(k−1)(a, b) + log p(c | a, b)) + e_k(c)
//     β_(k−1)(a, b) = log Σ_c exp(log p(c | a, b) + e_k(c) + β_k(b, c))
#include "chain/log_sum_exp.h"
#include "trigram/lattice.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

// log α of the last tokens' pairs with the boundary.
void ends(const Lattice& lattice, const double* alpha, std::vector<double>& terms) {
    terms.clear();
    for (int64_t b = 0; b < lattice[lattice.last() - 1].count; ++b)
        terms.push_back(alpha[lattice[lattice.last()].pair(b, 0)]);
}

using Alphas = std::vector<double>;

// log α of all pairs; log Z, or −∞ too where it was stopped.
double forward(const Lattice& lattice, Alphas& memory, const int* stop) {
    memory.resize(std::max(memory.size(), size_t(lattice.size())));
    double* alpha = memory.data();
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
                alpha[here.pair(b, c)] = log_sum_exp(terms) + double(here.candidates[c].score);
            }
    }
    ends(lattice, alpha, terms);
    return log_sum_exp(terms);
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
            const float* transitions = lattice.after(k, a, b);
            for (int64_t c = 0; c < here.count; ++c) {
                const double score = double(transitions[here.candidates[c].state]) + double(here.candidates[c].score);
                terms[size_t(c)] = score + beta[here.pair(b, c)];
                if (score == -kInf) continue;
                expected += std::exp(alpha[pair] + terms[size_t(c)] - log_z) * score;
            }
            beta[pair] = log_sum_exp(terms);
        }
    return expected;
}

}  // namespace

Outcome trigram_posterior(const Trigrams& model, const Candidates& candidates, const Words& words,
                          const TrigramPosterior& want, const Interrupted& interrupted) {
    std::fill(want.log_z, want.log_z + words.B, 0.0);
    std::fill(want.entropy, want.entropy + words.B, 0.0);
    const auto work = [&](const Lattice& lattice, int64_t sentence, Alphas& memory, const int* stop) {
        const double log_z = want.log_z[sentence] = forward(lattice, memory, stop);
        if (log_z == -kInf) return false;
        const double* alpha = memory.data();
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
    return for_sentences<Alphas>(model, candidates, words, blocks_of(candidates, words, 1), interrupted, work);
}

// --- samples ----------------------------------------------------------------------------------------------------

namespace {

// The entry in which the share u of Σ exp(terms) falls.
int64_t draw(std::vector<double>& terms, double u) {
    const double total = log_sum_exp(terms);
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
    const auto work = [&](const Lattice& lattice, int64_t sentence, Alphas& memory, const int* stop) {
        if (forward(lattice, memory, stop) == -kInf) return false;
        const double* alpha = memory.data();
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
    return for_sentences<Alphas>(model, candidates, words, blocks_of(candidates, words, samples), interrupted, work);
}

}  // namespace tagline
