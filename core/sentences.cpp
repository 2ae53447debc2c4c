#include "sentences.h"

#include "logspace.h"

#include <algorithm>
#include <type_traits>

namespace tagline {

template <class Real>
Prepared Prepared::sums(const Kernels<Real>& kernels, const Scores<Real>& common) {
    Prepared prepared;
    prepared.memory_.reset(aligned_allocate(1, kernels.sum_shared_size(common.L)));
    kernels.sum_prepare(common, prepared.memory_.get());
    return prepared;
}

template <class Real>
Prepared Prepared::maxima(const Kernels<Real>& kernels, const Scores<Real>& common) {
    Prepared prepared;
    prepared.memory_.reset(aligned_allocate(1, kernels.max_shared_size(common.L)));
    kernels.max_prepare(common, prepared.memory_.get());
    return prepared;
}

template Prepared Prepared::sums(const Kernels<float>&, const Scores<float>&);
template Prepared Prepared::sums(const Kernels<double>&, const Scores<double>&);
template Prepared Prepared::maxima(const Kernels<float>&, const Scores<float>&);
template Prepared Prepared::maxima(const Kernels<double>&, const Scores<double>&);

Scores<double> widen(const Scores<float>& s, Arena& scratch) {
    const auto copy = [&](const float* from, int64_t n) {
        double* to = static_cast<double*>(scratch.take(size_t(n), sizeof(double)));
        std::copy(from, from + n, to);
        return to;
    };
    const int64_t matrices = s.per_position ? s.T : 1;
    return {copy(s.emissions, s.T * s.L), copy(s.transitions, matrices * s.L * s.L),
            copy(s.start, s.L),           copy(s.end, s.L),
            s.T,                          s.L,
            s.per_position};
}

template <class Real>
Sentences<Real>::Sentences(const Variant& variant, const Prepared& sums, const int* stop)
    : variant_(variant), sums_(sums), stop_(stop) {}

template <class Real>
Status Sentences<Real>::posterior(const Scores<Real>& sentence, const Answers<Real>& want) {
    if constexpr (std::is_same_v<Real, double>) {
        return in_double(sentence, sums_, want);
    } else {
        scratch_.reset();
        // Sums that are added to must not see a sentence twice: the kernel adds after its last chance to give up.
        const Status status = kernels_of<Real>(variant_).posterior(sentence, sums_.get(), want, scratch_, stop_);
        return status == Status::guard ? safer(sentence, want) : status;
    }
}

template <class Real>
Status Sentences<Real>::in_double(const Scores<double>& sentence, const Prepared& sums, const Answers<double>& want) {
    scratch_.reset();
    const Status status = variant_.float64.posterior(sentence, sums.get(), want, scratch_, stop_);
    if (status != Status::guard) return status;
    scratch_.reset();
    return log_posterior(sentence, want, scratch_, stop_);
}

template <class Real>
Status Sentences<Real>::safer(const Scores<Real>& sentence, const Answers<Real>& want) {
    wide_.reset();
    const Scores<double> wide = widen(sentence, wide_);
    if (!wide_sums_) wide_sums_ = Prepared::sums(variant_.float64, wide);
    const int64_t cells = sentence.T * sentence.L;
    const auto doubles = [&](bool asked, int64_t n) {
        return asked ? static_cast<double*>(wide_.take(size_t(n), sizeof(double))) : nullptr;
    };
    Answers<double> answers{};
    answers.log_z = want.log_z;
    answers.nodes = doubles(want.nodes, cells);
    answers.edges = doubles(want.edges, cells * sentence.L);
    answers.transition_counts = want.transition_counts;
    answers.start_counts = want.start_counts;
    answers.end_counts = want.end_counts;
    const Status status = in_double(wide, wide_sums_, answers);
    if (status != Status::done) return status;
    const auto narrow = [](const double* from, int64_t n, Real* to) {
        if (to) std::transform(from, from + n, to, [](double value) { return Real(value); });
    };
    narrow(answers.nodes, cells, want.nodes);
    narrow(answers.edges, cells * sentence.L, want.edges);
    return status;
}

template class Sentences<float>;
template class Sentences<double>;

}  // namespace tagline
