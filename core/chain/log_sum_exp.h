// log Σ exp of a few terms: the sum of the log domain, wherever chains are summed without the kernels.
#pragma once

#include "chain/kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tagline {

// −∞ for no terms, and for nothing but −∞.
inline double log_sum_exp(const double* terms, size_t count) {
    double high = -kInf, sum = 0;
    for (size_t k = 0; k < count; ++k) high = std::max(high, terms[k]);
    if (high == -kInf) return -kInf;
    for (size_t k = 0; k < count; ++k) sum += std::exp(terms[k] - high);
    return high + std::log(sum);
}

inline double log_sum_exp(const std::vector<double>& terms) { return log_sum_exp(terms.data(), terms.size()); }

}  // namespace tagline
