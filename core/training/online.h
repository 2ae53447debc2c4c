// Online learning by mistakes: averaged perceptron, passive-aggressive, AROW. One sentence at a time, best labelling only.
//
// With Δ = F(y, x) − F(ŷ, x), ŷ the best labelling under the weights of now:
//   perceptron          w += Δ
//   passive-aggressive  w += τ Δ, τ = l / |Δ|² (0), min(C, l / |Δ|²) (I), l / (|Δ|² + 1 / (2 C)) (II);
//                       l = w·F(ŷ) − w·F(y) + √(wrong labels), or + 1
//   AROW                w += α Σ ⊙ Δ, α = l / (Δ·Σ Δ + γ), l = w·F(ŷ) − w·F(y) + wrong labels; 1/Σ += Δ² / γ
// Averages are kept as Σ k·(what was added as the k-th sentence came), so that a sentence costs its own features only.
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

    // Learn from the sentences of `order`. `loss` becomes the sum of l, `wrong` the number of wrong labels.
    Outcome pass(const int64_t* order, int64_t count, double& loss, int64_t& wrong, const Interrupted& interrupted);

private:
    struct Change {
        uint64_t key;   // where in the tables
        double amount;
    };

    const Likelihood<Real>& likelihood_;
    OnlineOptions options_;
    std::vector<uint64_t> masks_;
    Rows<Real> weights_, sums_, variances_;
    MoveTable<double> moves_, move_sums_, move_variances_;
    double seen_ = 1;

    void differences(int64_t b, const int64_t* gold, const int64_t* best, std::vector<Change>& changes) const;
    void add_labelling(int64_t b, const int64_t* labels, const int64_t* other, double sign,
                       std::vector<Change>& changes) const;
    Real* weight_at(const Rows<Real>& rows, uint64_t key) const;
    double* move_at(MoveTable<double>& table, uint64_t key) const;
    double variance_at(uint64_t key) const;
    void update(const std::vector<Change>& changes, double step);
};

}  // namespace tagline
