// Weights as lines of text, as Python sees them.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "features/names/weight_lines.h"

#include <nanobind/stl/tuple.h>

namespace tagline::bindings {

namespace {

std::tuple<Result<int64_t>, Result<double>> read_lines(const nb::bytes& data, int64_t at) {
    if (at < 0 || at > int64_t(data.size())) throw nb::value_error("at: expected a place in the data, got another");
    WeightLines lines;
    if (!read_weight_lines({static_cast<const char*>(data.data()) + at, data.size() - size_t(at)}, lines))
        throw nb::value_error("data: expected lines with number=weight, got others");
    return {adopt(std::move(lines.features)), adopt(std::move(lines.weights))};
}

nb::bytes write_lines(const Array& features, const Array& weights) {
    const int64_t* numbers = checked<int64_t>("features", features, {-1});
    const double* values = checked<double>("weights", weights, {int64_t(features.size())});
    const std::string text = write_weight_lines({numbers, features.size()}, {values, features.size()});
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_weight_lines(nb::module_& m) {
    using namespace nb::literals;
    m.def("read_weight_lines", read_lines, "data"_a, "at"_a,
          "Read lines with number=weight from a place to the end: numbers [W] and weights [W].");
    m.def("write_weight_lines", write_lines, "features"_a, "weights"_a,
          "Write lines with number=weight, weights in hexadecimal.");
}

}  // namespace tagline::bindings
