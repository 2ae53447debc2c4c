#include "training/pair_expectations.h"

#include "training/scoring.h"

#include <algorithm>

namespace tagline {

template <class Real>
void PairExpectations<Real>::use(const TransitionTable<Real>& scores, bool per_position) {
    transitions_.assign(scores.transitions.begin(), scores.transitions.end());
    start_.assign(scores.start.begin(), scores.start.end());
    end_.assign(scores.end.begin(), scores.end.end());
    triples_.load(scores.triples.data(), cells_, kernels_);
    const int64_t L = int64_t(start_.size());
    posterior_.use({nullptr, transitions_.data(), start_.data(), end_.data(), 0, L, per_position}, triples_);
}

template <class Real>
Status PairExpectations<Real>::compute(const Scores<Real>& sentence, const uint8_t* kept, const Answers<Real>& want,
                                       double* triple_sums, double factor) {
    const int64_t T = sentence.T, L = sentence.L, cells = T * L;
    double* emissions = at_least(emissions_, cells);
    for (int64_t k = 0; k < cells; ++k) emissions[k] = kept && !kept[k] ? -kInf : double(sentence.emissions[k]);
    Scores<double> wide{emissions, transitions_.data(), start_.data(), end_.data(), T, L, sentence.per_position};
    if (sentence.per_position) {
        wide.transitions = at_least(matrices_, cells * L);
        std::copy(sentence.transitions, sentence.transitions + cells * L, matrices_.begin());
    }
    Answers<double> answers{};
    answers.log_z = want.log_z;
    answers.nodes = at_least(nodes_, cells);
    answers.edges = want.edges ? at_least(edges_, cells * L) : nullptr;
    answers.transition_counts = want.transition_counts;
    answers.start_counts = want.start_counts;
    answers.end_counts = want.end_counts;
    const Status status = posterior_.compute(wide, answers, triple_sums, factor);
    if (status != Status::done) return status;
    for (int64_t k = 0; k < cells; ++k) want.nodes[k] = Real(nodes_[size_t(k)]);
    for (int64_t k = 0; want.edges && k < cells * L; ++k) want.edges[k] = Real(edges_[size_t(k)]);
    return status;
}

template class PairExpectations<float>;
template class PairExpectations<double>;

}  // namespace tagline
