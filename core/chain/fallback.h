// The kernels with the safer ways behind them: float32 → float64 → log domain. A kernel says Status::guard where its
// arithmetic may have lost something, and the next way answers.
#pragma once

#include "chain/pair_lists.h"
#include "chain/variants.h"
#include "runtime/arena.h"
#include "runtime/memory.h"

namespace tagline {

// Memory for what a kernel prepares once for a batch, with the lists of legal pairs that it works on, if any.
class Prepared {
public:
    Prepared() = default;
    template <class Real>
    static Prepared sums(const Kernels<Real>& kernels, const Scores<Real>& common,
                         std::shared_ptr<const PairLists> lists = nullptr);
    template <class Real>
    static Prepared maxima(const Kernels<Real>& kernels, const Scores<Real>& common,
                           std::shared_ptr<const PairLists> lists = nullptr);

    const void* get() const { return memory_.get(); }
    explicit operator bool() const { return bool(memory_); }
    const std::shared_ptr<const PairLists>& lists() const { return lists_; }
    const LegalPairs* legal() const { return lists_ ? &lists_->legal() : nullptr; }

private:
    AlignedPointer<void> memory_;
    std::shared_ptr<const PairLists> lists_;
};

// The row of emissions of token t.
template <class Real>
inline int64_t row_at(const Scores<Real>& s, int64_t t) {
    return !s.symbols ? t : s.symbols[t] < 0 ? s.rows - 1 : s.symbols[t];
}

// The sentence with a row of emissions for each token; where it has symbols, the rows are copied into the arena.
Scores<double> expand(const Scores<double>& sentence, Arena& scratch);

// The sentence in float64, copied into the arena.
Scores<double> widen(const Scores<float>& sentence, Arena& scratch);
inline const Scores<double>& widen(const Scores<double>& sentence, Arena&) { return sentence; }

// Forward–backward for the sentences of one block. Threads do not share it.
template <class Real>
class SafePosterior {
public:
    SafePosterior(const Variant& variant, const int* stop) : variant_(variant), stop_(stop) {}
    SafePosterior(const Variant& variant, const Prepared& sums, const int* stop) : SafePosterior(variant, stop) {
        use(sums);
    }

    // What the sentences from now on share; it outlives their answers.
    void use(const Prepared& sums);

    // Answer for up to kMostAbreast sentences of T > 0, longest first. A sentence without a legal labelling adds nothing to
    // sums.
    void compute(int count, const Scores<Real>* sentences, const Answers<Real>* want, Status* status);

private:
    const Variant& variant_;
    const Prepared* sums_ = nullptr;
    const int* stop_;
    Arena scratch_, wide_;
    Prepared wide_sums_;

    Status safer(const Scores<Real>& sentence, const Answers<Real>& want);
    // log Z alone, in float64; of float32 only.
    void log_z_again(int count, const int* members, const Scores<Real>* sentences, const Answers<Real>* want,
                     Status* status);
};

// Viterbi likewise: float64 decides where float32 cannot tell labellings apart.
template <class Real>
class SafeViterbi {
public:
    SafeViterbi(const Variant& variant, const int* stop) : variant_(variant), stop_(stop) {}
    SafeViterbi(const Variant& variant, const Prepared& maxima, const int* stop) : SafeViterbi(variant, stop) {
        use(maxima);
    }

    void use(const Prepared& maxima);
    void compute(int count, const Scores<Real>* sentences, int64_t* const* paths, Status* status);

private:
    const Variant& variant_;
    const Prepared* maxima_ = nullptr;
    const int* stop_;
    Arena scratch_, wide_;
    Prepared wide_maxima_;
};

}  // namespace tagline
