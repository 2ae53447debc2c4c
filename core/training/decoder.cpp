#include "training/decoder.h"

#include "training/scoring.h"

namespace tagline {

template <class Real>
void Decoder<Real>::use(const TransitionTable<Real>& scores) {
    const Kernels<Real>& kernels = kernels_of<Real>(variant_);
    const Scores<Real> common = scores.common(examples_.edges.offsets != nullptr);
    if (!scores_) lists_ = PairLists::choose(common, kernels);  // what is forbidden stays so
    scores_ = &scores;
    prepared_ = Prepared::maxima(kernels, common, lists_);
    viterbi_.use(prepared_);
}

template <class Real>
bool Decoder<Real>::find(const WeightTable<Real>& weights, int64_t b, bool allowed, int64_t* labels) {
    const int64_t first = examples_.offsets[b], last = examples_.offsets[b + 1];
    const int64_t L = transitions_.L, cells = (last - first) * L;
    const bool per_position = examples_.edges.offsets != nullptr;
    Real* emissions = at_least(emissions_, cells);
    kernels_of<Real>(variant_).emit(weights, examples_.states, first, last, 1, false, emissions);
    sentence_ = scores_->common(per_position);
    sentence_.emissions = emissions;
    sentence_.T = last - first;
    if (per_position) {
        Real* matrices = at_least(matrices_, cells * L);
        edge_matrices(transitions_, *scores_, examples_.edges, first, last, matrices);
        sentence_.transitions = matrices;
    }
    Scores<Real> asked = sentence_;
    if (allowed) {
        Real* masked = at_least(masked_, cells);
        for (int64_t k = 0; k < cells; ++k)
            masked[k] = examples_.allowed[first * L + k] ? emissions[k] : Real(-kInf);
        asked.emissions = masked;
    }
    Status status;
    viterbi_.compute(1, &asked, &labels, &status);
    return status == Status::done;
}

template <class Real>
double Decoder<Real>::score(const int64_t* labels) const {
    return score_of(sentence_, labels);
}

template class Decoder<float>;
template class Decoder<double>;

}  // namespace tagline
