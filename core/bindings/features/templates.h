// Templates at the door: what every function that expands them takes.
#pragma once

#include "bindings/arrays.h"
#include "features/expansion/templates.h"

#include <string>
#include <tuple>
#include <vector>

namespace tagline::bindings {

// The literals of a line, and (source, row) of each macro between them.
using SkeletonParts = std::tuple<std::vector<std::string>, std::vector<std::tuple<int, int>>>;

Skeleton as_skeleton(const SkeletonParts& parts, const std::vector<Source>& sources);

// Give a source its paddings, before it gets words.
void pad(Source& source, const nb::tuple& before, const nb::tuple& after);

}  // namespace tagline::bindings
