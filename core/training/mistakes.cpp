#include "training/mistakes.h"

#include "chain/blocks.h"
#include "training/decoder.h"

namespace tagline {

template <class Real>
Outcome count_mistakes(const Likelihood<Real>& likelihood, Mistakes& mistakes, const Interrupted& interrupted) {
    const Examples& examples = likelihood.examples();
    const TransitionLayout& transitions = likelihood.transitions();
    TransitionTable<Real> scores(transitions);
    scores.load(transitions, likelihood.evaluated_transitions().data());
    scores.forbid(transitions);
    const Blocks blocks(examples.offsets, examples.B, transitions.L);
    std::vector<Mistakes> counts(size_t(blocks.count()));
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](long block, int64_t first, int64_t last, const int* stop) {
        Decoder<Real> decoder(transitions, examples, active_variant(), stop);
        decoder.use(scores);
        std::vector<int64_t> best;
        Mistakes& count = counts[size_t(block)];
        for (int64_t b = first; b < last && !stopped(stop); ++b) {
            const int64_t begin = examples.offsets[b], T = examples.offsets[b + 1] - begin;
            if (T == 0 || examples.partial(b)) continue;
            best.resize(size_t(T));
            if (!decoder.find(likelihood.evaluated(), b, false, best.data())) {
                dead.report(b);
                continue;
            }
            int64_t wrong = 0;
            for (int64_t t = 0; t < T; ++t) wrong += best[size_t(t)] != examples.labels[begin + t];
            count.labels += wrong;
            count.sentences += wrong > 0;
        }
    });
    for (const Mistakes& count : counts) {
        mistakes.labels += count.labels;
        mistakes.sentences += count.sentences;
    }
    outcome.sentence = dead.value();
    return outcome;
}

template Outcome count_mistakes(const Likelihood<float>&, Mistakes&, const Interrupted&);
template Outcome count_mistakes(const Likelihood<double>&, Mistakes&, const Interrupted&);

}  // namespace tagline
