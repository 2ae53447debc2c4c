// The best labelling of a second-order chain, float64:
//
//     δ_t(b, c) = max_a (δ_(t−1)(a, b) + w(a, b, c)) + transition + emission
//
// The way back asks again which a was best, so that nothing but δ is kept.
#pragma once

#include "second_order/triples.h"

#include <vector>

namespace tagline {

class PairViterbi {
public:
    PairViterbi(const Variant& variant, const Triples& triples, const int* stop)
        : kernels_(variant.triples), triples_(triples), stop_(stop), zeros_(size_t(triples.stride()), 0.0) {}

    Status compute(const Scores<double>& sentence, int64_t* labels, double& score);

private:
    const TripleKernels& kernels_;
    const Triples& triples_;
    const int* stop_;
    PairLattice lattice_;
    std::vector<double> delta_, zeros_, amounts_, compact_;
    std::vector<const double*> rows_;

    bool forward();
    void step(int64_t t, int64_t b);
    int64_t best_before(int64_t t, int64_t b, int64_t c) const;
};

}  // namespace tagline
