// Sentences through the kernels, with the safer ways behind them: float32 → float64 → log domain.
#pragma once

#include "runtime/arena.h"
#include "chain/batch.h"
#include "chain/variants.h"

#include <memory>
#include <vector>

namespace tagline {

// Memory for what a kernel prepares once for a batch.
class Prepared {
public:
    Prepared() = default;
    template <class Real>
    static Prepared sums(const Kernels<Real>& kernels, const Scores<Real>& common);
    template <class Real>
    static Prepared maxima(const Kernels<Real>& kernels, const Scores<Real>& common);

    const void* get() const { return memory_.get(); }
    explicit operator bool() const { return bool(memory_); }

private:
    struct Release {
        void operator()(void* memory) const { aligned_release(memory); }
    };
    std::unique_ptr<void, Release> memory_;
};

// The row of emissions of token t.
template <class Real>
inline int64_t row_at(const Scores<Real>& s, int64_t t) {
    return !s.symbols ? t : s.symbols[t] < 0 ? s.rows - 1 : s.symbols[t];
}

// A sentence with a row of emissions for each token, copied into an arena's memory where it has symbols.
Scores<double> expand(const Scores<double>& sentence, Arena& scratch);

// A sentence in float64, copied from float32 into an arena's memory.
Scores<double> widen(const Scores<float>& sentence, Arena& scratch);
inline const Scores<double>& widen(const Scores<double>& sentence, Arena&) { return sentence; }

// Answers for the sentences of one block. Not for sharing between threads.
template <class Real>
class Sentences {
public:
    Sentences(const Variant& variant, const int* stop) : variant_(variant), stop_(stop) {}
    Sentences(const Variant& variant, const Prepared& sums, const int* stop) : Sentences(variant, stop) { use(sums); }

    // What the sentences from now on have in common; it outlives their answers.
    void use(const Prepared& sums);

    // Up to kGroup sentences of T > 0, longest first. Where a path is missing the sums stay as they were.
    void posterior(int count, const Scores<Real>* sentences, const Answers<Real>* want, Status* status);

private:
    const Variant& variant_;
    const Prepared* sums_ = nullptr;
    const int* stop_;
    Arena scratch_, wide_;
    Prepared wide_sums_;

    Status safer(const Scores<Real>& sentence, const Answers<Real>& want);
};

}  // namespace tagline
