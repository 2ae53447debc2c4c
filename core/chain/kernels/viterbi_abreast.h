// Viterbi for sentences abreast: one sentence a lane, as in abreast.h. Included by kernels.cpp.
//
// δ, its centring and the checks are those of viterbi.h, so the labellings are the same; maxima over labels need no fold.
// Only δ is kept here, too: the label before is found again by δ_(t−1)(i) + T(i, y_t), with T(·, y_t) picked lane by
// lane. A lane in which rounding may have decided comes back as Status::guard, and viterbi.h answers for it.

// 1 in all lanes, which the compiler does not know: a + b as a·1 + b is the same number, and some processors add in the
// units that find maxima, so that twice as many pairs go through where multiply-adds do the adding (Zen 4).
template <class Real>
inline Vec<Real> hidden_one() {
    Vec<Real> one = splat(Real(1));
#if defined(__FMA__)
    __asm__("" : "+x"(one));
#endif
    return one;
}

// Labels in a tile: their maxima fit 16 registers beside what is added. 24 where there are 32 take 1.05 times as long, 6
// with AVX2 1.02 to 1.09 times.
constexpr int kMostMaxima = 12;

// δ'_j = max_i (v_i + M_ij) for labels j … j + kLabels − 1, lane by lane.
template <int kLabels, class Real, class Emit>
TAGLINE_INLINED inline void maximise_abreast_tile(const Real* v, const Real* matrix, int64_t L, int64_t S, int64_t j,
                                                  const Emit& emit) {
    constexpr int W = Lanes<Real>::width;
    Vec<Real> high[kLabels];
    repeat<kLabels>([&]<int k>() TAGLINE_INLINED { high[k] = MaxPlus::first<Vec<Real>>(); });
    const Vec<Real> one = hidden_one<Real>();
    for (int64_t i = 0; i < L; ++i) {
        const Vec<Real> left = at(v + i * W, 0);
        const Real* row = matrix + i * S + j;
        repeat<kLabels>([&]<int k>() TAGLINE_INLINED { high[k] = larger(left * one + splat(row[k]), high[k]); });
    }
    repeat<kLabels>([&]<int k>() TAGLINE_INLINED { emit(j + k, high[k]); });
}

// row[index] lane by lane.
template <class Real>
inline Vec<Real> pick(const Real* row, int64_t S, Counts<Real> index) {
    constexpr int W = Lanes<Real>::width;
#if defined(TAGLINE_CONSTANT_SHUFFLES)
    (void)S;
    Vec<Real> picked;
    for (int k = 0; k < W; ++k) picked[k] = row[index[k]];
    return picked;
#else
    Vec<Real> picked = __builtin_shuffle(at(row, 0), index);
    for (int64_t n = 1; n * W < S; ++n) {
        const typename Lanes<Real>::Index begin = typename Lanes<Real>::Index(n * W);
        picked = index >= begin ? __builtin_shuffle(at(row, n), index) : picked;
    }
    return picked;
#endif
}

template <class Real>
class BestPathsAbreast {
public:
    static constexpr int W = Lanes<Real>::width;

    BestPathsAbreast(int count, const Scores<Real>* sentences, const MaxShared<Real>& shared, Arena& scratch)
        : count(count), shared(shared), T(sentences[0].T), L(sentences[0].L), S(padded<Real>(L)), row(L * W),
          rows(count, sentences, scratch) {
        for (int g = 0; g < W; ++g) lengths[g] = Index(rows.lengths[g]);
        delta = take<Real>(scratch, T * row);
        emitted = take<Real>(scratch, row);
        labels = take<Index>(scratch, T * W);
    }

    // False when stopped.
    bool compute(int64_t* const* paths, Status* status, const int* stop) {
        for (int64_t t = 0; t < T; ++t) {
            step(t);
            if (t % kTokensBetweenPolls == 0 && __atomic_load_n(stop, __ATOMIC_RELAXED)) return false;
        }
        if constexpr (kCentred<Real>) failed |= lowest < -kWidest;
        Counts<Real> label{};
        for (int64_t t = T - 1; t >= 0; --t) {
            if (t < T - 1) follow(t + 1, label);
            const Counts<Real> last = lengths == Index(t + 1);
            if (any<Real>(last)) finish(t, last, label);
            reinterpret_cast<Counts<Real>*>(labels)[t] = label;
        }
        for (int g = 0; g < count; ++g) {
            status[g] = failed[g] ? Status::guard : Status::done;
            for (int64_t t = 0; t < rows.lengths[g]; ++t) paths[g][t] = labels[t * W + g];
        }
        return true;
    }

private:
    typedef typename Lanes<Real>::Index Index;
    const int count;
    const MaxShared<Real>& shared;
    const int64_t T, L, S, row;
    RowsAbreast<Real> rows;
    Counts<Real> lengths;
    Real *delta, *emitted;  // [T, L, W], [L, W]
    Index* labels;          // [T, W]
    Vec<Real> best{};       // the maximum of δ to be taken off at the next step
    Vec<Real> lowest{};     // of δ less its maximum, where it was looked at
    Counts<Real> failed{};

