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

// exp(log_part − log_all), at most 1. Both were rounded on ways of their own: what is as near as that is all of it.
inline double part_of(double log_part, double log_all) {
    const double gap = log_part - log_all;
    return gap >= -0x1p-49 * std::max(1.0, std::abs(log_all)) ? 1.0 : std::exp(gap);
}

}  // namespace tagline
