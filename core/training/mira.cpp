#include "training/mira.h"

#include "runtime/pool.h"
#include "training/decoder.h"

#include <algorithm>

namespace tagline {

template <class Real>
void Mira<Real>::mend(int64_t b, const std::vector<typename Online<Real>::Change>& changes, double behind,
                      int64_t errors, float* spent, MiraPass& pass) {
    double norm = 0;
    for (const auto& change : changes) norm += change.amount * change.amount;
    const double missing = double(errors) - behind;
    double step = norm > 0 ? std::max(0.0, missing / norm) : 0.0;
    if (spent[b] + step > C_) {
        step = C_ - spent[b];
        ++pass.limited;
    } else {
        pass.violation = std::max(pass.violation, missing);
    }
    if (step <= 1e-10) return;
    spent[b] = std::min(C_, float(spent[b] + step));
    this->update(changes, step);
}

template <class Real>
Outcome Mira<Real>::learn(const int64_t* order, int64_t count, float* spent, int64_t* errors, MiraPass& pass,
                          const Interrupted& interrupted) {
    const Examples& examples = this->likelihood_.examples();
    const TransitionLayout& transitions = this->likelihood_.transitions();
    Outcome outcome;
    int stop = 0;
    outcome.finished = run(1, false, stop, interrupted, [&](long) {
        Decoder<Real> decoder(transitions, examples, active_variant(), &stop);
        TransitionTable<Real> scores(transitions);
        std::vector<double> flat(size_t(transitions.size()));
        std::vector<int64_t> gold, best;
        std::vector<typename Online<Real>::Change> changes;
        for (int64_t k = 0; k < count && !stopped(&stop); ++k) {
            const int64_t b = order[k], first = examples.offsets[b], T = examples.offsets[b + 1] - first;
            errors[k] = 0;
            if (T == 0) continue;
            if (k == 0 || errors[k - 1] > 0) {
                std::fill(flat.begin(), flat.end(), 0.0);
                this->transition_weights_.add_to(transitions, flat.data());
                scores.load(transitions, flat.data());
                scores.forbid(transitions);
                decoder.use(scores);
            }
            best.resize(size_t(T));
            gold.assign(examples.labels + first, examples.labels + first + T);
            if (!decoder.find(this->weights_.table(), b, false, best.data())) {
                if (outcome.sentence < 0) outcome.sentence = b;
                continue;
            }
            for (int64_t t = 0; t < T; ++t) errors[k] += gold[size_t(t)] != best[size_t(t)];
            if (errors[k] == 0) continue;
            pass.wrong_labels += errors[k];
            ++pass.wrong_sentences;
            this->differences(b, gold.data(), best.data(), changes);
            const double behind = decoder.score(best.data()) - decoder.score(gold.data());
            mend(b, changes, behind, errors[k], spent, pass);
        }
    });
    return outcome;
}

template class Mira<float>;
template class Mira<double>;

}  // namespace tagline
