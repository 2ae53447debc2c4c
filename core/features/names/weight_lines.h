// Weights as lines of text, number=weight with weights in hexadecimal, as model files of Wapiti have them: a large model
// has millions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tagline {

struct WeightLines {
    std::vector<int64_t> features;
    std::vector<double> weights;
};

// Read lines, each with its line break; weights may be decimal, too. False where one is something else.
bool read_weight_lines(std::string_view text, WeightLines& lines);

// Write lines as C's %a writes weights.
std::string write_weight_lines(std::span<const int64_t> features, std::span<const double> weights);

}  // namespace tagline
