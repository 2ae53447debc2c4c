// The likelihood of a feature CRF: Σ over sentences of −log p(labels), and its gradient by the flat weights.
//
// Sentences are spread over lanes, each with its own sums, which are added up in pairs, the pairs in pairs, and so on.
// The lanes depend on the corpus alone: the result does not depend on the number of threads, nor on which process adds
// up which branch of that tree. Emissions and marginals of a few sentences at a time live in the cache only; the weights
// of rows and cells are what memory is spent on.
#pragma once

#include "runtime/outcome.h"
#include "training/bundles.h"
#include "training/expectations.h"

#include <memory>
#include <vector>

namespace tagline {

// How the sentences are cut, and what they are a part of.
struct Lanes {
    std::vector<int64_t> offsets;   // sentences of lane k, [lanes + 1], from 0 to B
    const int64_t* counts;          // [attributes], occurrences in the whole corpus; null where this is the whole
    int64_t N;                      // tokens of the whole corpus, where there are counts
    std::vector<LaneStates> states{};  // [lanes], the lists of lanes with bundles; empty where none has any
};

template <class Real>
class Likelihood {
public:
    Likelihood(std::shared_ptr<const Layout> layout, TransitionLayout transitions, const Examples& examples,
               const Lanes& lanes);
    ~Likelihood();

    int64_t size() const { return layout_->size() + transitions_.size(); }
    const Layout& layout() const { return *layout_; }
    const TransitionLayout& transitions() const { return transitions_; }
    const Examples& examples() const { return examples_; }

    // Value and gradient [size] of a whole corpus, whose lanes are a power of two, at the flat weights [size]. With `curvature`, Σ value² p (1 − p) of state weights goes
    // where the gradient would: about the Hessian's diagonal. `sentence` of the outcome names one without a legal path.
    Outcome evaluate(const double* weights, bool curvature, double& value, double* gradient,
                     const Interrupted& interrupted);

    // The sums of lanes first … first + count − 1, a power of two of them, as a branch of the tree: the value, and what
    // the model expects of each weight (the gradient without what is observed).
    Outcome expected(const double* weights, bool curvature, int64_t first, int64_t count, double& value, double* sums,
                     const Interrupted& interrupted);

    // The weights that were evaluated last: of states, and flat ones of transitions.
    const WeightTable<Real>& evaluated() const { return weights_.table(); }
    const std::vector<double>& evaluated_transitions() const { return transition_weights_; }

    // How often each weight is used by the sentences whose labels are all known, [size], where this is the whole
    // corpus; of a branch, as above.
    const std::vector<double>& observed() const { return observed_; }
    void observed(int64_t first, int64_t count, double* sums) const;

    int64_t lanes() const { return int64_t(lane_offsets_.size()) - 1; }

    // How many of `lanes` are held at once, a power of two, and the row that the first bundle of a lane has.
    static int64_t held(const Layout& layout, int64_t lanes);
    static int64_t first_bundle(const Layout& layout, int64_t lanes, int64_t lane) {
        return layout.rows() + lane % held(layout, lanes) * kMostBundles;
    }
    int64_t bundles() const;  // of all lanes

private:
    struct Lane;
    struct Question;
    struct HotBundles {
        std::vector<uint32_t> rows;    // summed in float64 now and then,
        size_t hottest = 0;            // the first of them more often
        std::vector<int32_t> places;   // [bundles] its place among them, or −1
    };
    std::shared_ptr<const Layout> layout_;
    TransitionLayout transitions_;
    Examples examples_;
    std::vector<int64_t> lane_offsets_;  // sentences of lane k
    std::vector<uint32_t> hot_rows_;     // summed in float64 now and then,
    size_t hottest_ = 0;                 // the first of them more often
    std::vector<int32_t> hot_places_;    // [rows] a row's place among them, or −1; only where there are bundles
    std::vector<LaneStates> lane_states_;
    std::vector<HotBundles> hot_bundles_;  // [lanes]
    std::vector<double> observed_;
    WeightMemory<Real> weights_;
    std::vector<double> transition_weights_;
    std::vector<std::unique_ptr<Lane>> slots_;  // lanes that are held at once, a power of two

    Lane& slot(int64_t lane) const { return *slots_[size_t(lane) % slots_.size()]; }
    const LaneStates* bundled(int64_t lane) const {
        return lane_states_.empty() || !lane_states_[size_t(lane)].bundles ? nullptr : &lane_states_[size_t(lane)];
    }
    void find_hot_rows(const Lanes& lanes);
    void find_hot_bundles();
    void observe_lane(int64_t k, double* sums) const;
    void run_lane(int64_t k, const Question& question, const int* stop) const;
    void load_bundles(int64_t k, const Variant& variant) const;
    void spread_bundles(int64_t k) const;
    bool sum_branch(int64_t first, int64_t count, const Question& question, Outcome& outcome, double& value,
                    double* sums);
    bool sum_held(int64_t first, int64_t count, const Question& question, Outcome& outcome, double& value,
                  double* sums);
    void add_up(int64_t first, int64_t count, double* sums);
};

}  // namespace tagline
