// Forward–backward: sums over all labellings of a sentence, for log Z, marginals, expected counts and entropy. It runs
// the recursions of trellis.h and has posterior.h write the answers. Included by kernels.cpp.
//
// Exp space. With E = exp(T)·2^−K and x_t = exp(e_t)·2^−K_t, K the power of two in the largest,
//     α_t = (α_(t−1) E ⊙ x_t) 2^(−k_t)       β_(t−1) = (E (x_t ⊙ β_t)) 2^(−k'_t)
// where k is the exponent of the maximum one step earlier, so that the rescale is off the critical path, and 0 at
// steps where nothing can have gone far. Every scale is a power of two: exact, and summed up as an integer.
// log Z = log Σ α_h β_h + ln 2 (Σ k + Σ K) in float64, taken at the middle token h: for log Z alone, α runs from
// the front and β from the back, two independent recursions that the processor overlaps.
//
// Guard. Where all scores are finite and the scores of a step span less than kFiniteRange, nothing that matters can
// underflow. Otherwise the set of reachable labels is carried along by the same recursion, and a reachable label that
// falls below kLeastLabel of the maximum makes the kernel return Status::guard: mass in labels that do not mix can
// vanish and matter again later, with log Z finite all the while.

// Take step k of α, or of β, for the sentences that have so many steps: the front ones, since the longest come first.
template <class Real, bool kAlpha>
void advance(Trellis<Real>* const* group, int count, int64_t k) {
    while (count > 0 && (kAlpha ? group[count - 1]->alpha_steps : group[count - 1]->beta_steps) <= k) --count;
    const bool pairs = group[0]->shared.pairs;
    const auto step = [&]<int kCount>(Trellis<Real>* const* active) {
        if constexpr (kAlpha)
            pairs ? Trellis<Real>::template step_alpha<kCount, true>(active, k + 1)
                  : Trellis<Real>::template step_alpha<kCount, false>(active, k + 1);
        else
            pairs ? Trellis<Real>::template step_beta<kCount, true>(active, k)
                  : Trellis<Real>::template step_beta<kCount, false>(active, k);
    };
    if (count == 4) return step.template operator()<4>(group);
    if (count >= 2) step.template operator()<2>(group);
    if (count % 2) step.template operator()<1>(group + count - 1);
}

template <class Real>
void posterior(int count, const Scores<Real>* sentences, const void* memory, const Answers<Real>* want,
               Status* status, Arena& scratch, const int* stop) {
    const auto& shared = *static_cast<const SumShared<Real>*>(memory);
    if (count > 1 && sentences[0].per_position) {  // no matrix in common: one by one
        for (int g = 0; g < count; ++g) posterior(1, sentences + g, memory, want + g, status + g, scratch, stop);
        return;
    }
    Trellis<Real>* group[kGroup];
    for (int g = 0; g < count; ++g) {
        group[g] = new (take<Trellis<Real>>(scratch, 1)) Trellis<Real>(sentences[g], shared, scratch, stop);
        group[g]->begin(want[g]);
    }
    const auto stopped = [&](int64_t k) {
        return k % kTokensBetweenPolls == kTokensBetweenPolls - 1 && __atomic_load_n(stop, __ATOMIC_RELAXED);
    };
    bool gave_up = false;
    const int64_t forward = group[0]->alpha_steps, backward = group[0]->beta_steps;
    if (count == 1) {  // α and β of one sentence fill each other's latency
        for (int64_t k = 0; !gave_up && (k < forward || k < backward); ++k) {
            advance<Real, true>(group, 1, k);
            advance<Real, false>(group, 1, k);
            gave_up = stopped(k) || group[0]->status != Status::done;
        }
    } else {  // those of a group do so already, and one matrix fits the cache where two may not
        for (int64_t k = 0; !gave_up && k < forward; ++k) {
            advance<Real, true>(group, count, k);
            gave_up = stopped(k);
        }
        for (int64_t k = 0; !gave_up && k < backward; ++k) {
            advance<Real, false>(group, count, k);
            gave_up = stopped(k);
        }
    }
    const bool all_stopped = __atomic_load_n(stop, __ATOMIC_RELAXED);
    for (int g = 0; g < count; ++g) {
        status[g] = all_stopped ? Status::stopped : Posterior<Real>(*group[g]).write(want[g]);
    }
}