    void step(int64_t t) {
        Real* out = delta + t * row;
        rows.load(t, L, [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED { at(emitted, j) = lanes; });
        Vec<Real> high = splat(Real(-__builtin_inf()));
        const auto emit = [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED {
            at(out, j) = lanes + (kCentred<Real> ? at(emitted, j) - best : at(emitted, j));
            high = larger(high, at(out, j));
        };
        if (t == 0)
            for (int64_t j = 0; j < L; ++j) emit(j, splat(shared.start[j]));
        else if (shared.pairs)
            multiply_columns<MaxPlus>(out - row, shared.pairs->into.by_column, shared.into_columns, L,
                                      EmitColumns<Real, decltype(emit)>{emit});
        else
            in_tiles<kMostMaxima>(0, L, [&]<int kLabels>(int64_t j) TAGLINE_INLINED {
                maximise_abreast_tile<kLabels>(out - row, shared.into, L, S, j, emit);
            });
        if constexpr (kCentred<Real>) settle(t, high);
    }

    void settle(int64_t t, Vec<Real> high) {
        best = Vec<Real>{};
        if (t % kStepsBetweenCentres != 0) return;
        const Real inf = __builtin_inf();
        const Counts<Real> active = lengths > Index(t);
        const Counts<Real> within = (high > -kWidest) & (high < kWidest);
        failed |= active & ~within;
        best = within ? high : Vec<Real>{};
        for (int64_t j = 0; j < L; ++j) {
            const Vec<Real> value = at(delta + t * row, j);
            lowest = smaller(lowest, (active & (value > -inf)) ? value - best : Vec<Real>{});
        }
    }

    // The labels at t − 1 of the lanes that have a label at t.
    void follow(int64_t t, Counts<Real>& label) {
        const Real* before = delta + (t - 1) * row;
        const Counts<Real> active = lengths > Index(t), here = label;
        if (shared.pairs) return follow_pairs(t, active, label);
        choose(active, splat(near_tie<Real>(t)), label, [&](int64_t i) TAGLINE_INLINED {
            return at(before, i) + pick<Real>(shared.into + i * S, S, here);
        });
    }

    // The same over lists of pairs: few lead into a label, so each lane looks at its own.
    void follow_pairs(int64_t t, Counts<Real> active, Counts<Real>& label) {
        for (int g = 0; g < count; ++g) {
            if (!active[g]) continue;
            const Choice choice =
                choose_pair<W>(shared, label[g], delta + (t - 1) * row + g, near_tie<Real>(t), emitted);
            label[g] = Index(choice.label);
            if (kCentred<Real> && !choice.clear) failed[g] = -1;
        }
    }

    // The last labels, of the lanes that end at t.
    void finish(int64_t t, Counts<Real> last, Counts<Real>& label) {
        const Real* row_of_last = delta + t * row;
        const Vec<Real> high = choose(last, splat(near_tie<Real>(t + 1)), label, [&](int64_t i) TAGLINE_INLINED {
            return at(row_of_last, i) + splat(shared.end[i]);
        });
        failed |= last & ~(high > Real(-__builtin_inf()));  // no labelling, or none that can be told from others
    }

    // The first label with the largest score; a lane with another one within `margin` of it fails.
    template <class Score>
    TAGLINE_INLINED Vec<Real> choose(Counts<Real> active, Vec<Real> margin, Counts<Real>& label, const Score& score) {
        Vec<Real> high = score(0), second = splat(Real(-__builtin_inf()));
        Counts<Real> first{};
        for (int64_t i = 1; i < L; ++i) {
            const Vec<Real> value = score(i);
            second = larger(second, smaller(value, high));
            first = value > high ? all_lanes<Real>(i) : first;
            high = larger(high, value);
        }
        label = active ? first : label;
        if constexpr (kCentred<Real>) failed |= active & ~(second < high - margin);
        return high;
    }
};

template <class Real>
bool viterbi_abreast(int count, const Scores<Real>* sentences, const void* memory, int64_t* const* paths,
                     Status* status, Arena& scratch, const int* stop) {
    const Scores<Real>& s = sentences[0];
    const auto& shared = *static_cast<const MaxShared<Real>*>(memory);
    if (s.per_position || s.symbols) return false;
    if (shared.pairs ? !can_go_abreast(*shared.pairs, s.T, s.L) : s.L > kMostLabelsAbreast) return false;
    if (!BestPathsAbreast<Real>(count, sentences, shared, scratch).compute(paths, status, stop))
        for (int g = 0; g < count; ++g) status[g] = Status::stopped;
    return true;
}
