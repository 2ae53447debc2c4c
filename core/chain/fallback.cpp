#include "chain/fallback.h"

#include "chain/log_forward_backward.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace tagline {

template <class Real>
Prepared Prepared::sums(const Kernels<Real>& kernels, const Scores<Real>& common,
                        std::shared_ptr<const PairLists> lists) {
    const PairTables* pairs = lists ? &lists->tables(kernels) : nullptr;
    Prepared prepared;
    prepared.memory_.reset(aligned_allocate(1, kernels.sum_shared_size(common.L, common.rows, pairs)));
    prepared.lists_ = std::move(lists);
    kernels.sum_prepare(common, pairs, prepared.memory_.get());
    return prepared;
}

template <class Real>
Prepared Prepared::maxima(const Kernels<Real>& kernels, const Scores<Real>& common,
                          std::shared_ptr<const PairLists> lists) {
    const PairTables* pairs = lists ? &lists->tables(kernels) : nullptr;
    Prepared prepared;
    prepared.memory_.reset(aligned_allocate(1, kernels.max_shared_size(common.L, pairs)));
    prepared.lists_ = std::move(lists);
    kernels.max_prepare(common, pairs, prepared.memory_.get());
    return prepared;
}

#define TAGLINE_INSTANTIATE(Real)                                                                                  \
    template Prepared Prepared::sums(const Kernels<Real>&, const Scores<Real>&, std::shared_ptr<const PairLists>); \
    template Prepared Prepared::maxima(const Kernels<Real>&, const Scores<Real>&, std::shared_ptr<const PairLists>);
TAGLINE_INSTANTIATE(float)
TAGLINE_INSTANTIATE(double)

Scores<double> widen(const Scores<float>& s, Arena& scratch) {
    const auto copy = [&](const float* from, int64_t n) {
        double* to = static_cast<double*>(scratch.take(size_t(n), sizeof(double)));
        std::copy(from, from + n, to);
        return to;
    };
    const int64_t matrices = s.per_position ? s.T : 1;
    Scores<double> wide{copy(s.emissions, s.T * s.L), copy(s.transitions, matrices * s.L * s.L),
                        copy(s.start, s.L),           copy(s.end, s.L),
                        s.T,                          s.L,
                        s.per_position};
    wide.legal = s.legal;
    return wide;
}

Scores<double> expand(const Scores<double>& s, Arena& scratch) {
    if (!s.symbols) return s;
    double* rows = static_cast<double*>(scratch.take(size_t(s.T * s.L), sizeof(double)));
    for (int64_t t = 0; t < s.T; ++t) {
        const double* row = s.emissions + row_at(s, t) * s.L;
        std::copy(row, row + s.L, rows + t * s.L);
    }
    Scores<double> expanded{rows, s.transitions, s.start, s.end, s.T, s.L, s.per_position};
    expanded.legal = s.legal;
    return expanded;
}

template <class Real>
void SafePosterior<Real>::use(const Prepared& sums) {
    sums_ = &sums;
    wide_sums_ = {};
}

namespace {

// Rounding costs log Z about 2e-8 a token in float32, and up to 1.4e-7 where all tokens have the same scores, whose errors
// do not average out (measured with one to three labels). Where that could be more than 1e-6 of log Z, or adds up over a
// long sentence, float64 computes it again.
constexpr double kErrorPerToken = 1.5e-7, kTolerance = 1e-6;
constexpr int64_t kLongSentence = 512;

// A choice on the best path closer than 2e-6 for each token before it is float64's to make: with so many tokens, all but
// always some choice is. So float32 is left out.
constexpr int64_t kLongPath = 4096;

// Of a table of all lanes. At 2 MB marginals gain less than a fifth by lanes; Viterbi, whose paths go back through the
// table one after the other, takes 1.2 times as long at 1 MB with two labels, and gains 1.1 at 1.4 MB with 22.
constexpr int64_t kMostBytes = 1'500'000, kMostBytesOfPaths = 1'000'000;

template <class Real>
bool only_log_z(const Answers<Real>& want) {
    return want.log_z && !want.nodes && !want.edges && !want.transition_counts && !want.start_counts &&
           !want.end_counts && !want.log_alpha && !want.log_beta && !want.entropy;
}

template <class Real>
bool is_long(const Scores<Real>& sentence) {
    return std::is_same_v<Real, float> && sentence.T > kLongSentence;
}

bool good_enough(double log_z, int64_t T) {
    return kErrorPerToken * double(T) <= kTolerance * std::max(1.0, std::abs(log_z));
}

}  // namespace

