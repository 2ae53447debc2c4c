// The k best labellings of the trigram tagger.
#include "chain/ranking.h"
#include "trigram/lattice.h"

namespace tagline {

namespace {

struct Nothing {};

}  // namespace

Outcome rank_states(const Trigrams& model, const Candidates& candidates, const Words& words, int64_t k,
                    std::vector<Ranked>& out, const Interrupted& interrupted) {
    out.assign(size_t(words.B), {});
    for (int64_t b = 0; b < words.B; ++b)
        if (words.offsets[b + 1] == words.offsets[b]) out[size_t(b)].scores.push_back(0);
    const auto work = [&](const Lattice& lattice, int64_t sentence, Nothing&, const int* stop) {
        return rank_labellings(lattice, k, lattice.tokens(), out[size_t(sentence)], [&] { return stopped(stop); });
    };
    return for_sentences<Nothing>(model, candidates, words, blocks_of(candidates, words, k), interrupted, work);
}

}  // namespace tagline
