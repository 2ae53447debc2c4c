// Stochastic gradient descent on the likelihood of a feature CRF with c1·|w|₁ + c2·|w|², a few sentences a step.
//
// The penalties are lazy. Weights are scale · v: the L2 penalty shrinks all of them by one multiplication. The L1
// penalty takes δ_k off the size of a weight at step k, that is δ_k / scale_k off v. What a weight missed adds up, and
// is taken off when the weight is next used: v ← sign(v) · max(0, |v| − Σ of what it missed). Both are exact.
#pragma once

#include "training/likelihood.h"

#include <algorithm>

namespace tagline {

template <class Real>
class Descent {
public:
    // The likelihood outlives it; c1 and c2 are those of the whole objective, which has so many sentences: 0 for those
    // of the likelihood.
    Descent(const Likelihood<Real>& likelihood, double c1, double c2, int64_t sentences = 0);

    void set(const double* weights);  // [size]
    void get(double* weights);        // [size], all penalties paid

    // What a descent needs to go on from here bit for bit, besides steps(): v [size], all penalties paid, and the scale.
    double keep(double* values);
    void restore(const double* values, double scale);

    // One step for every `batch` sentences of `order`: w ← w − η ∇, η = rate / (1 + rate · decay · sentences so far).
    // `loss` becomes Σ weight · −log p, each as it was before its step. Without `learn` only the loss is computed.
    // With `shrink_first` the L2 penalty is taken before the likelihood is asked, by 1 − 2·η·c2·share, as CRFsuite does.
    Outcome pass(const int64_t* order, int64_t count, int64_t batch, double rate, double decay, bool learn,
                 double& loss, const Interrupted& interrupted, bool shrink_first = false);

    double steps() const { return seen_; }
    void set_steps(double seen) { seen_ = seen; }

private:
    const Likelihood<Real>& likelihood_;
    double c1_, c2_;
    int64_t sentences_;
    double seen_ = 0;      // sentences
    double scale_ = 1;
    double owed_ = 0;      // Σ of what the L1 penalty takes off v, so far
    WeightMemory<Real> weights_;
    std::vector<uint64_t> masks_;
    std::vector<Real> row_paid_, cell_paid_;  // owed_ when the row or cell was last used; empty without c1
    TransitionTable<double> transition_weights_;  // in full, without the scale

    void pay(const int64_t* members, int count);
    void pay_all();
    void rescale();
    // The share of so many sentences in the penalties.
    double share_of(int64_t sentences) const {
        return double(sentences) / double(std::max<int64_t>(sentences_, 1));
    }
    void shrink_all(double factor);
    // `expected` holds the counts of transitions of the sentences, or is given them here; those of triples that have
    // weights are 0 afterwards. Weights are multiplied by `shrinkage` on the way.
    void step(const Expectations<Real>& expectations, TransitionTable<double>& expected, double eta, double shrinkage,
              const Kernels<Real>& kernels);
};

}  // namespace tagline
