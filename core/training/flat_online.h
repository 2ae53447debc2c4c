// Online learning as CRFsuite does it, to the last bit: the rules of online.h on flat float64 weights, with every feature
// of both labellings visited in its order, also those that both have.
#pragma once

#include "training/flat_weights.h"
#include "training/online.h"

namespace tagline {

// Labelled sentences; the arrays outlive whoever learns from them.
struct FlatExamples {
    const int64_t* offsets;  // [B + 1]
    int64_t B;
    const int64_t* states;   // [N + 1]; the attributes of token n are ids[states[n]] … ids[states[n + 1] − 1]
    const int32_t* ids;
    const double* values;    // null where all are 1
    const int32_t* labels;   // [N]
    const double* weights;   // [B], or null where all are 1

    double weight(int64_t b) const { return weights ? weights[b] : 1; }
};

class FlatOnline {
public:
    // `pairs`: previous · L + next of the transitions that have a weight.
    FlatOnline(FlatWeights weights, const std::vector<int32_t>& pairs, const FlatExamples& examples,
               const OnlineOptions& options);

    int64_t size() const { return int64_t(weights_.cells.size() + pairs_.size()); }

    // The weights [size], states before transitions, or their average over the sentences so far.
    void get(double* weights, bool averaged) const;

    // Learn from the sentences of `order`; `loss` becomes the sum of their losses.
    Outcome pass(const int64_t* order, int64_t count, double& loss, const Interrupted& interrupted);

private:
    FlatWeights weights_;
    std::vector<int32_t> pairs_;
    std::vector<int64_t> places_;  // [L, L] of transitions among the weights, −1 where there is none
    FlatExamples examples_;
    OnlineOptions options_;
    std::vector<double> sums_, variances_;      // [size]
    std::vector<double> delta_;                 // [size] F(y, x) − F(ŷ, x)
    std::vector<int64_t> active_;               // where delta_ was changed, each place once
    std::vector<uint8_t> is_active_;            // [size]
    double seen_ = 1;

    double& weight_at(int64_t k);
    template <class Visit>
    void visit(int64_t b, const int64_t* labels, const Visit& visit) const;
    void collect(int64_t b, const int64_t* labels, double factor);
    void forget();
    double perceptron(int64_t b, const int64_t* gold, const int64_t* best, int64_t errors);
    double passive_aggressive(int64_t b, const int64_t* gold, const int64_t* best, int64_t errors, double behind);
    double arow(int64_t b, const int64_t* gold, const int64_t* best, int64_t errors, double behind);
};

}  // namespace tagline
