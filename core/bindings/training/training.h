// What training is done on, as it comes from Python: arrays checked once, kept alive as long as they are used.
#pragma once

#include "bindings/arrays.h"
#include "training/gradient_descent.h"
#include "training/likelihood.h"

#include <mutex>
#include <optional>
#include <vector>

namespace tagline::bindings {

// Throw ValueError unless offsets rise from 0 to `last`.
void rising(const char* name, const int64_t* offsets, int64_t count, int64_t last);

// Attribute ids of tokens, each below `attributes`.
AttributeIds as_attributes(const Array& offsets, const Array& ids, const std::optional<Array>& values,
                           int64_t attributes);

// Numbers of sentences, each below B.
const int64_t* as_order(const Array& order, int64_t B);

// The lists of each lane as `bundle` gives them, or None, [lanes]; their arrays go to `arrays`.
template <class Real>
std::vector<LaneStates> as_lane_states(const nb::list& bundled, const Layout& layout, const Lanes& lanes,
                                       const Examples& examples, std::vector<Array>& arrays);

// Lanes that cover B sentences.
Lanes as_lanes(const Array& offsets, int64_t B, const std::optional<Array>& counts, int64_t attributes, int64_t tokens);

struct TransitionArrays {
    TransitionLayout layout;
    TransitionArrays(int64_t L, const Array& transitions, const Array& edge_offsets, const Array& edge_pairs,
                     bool start, bool end, const std::optional<Array>& may_follow,
                     const std::optional<Array>& may_start, const std::optional<Array>& may_end, bool local,
                     const std::optional<Array>& triples);
};

struct ExampleArrays {
    Examples examples{};
    std::vector<Array> arrays;  // kept alive
    nb::object states, edges;

    ExampleArrays(const Layout& layout, const TransitionArrays& transitions, const Array& bounds,
                  const nb::tuple& state_parts, const nb::object& edge_parts, const Array& labels,
                  const std::optional<Array>& allowed, const std::optional<Array>& weights,
                  const std::optional<Array>& kept);
};

template <class Real>
struct TrainingSet {
    ExampleArrays arrays;
    Likelihood<Real> likelihood;
    std::mutex busy;

    TrainingSet(std::shared_ptr<const Layout> layout, const TransitionArrays& transitions,
                const ExampleArrays& examples, const Array& lanes, const std::optional<Array>& counts, int64_t tokens,
                const std::optional<nb::list>& bundled)
        : arrays(examples),
          likelihood(layout, transitions.layout, arrays.examples,
                     cut(*layout, as_lanes(lanes, arrays.examples.B, counts, layout->attributes(), tokens), bundled)) {}

private:
    Lanes cut(const Layout& layout, Lanes lanes, const std::optional<nb::list>& bundled) {
        if (bundled) lanes.states = as_lane_states<Real>(*bundled, layout, lanes, arrays.examples, arrays.arrays);
        return lanes;
    }
};

template <class Real>
struct OwnDescent {
    std::shared_ptr<TrainingSet<Real>> own;
    Descent<Real> descent;

    OwnDescent(std::shared_ptr<TrainingSet<Real>> set, double c1, double c2, int64_t sentences)
        : own(std::move(set)), descent(own->likelihood, c1, c2, sentences) {}
};

}  // namespace tagline::bindings
