// Online learning from mistakes: averaged perceptron, passive-aggressive, AROW. One sentence at a time, and only its
// best labelling (decoder.h).
//
// With Δ = F(y, x) − F(ŷ, x), ŷ the best labelling under the weights of now:
//   perceptron          w += Δ
//   passive-aggressive  w += τ Δ, τ = l / |Δ|² (0), min(C, l / |Δ|²) (I), l / (|Δ|² + 1 / (2 C)) (II);
//                       l = w·F(ŷ) − w·F(y) + √(wrong labels), or + 1
//   AROW                w += α Σ ⊙ Δ, α = l / (Δ·Σ Δ + γ), l = w·F(ŷ) − w·F(y) + wrong labels; 1/Σ += Δ² / γ
// Averages are kept as Σ k · (what the k-th sentence added), so that a sentence costs its own features only.
#pragma once

#include "training/likelihood.h"

namespace tagline {

enum class Rule { perceptron, passive_aggressive, arow };

struct OnlineOptions {
    Rule rule = Rule::perceptron;
    int type = 1;                  // passive-aggressive 0, I, II
    double C = 1;                  // passive-aggressive: aggressiveness
    bool error_sensitive = true;   // passive-aggressive: the margin grows with the wrong labels
    double variance = 1;           // AROW: of every weight at first
    double gamma = 1;              // AROW: how much of a change is taken on
};

template <class Real>
class Online {
public:
    Online(const Likelihood<Real>& likelihood, const OnlineOptions& options);

    void set(const double* weights);                // [size]; averages and variances begin anew
    void get(double* weights, bool averaged) const;  // [size]

    // What learning needs to go on from here bit for bit: weights, sums and variances, [3, size], and the sentences seen.
    // Without AROW there are no variances: zeros.
    double keep(double* values) const;
    void restore(const double* values, double seen);

    // Learn from the sentences of `order`. `loss` becomes the sum of l, `wrong` the number of wrong labels.
    Outcome pass(const int64_t* order, int64_t count, double& loss, int64_t& wrong, const Interrupted& interrupted);

protected:
    struct Change {
        uint64_t key;   // where in the tables
        double amount;
    };
    struct Step {
        double size, l;
    };

    const Likelihood<Real>& likelihood_;
    OnlineOptions options_;
    std::vector<uint64_t> masks_;
    WeightMemory<Real> weights_, sums_, variances_;
    TransitionTable<double> transition_weights_, transition_sums_, transition_variances_;
    double seen_ = 1;

    void differences(int64_t b, const int64_t* gold, const int64_t* best, std::vector<Change>& changes) const;
    void add_labelling(int64_t b, const int64_t* labels, const int64_t* other, double sign,
                       std::vector<Change>& changes) const;
    Real* weight_at(const WeightMemory<Real>& memory, uint64_t key) const;
    double* transition_at(TransitionTable<double>& table, uint64_t key) const;
    double variance_at(uint64_t key) const;
    // What the rule does about a labelling whose score is `behind` above that of the gold one, with so many errors.
    Step step_by_rule(const std::vector<Change>& changes, double behind, int64_t errors, int64_t T) const;
    void update(const std::vector<Change>& changes, double step);
};

}  // namespace tagline
