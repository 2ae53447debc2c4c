#include "training/flat_weights.h"

#include <algorithm>

namespace tagline {

FlatWeights::FlatWeights(int64_t L, int64_t A, const int64_t* begins, const int32_t* labels)
    : L(L), offsets(begins, begins + A + 1), cells(size_t(begins[A])), transitions(size_t(L * L), 0.0) {
    for (size_t k = 0; k < cells.size(); ++k) cells[k] = {0.0, labels[k]};
}

void FlatWeights::emit(int64_t T, const int64_t* begins, const int32_t* ids, const double* values, double* out) const {
    constexpr int64_t kAhead = 12;  // attributes: first their offset, then their cells are on the way
    std::fill(out, out + T * L, 0.0);
    const int64_t last = begins[T] - begins[0];
    for (int64_t k = 0; k < std::min(2 * kAhead, last); ++k) __builtin_prefetch(&offsets[size_t(ids[k])]);
    for (int64_t t = 0, k = 0; t < T; ++t) {
        double* row = out + t * L;
        for (; k < begins[t + 1] - begins[0]; ++k) {
            if (k + 2 * kAhead < last) __builtin_prefetch(&offsets[size_t(ids[k + 2 * kAhead])]);
            if (k + kAhead < last) __builtin_prefetch(cells.data() + offsets[size_t(ids[k + kAhead])]);
            const size_t a = size_t(ids[k]);
            const WeightCell<double>*cell = cells.data() + offsets[a], *end = cells.data() + offsets[a + 1];
            if (!values)
                for (; cell < end; ++cell) row[cell->label] += cell->value;
            else
                for (const double value = values[k]; cell < end; ++cell) row[cell->label] += cell->value * value;
        }
    }
}

void FlatDecoder::use(const double* transitions) {
    transitions_ = transitions;
    prepared_ = Prepared::maxima(kernels_of<double>(active_variant()), scores(nullptr, 0));
    viterbi_.use(prepared_);
}

void FlatDecoder::find(const double* emissions, int64_t T, int64_t* labels) {
    if (T == 0) return;
    const Scores<double> sentence = scores(emissions, T);
    Status status;
    viterbi_.compute(1, &sentence, &labels, &status);
}

double FlatDecoder::score(const double* emissions, int64_t T, const int64_t* labels) const {
    double total = emissions[labels[0]];
    for (int64_t t = 1; t < T; ++t) {
        total += transitions_[labels[t - 1] * L_ + labels[t]];
        total += emissions[t * L_ + labels[t]];
    }
    return total;
}

}  // namespace tagline
