// Expected counts of second-order chains: `Expectations` asks here where a TransitionLayout has triples. Scores are
// widened to float64, and labels that pruning has taken away are forbidden.
#pragma once

#include "second_order/posterior.h"
#include "training/transitions.h"

#include <vector>

namespace tagline {

template <class Real>
class PairExpectations {
public:
    PairExpectations(const TransitionLayout& layout, const Variant& variant, const int* stop)
        : cells_(layout.triples),
          kernels_(variant.triples),
          triples_(layout.L, layout.triple_rows, layout.contexts), posterior_(variant, stop) {}

    // What holds from now on.
    void use(const TransitionTable<Real>& scores, bool per_position);

    // Answer for one sentence: log_z, nodes, edges, counts; triple_sums [triple_rows, padded L] is added to.
    Status compute(const Scores<Real>& sentence, const uint8_t* kept, const Answers<Real>& want, double* triple_sums,
                   double factor);

    // The score of the triples of a labelling.
    double score(const int32_t* labels, int64_t T) const {
        double total = 0;
        for (int64_t t = 2; t < T; ++t) total += triples_.score(labels[t - 2], labels[t - 1], labels[t]);
        return total;
    }

private:
    const std::vector<int64_t>& cells_;  // of triples that have weights; all others score 0
    const TripleKernels& kernels_;
    Triples triples_;
    PairPosterior posterior_;
    std::vector<double> transitions_, start_, end_, emissions_, matrices_, nodes_, edges_;
};

// Count the triple that ends at *label, if its context has weights.
inline void add_triple(const TransitionLayout& layout, const int32_t* label, double weight,
                       TransitionTable<double>& counts) {
    const int64_t cell = layout.triple(label[-2], label[-1], label[0]);
    if (cell >= 0) counts.triples[size_t(cell)] += weight;
}

}  // namespace tagline