// For sentences begin … count − 1, call abreast(begin, size) as long as there are enough and it takes them, then
// few(begin, size) for the rest and for sentences that it leaves at Status::guard. Full lanes are 3 times as fast as
// sentences alone with 9 labels, twice with 22 and 1.4 times with 45, and idle lanes cost as much as others: so half
// of them have to be full with up to 16 labels, and three quarters with more. A sentence that is much longer than the
// others goes alone: most lanes would be idle, and memory is that of the longest. Very long ones go without lanes,
// too, where a table [T, L] of all lanes would be larger than `most_bytes`. More labels go abreast over lists of
// legal pairs only, which gain more and have a limit of their own.
template <class Real, class Abreast, class Few>
void in_groups(const Kernels<Real>& kernels, int begin, int count, const Scores<Real>* sentences, const Status* status,
               int64_t most_bytes, const Abreast& abreast, const Few& few) {
    const int64_t L = sentences[0].L;
    const bool listed = L > kMostLabelsAbreast;
    const int quarters = L <= 16 || listed ? 2 : 3;
    while (4 * (count - begin) >= quarters * kernels.abreast) {
        const int size = std::min(count - begin, kernels.abreast);
        const int64_t bytes = sentences[begin].T * L * kernels.abreast * int64_t(sizeof(Real));
        if (!listed && bytes > most_bytes) {
            const int fewer = std::min(kGroup, count - begin);
            few(begin, fewer);
            begin += fewer;
            continue;
        }
        int64_t tokens = 0;
        for (int g = begin; g < begin + size; ++g) tokens += sentences[g].T;
        if (sentences[begin].T * size > 2 * tokens) {
            few(begin, 1);
            ++begin;
            continue;
        }
        if (!abreast(begin, size)) break;
        for (int g = begin; g < begin + size; ++g)
            if (status[g] == Status::guard) few(g, 1);
        begin += size;
    }
    for (; begin < count; begin += kGroup) few(begin, std::min(kGroup, count - begin));
}

template <class Real>
void SafePosterior<Real>::compute(int count, const Scores<Real>* sentences, const Answers<Real>* want, Status* status) {
    const Kernels<Real>& kernels = kernels_of<Real>(variant_);
    const auto ask = [&](auto kernel) {
        return [&, kernel](int begin, int size) {
            scratch_.reset();
            return kernel(size, sentences + begin, sums_->get(), want + begin, status + begin, scratch_, stop_);
        };
    };
    int begin = 0;  // long sentences come first
    while (begin < count && is_long(sentences[begin]) && only_log_z(want[begin])) ++begin;
    const bool reads_back = want[0].nodes || want[0].transition_counts;  // log Z alone reads its tables once
    in_groups(kernels, begin, count, sentences, status, reads_back ? kMostBytes : INT64_MAX,
              ask(kernels.posterior_abreast), ask(kernels.posterior));
    int again[kMostAbreast], number = 0;  // whose log Z needs float64
    for (int g = 0; g < count; ++g) {
        if (g < begin) {
            again[number++] = g;
        } else if (status[g] == Status::guard) {
            status[g] = safer(sentences[g], want[g]);
        } else if (std::is_same_v<Real, float> && status[g] == Status::done && want[g].log_z &&
                   (is_long(sentences[g]) || !good_enough(*want[g].log_z, sentences[g].T))) {
            again[number++] = g;
        }
    }
    if constexpr (std::is_same_v<Real, float>) log_z_again(number, again, sentences, want, status);
}

template <>
Status SafePosterior<double>::safer(const Scores<double>& sentence, const Answers<double>& want) {
    if (only_log_z(want) && !sentence.per_position) {  // the counting kernel lets labels sink further
        scratch_.reset();
        const int64_t S = variant_.counting.padded(sentence.L);
        const auto zeros = [&](int64_t n) {
            double* values = static_cast<double*>(scratch_.take(size_t(n), sizeof(double)));
            std::fill(values, values + n, 0.0);
            return values;
        };
        SentenceCounts counts{};
        counts.log_z = want.log_z;
        counts.nodes = zeros(sentence.T * sentence.L);
        counts.start = zeros(S);
        counts.transitions = nullptr;
        Status status;
        variant_.counting.count(1, &sentence, sums_->get(), &counts, &status, scratch_, stop_);
        if (status != Status::guard) return status;
    }
    scratch_.reset();
    return log_posterior(expand(sentence, scratch_), want, scratch_, stop_);
}

