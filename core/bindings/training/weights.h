// Weights of state attributes as Python holds them.
#pragma once

#include "bindings/arrays.h"
#include "training/layout.h"

#include <memory>
#include <optional>

namespace tagline::bindings {

// Weights of state attributes, ready for scoring.
struct StateWeights {
    std::shared_ptr<const Layout> layout;
    WeightMemory<float> memory;

    StateWeights(std::shared_ptr<const Layout> of, const Array& flat);

    // The sums of the weights of each token's attributes, [N, L].
    Result<float> emissions(const Array& offsets, const Array& ids, const std::optional<Array>& values) const;
};

}  // namespace tagline::bindings
