// Forward–backward over pairs of labels, float64:
//
//     α_t(b, c) = E_t(b, c) Σ_a α_(t−1)(a, b) X(a, b, c)           E_t(b, c) = exp(transition + emission), X = exp(w)
//     β_(t−1)(a, b) = Σ_c X(a, b, c) E_t(b, c) β_t(b, c)
//
// in exp space, scaled by powers of two, for L² multiplications a pair at most; only pairs that a labelling reaches are
// looked at. Each number is 0 exactly or keeps all its digits: where one comes near the smallest that there is, the
// sentence is worked out in the log domain.
#pragma once

#include "second_order/rows.h"

#include <vector>

namespace tagline {

class PairPosterior {
public:
    PairPosterior(const Variant& variant, const int* stop) : kernels_(variant.triples), stop_(stop) {}

    // What the sentences from now on share: transitions (where they are not per position) and scores of triples.
    void use(const Scores<double>& common, const Triples& triples);

    // Answer for a sentence of T > 0. triple_counts [R, stride] is added to, times factor; null where nobody asks.
    Status compute(const Scores<double>& sentence, const Answers<double>& want, double* triple_counts, double factor);

    // Draw labels [samples, T] by uniforms of the same shape, both with rows `stride` apart.
    Status draw(const Scores<double>& sentence, const double* uniforms, int64_t samples, int64_t stride, int64_t* labels);

private:
    const TripleKernels& kernels_;
    const int* stop_;
    const Triples* triples_ = nullptr;
    std::vector<double> exp_transitions_;  // [L, L], padded
    bool fits_ = true, in_logs_ = false;
    PairLattice lattice_;
    std::vector<double> alpha_, beta_;      // of all pairs; their logarithms where in_logs_
    std::vector<double> scales_, totals_;   // [T] what α was divided by, and Σ α β
    std::vector<double> edges_;             // of all pairs: E, and after the way back E β
    TripleRows rows_;                       // X; after the way back X E β where they are gathered and kept
    std::vector<double> pairs_, products_, shares_, emissions_, nodes_;
    std::vector<double> nobodys_;  // [stride] counts of triples without weights
    std::vector<double*> sums_;

    Status begin(const Scores<double>& sentence, double& log_z);  // α of either kind
    Status forward(double& log_z);
    Status backward();
    Status forward_in_logs(double& log_z);
    Status backward_in_logs();
    Status tell(const Answers<double>& want, double* triple_counts, double factor, double log_z);

    // The power of two that the largest of some numbers of 0 or more has; false where the smallest above 0, divided by it,
    // comes near the smallest number that there is.
    bool find_power(const double* values, int64_t count, int& power) const;
    bool prepare_emissions(int64_t t, double& high);
    bool edge_row(int64_t t, int64_t b, double* out) const;
    void step_forward(int64_t t, int64_t b, double* out);
    void step_backward(int64_t t, int64_t b, double* earlier);
    void weigh_before(int64_t t, int64_t b, int64_t c, std::vector<double>& weights) const;
    void pair_probabilities(int64_t t, double log_z);
    void tell_pairs(int64_t t, const Answers<double>& want);
    double tell_triples(int64_t t, double* counts, double factor, bool entropy);
    double expected_score(int64_t t, const TripleRows::Group& group, const double* gamma, const double* products) const;
    double tell_triples_in_logs(int64_t t, double* counts, double factor, double log_z);
};

}  // namespace tagline
