// The likelihood of a feature CRF: Σ over sentences of −log p(labels), and its gradient by the flat weights.
//
// Sentences are spread over a fixed number of lanes, each with its own sums, added up in the order of the lanes: the
// result does not depend on the number of threads. Emissions and marginals of a few sentences at a time live in the
// cache only; the weights of rows and cells are what memory is spent on.
#pragma once

#include "runtime/outcome.h"
#include "training/expectations.h"

#include <memory>

namespace tagline {

template <class Real>
class Likelihood {
public:
    Likelihood(std::shared_ptr<const Layout> layout, TransitionLayout transitions, const Examples& examples);
    ~Likelihood();

    int64_t size() const { return layout_->size() + transitions_.size(); }
    const Layout& layout() const { return *layout_; }
    const TransitionLayout& transitions() const { return transitions_; }
    const Examples& examples() const { return examples_; }

    // Value and gradient [size] at the flat weights [size]. With `curvature`, Σ value² p (1 − p) of state weights goes
    // where the gradient would: about the Hessian's diagonal. `sentence` of the outcome names one without a legal path.
    Outcome evaluate(const double* weights, bool curvature, double& value, double* gradient,
                     const Interrupted& interrupted);

    // The weights that were evaluated last: of states, and flat ones of transitions.
    const WeightTable<Real>& evaluated() const { return weights_.table(); }
    const std::vector<double>& evaluated_transitions() const { return transition_weights_; }

    // How often each weight is used by the sentences whose labels are all known, [size].
    const std::vector<double>& observed() const { return observed_; }

private:
    struct Lane;
    std::shared_ptr<const Layout> layout_;
    TransitionLayout transitions_;
    Examples examples_;
    std::vector<int64_t> lane_offsets_;  // sentences of lane k
    std::vector<uint32_t> hot_rows_;    // summed in float64 now and then,
    size_t hottest_ = 0;                // the first of them more often
    std::vector<double> observed_;
    WeightMemory<Real> weights_;
    std::vector<double> transition_weights_;
    std::vector<std::unique_ptr<Lane>> lanes_;

    void observe();
    void run_lane(int64_t k, const TransitionTable<Real>& scores, const Prepared& prepared, const Variant& variant,
                  const Occurrences& states, bool curvature, double* losses, const int* stop);
};

}  // namespace tagline