template <>
Status SafePosterior<float>::safer(const Scores<float>& sentence, const Answers<float>& want) {
    wide_.reset();
    const Scores<double> wide = widen(sentence, wide_);
    if (!wide_sums_) wide_sums_ = Prepared::sums(variant_.float64, wide, sums_->lists());
    const int64_t cells = sentence.T * sentence.L;
    const auto doubles = [&](bool asked, int64_t n) {
        return asked ? static_cast<double*>(wide_.take(size_t(n), sizeof(double))) : nullptr;
    };
    Answers<double> answers{};
    answers.log_z = want.log_z;
    answers.nodes = doubles(want.nodes, cells);
    answers.negative_nodes = want.negative_nodes;
    answers.edges = doubles(want.edges, cells * sentence.L);
    answers.transition_counts = want.transition_counts;
    answers.start_counts = want.start_counts;
    answers.end_counts = want.end_counts;
    SafePosterior<double> exact(variant_, wide_sums_, stop_);
    Status status;
    exact.compute(1, &wide, &answers, &status);
    if (status != Status::done) return status;
    const auto narrow = [](const double* from, int64_t n, float* to) {
        if (to) std::transform(from, from + n, to, [](double value) { return float(value); });
    };
    narrow(answers.nodes, cells, want.nodes);
    narrow(answers.edges, cells * sentence.L, want.edges);
    return status;
}

template <>
void SafePosterior<float>::log_z_again(int count, const int* members, const Scores<float>* sentences,
                                       const Answers<float>* want, Status* status) {
    constexpr int64_t kMostCells = 1 << 18;  // 2 MB of copies; with more, a sentence at a time is faster
    const int lanes = variant_.float64.abreast;
    for (int begin = 0, size; begin < count; begin += size) {
        const Scores<float>& longest = sentences[members[begin]];
        const bool together = !longest.per_position && longest.T * longest.L * lanes <= kMostCells;
        size = together ? std::min(lanes, count - begin) : 1;
        Scores<double> wide[kMostAbreast];
        Answers<double> answers[kMostAbreast]{};
        Status done[kMostAbreast];
        wide_.reset();
        for (int k = 0; k < size; ++k) {
            wide[k] = widen(sentences[members[begin + k]], wide_);
            answers[k].log_z = want[members[begin + k]].log_z;
        }
        if (!wide_sums_) wide_sums_ = Prepared::sums(variant_.float64, wide[0], sums_->lists());
        SafePosterior<double> exact(variant_, wide_sums_, stop_);
        exact.compute(size, wide, answers, done);
        for (int k = 0; k < size; ++k) status[members[begin + k]] = done[k];
    }
}

template class SafePosterior<float>;
template class SafePosterior<double>;

template <class Real>
void SafeViterbi<Real>::use(const Prepared& maxima) {
    maxima_ = &maxima;
    wide_maxima_ = {};
}

template <class Real>
void SafeViterbi<Real>::compute(int count, const Scores<Real>* sentences, int64_t* const* paths, Status* status) {
    const Kernels<Real>& kernels = kernels_of<Real>(variant_);
    const auto ask = [&](auto kernel) {
        return [&, kernel](int begin, int size) {
            scratch_.reset();
            return kernel(size, sentences + begin, maxima_->get(), paths + begin, status + begin, scratch_, stop_);
        };
    };
    int begin = 0;  // long sentences come first
    while (std::is_same_v<Real, float> && begin < count && sentences[begin].T > kLongPath)
        status[begin++] = Status::guard;
    in_groups(kernels, begin, count, sentences, status, kMostBytesOfPaths, ask(kernels.viterbi_abreast),
              ask(kernels.viterbi));
    for (int g = 0; g < count; ++g) {
        if (status[g] != Status::guard) continue;
        wide_.reset();
        scratch_.reset();
        const Scores<double> exact = widen(sentences[g], wide_);
        if (!wide_maxima_) wide_maxima_ = Prepared::maxima(variant_.float64, exact, maxima_->lists());
        variant_.float64.viterbi(1, &exact, wide_maxima_.get(), paths + g, status + g, scratch_, stop_);
    }
}

template class SafeViterbi<float>;
template class SafeViterbi<double>;

}  // namespace tagline
