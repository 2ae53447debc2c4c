// Viterbi: the best labelling of a sentence, several sentences at a time. Included by kernels.cpp.
//
//     δ_t(j) = max_i (δ_(t−1)(i) + T(i, j)) + e_t(j)
// Only the table of δ is kept: a back-pointer is computed again, by the same arithmetic, when it is followed, which
// costs L instead of the L² comparisons of storing them all. Equal scores: the smaller label, from the end backwards.
//
// float64 adds in the order of the definition. float32 keeps δ near 0 by taking off its maximum every few steps (exact
// for integers). Where that maximum, or a possible label below it, lies more than kWidest away, or where the runner-up
// of a choice on the path is within near_tie of the winner, rounding may have decided: the kernel returns Status::guard
// and float64 decides. So float32 scores have the best path of float64 arithmetic, ties included.

constexpr float kWidest = 32;
constexpr int64_t kStepsBetweenCentres = 4;

// Rounding errors of δ: below 2e-6 a step at this width, and most of them are shared by both candidates.
template <class Real>
inline Real near_tie(int64_t t) {
    return sizeof(Real) == 4 ? Real(1e-4) + Real(2e-6) * Real(t) : Real(0);
}

template <class Real>
struct MaxShared {
    Real high;       // of the shared transitions; taken off in float32
    const PairTables* pairs;  // null where the transitions are matrices
    Real *into;      // [L, S] T − high, −∞ in the padding; or the cells of the table of pairs
    Real *out_of;    // [L, S] the transpose; or [pairs] by next label, then by previous one
    Real *into_columns;  // [pairs] in the order of the table's columns, where sentences go abreast
    Real *start, *end;  // [S]
};

template <class Real>
constexpr bool kCentred = sizeof(Real) == 4;

template <class Real>
size_t max_shared_size(int64_t L, const PairTables* pairs) {
    const size_t S = size_t(padded<Real>(L));
    const size_t cells = pairs ? size_t(pair_cells<Real>(pairs->into) + 2 * pairs->legal->count)
                               : 2 * size_t(L) * S;
    return kSharedHeader + 64 + sizeof(Real) * (2 * S + cells);
}

template <class Real>
inline void centred_row(const Real* row, Real high, int64_t L, int64_t S, Real* out) {
    for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
        at(out, n) = load_row(row, n, L, Real(-__builtin_inf())) - high;
}

template <class Real>
inline Real centre_of(const Real* scores, int64_t n) {
    return kCentred<Real> ? finite_or_zero(largest_in(scores, n)) : Real(0);
}

// The legal transitions less the largest, in the cells of the table and by next label.
template <class Real>
void prepare_pairs(const Scores<Real>& common, MaxShared<Real>& shared) {
    const int64_t L = common.L;
    const PairTable& table = shared.pairs->into;
    const LegalPairs& legal = *shared.pairs->legal;
    fill_cells(table, shared.into, [&](int32_t i, int32_t j) { return common.transitions[i * L + j]; });
    const int64_t cells = pair_cells<Real>(table);
    shared.high = cells ? centre_of(shared.into, cells) : Real(0);
    for (int64_t n = 0; n * Lanes<Real>::width < cells; ++n) at(shared.into, n) -= splat(shared.high);
    for (int64_t k = 0; k < legal.count; ++k)
        shared.out_of[k] = common.transitions[legal.previous[legal.numbers[k]] * L + legal.next[legal.numbers[k]]] -
                           shared.high;
    shared.into_columns = shared.out_of + legal.count;
    for (int64_t k = 0; go_abreast(*shared.pairs) && k < legal.count; ++k)
        shared.into_columns[k] = shared.into[table.by_column.places[k]];
}

template <class Real>
void max_prepare(const Scores<Real>& common, const PairTables* pairs, void* memory) {
    const int64_t L = common.L, S = padded<Real>(L);
    auto& shared = *static_cast<MaxShared<Real>*>(memory);
    shared.pairs = pairs;
    shared.start = reinterpret_cast<Real*>(static_cast<char*>(memory) + kSharedHeader);
    shared.end = shared.start + S;
    shared.into = shared.end + S;
    shared.out_of = shared.into + (pairs ? pair_cells<Real>(pairs->into) : L * S);
    centred_row(common.start, centre_of(common.start, L), L, S, shared.start);
    centred_row(common.end, centre_of(common.end, L), L, S, shared.end);
    if (common.per_position) return;
    if (pairs) return prepare_pairs(common, shared);
    shared.high = centre_of(common.transitions, L * L);
    for (int64_t i = 0; i < L; ++i) centred_row(common.transitions + i * L, shared.high, L, S, shared.into + i * S);
    transpose(shared.into, L, S, shared.out_of, Real(-__builtin_inf()));
}

// The first label whose left + right is within `margin` of the largest, and whether it is the only one.
struct Choice {
    int64_t label;
    bool clear;
};

template <class Real>
inline Choice choose(const Real* left, const Real* right, int64_t S, Real margin) {
    constexpr int W = Lanes<Real>::width;
    Vec<Real> high = at(left, 0) + at(right, 0);
    for (int64_t n = 1; n * W < S; ++n) high = larger(high, at(left, n) + at(right, n));
    const Vec<Real> least = splat(largest_of(high) - margin);
    int64_t label = -1;
    int count = 0;
    for (int64_t n = 0; n * W < S; ++n) {
        const unsigned lanes = lanes_at_least<Real>(at(left, n) + at(right, n), least);
        if (lanes && label < 0) label = n * W + __builtin_ctz(lanes);
        count += __builtin_popcount(lanes);
    }
    return {label < 0 ? 0 : label, count == 1};  // none only with NaN, which the door keeps out
}

// The same over the legal pairs into a label: left by previous label, their numbers kStride apart; terms [S] is scratch.
template <int kStride = 1, class Real>
inline Choice choose_pair(const MaxShared<Real>& shared, int64_t label, const Real* left, Real margin, Real* terms) {
    const LegalPairs& legal = *shared.pairs->legal;
    const int64_t first = legal.entering[label], count = legal.entering[label + 1] - first;
    const int32_t* numbers = legal.numbers + first;
    Real high = -__builtin_inf();
    for (int64_t k = 0; k < count; ++k) {
        terms[k] = left[legal.previous[numbers[k]] * kStride] + shared.out_of[first + k];
        high = larger_of(high, terms[k]);
    }
    const Real least = high - margin;
    int64_t chosen = 0, near = 0;
    for (int64_t k = count - 1; k >= 0; --k)
        if (terms[k] >= least) {
            chosen = k;
            ++near;
        }
    return {count ? legal.previous[numbers[chosen]] : 0, near == 1};
}

template <class Real>
struct BestPath {
    const Scores<Real>& s;
    const MaxShared<Real>& shared;
    const int64_t T, L, S, vectors;
    Real *delta;      // [T, S]
    Real *matrix = nullptr, *high_into = nullptr;  // [L, S], [T]; only per position
    Real* packed = nullptr;  // [2 S] scratch, only with tables of pairs
    Real best = 0;       // the maximum of δ to be taken off at the next step
    Vec<Real> lowest{};  // of δ less its maximum, where it was looked at
    Status status = Status::done;

    BestPath(const Scores<Real>& sentence, const MaxShared<Real>& shared, Arena& scratch)
        : s(sentence), shared(shared), T(s.T), L(s.L), S(padded<Real>(L)), vectors(S / Lanes<Real>::width),
          delta(take<Real>(scratch, T * S)) {
        if (shared.pairs) packed = take<Real>(scratch, 2 * S);
        if (!s.per_position) return;
        matrix = take<Real>(scratch, L * S);
        high_into = take<Real>(scratch, T);
    }

    const Real* emissions_at(int64_t t) const {
        if (!s.symbols) return s.emissions + t * L;
        return s.emissions + (s.symbols[t] < 0 ? s.rows - 1 : s.symbols[t]) * L;
    }

    Vec<Real> emission(const Real* row, int64_t n) const {
        const Vec<Real> e = load_row(row, n, L, Real(-__builtin_inf()));
        return kCentred<Real> ? e - best : e;
    }

    void begin() {
        Vec<Real> high = splat(Real(-__builtin_inf()));
        for (int64_t n = 0; n < vectors; ++n)
            high = larger(high, at(delta, n) = at(shared.start, n) + emission(emissions_at(0), n));
        settle(0, high);
    }

    const Real* into(int64_t t) {
        if (!s.per_position) return shared.into;
        const Real* transitions = s.transitions + t * L * L;
        high_into[t] = centre_of(transitions, L * L);
        for (int64_t i = 0; i < L; ++i) centred_row(transitions + i * L, high_into[t], L, S, matrix + i * S);
        return matrix;
    }

    template <int kCount, bool kPairs>
    static void step(BestPath* const* group, int64_t t) {
        const int64_t L = group[0]->L, S = group[0]->S;
        const Real *before[kCount], *emitted[kCount];
        Vec<Real> high[kCount];
        for (int g = 0; g < kCount; ++g) {
            before[g] = group[g]->delta + (t - 1) * S;
            emitted[g] = group[g]->emissions_at(t);
            high[g] = splat(Real(-__builtin_inf()));
        }
        const auto take_delta = [&](int g, int64_t n, Vec<Real> lanes) TAGLINE_INLINED {
            Vec<Real>& row = at(group[g]->delta + t * S, n);
            row = lanes + group[g]->emission(emitted[g], n);
            high[g] = larger(high[g], row);
        };
        if constexpr (kPairs) {
            const MaxShared<Real>& shared = group[0]->shared;
            Real* packed[kCount];
            for (int g = 0; g < kCount; ++g) packed[g] = group[g]->packed;
            multiply_pairs<MaxPlus, kCount>(before, shared.pairs->into, shared.into, packed, L, S, take_delta);
        } else {
            multiply<MaxPlus, kCount>(before, group[0]->into(t), L, S, take_delta);
        }
        for (int g = 0; g < kCount; ++g) group[g]->settle(t, high[g]);
    }

    // Now and then, note the best and how far below it the possible labels lie. A sentence that fails goes along with
    // its group.
    void settle(int64_t t, Vec<Real> high) {
        if constexpr (kCentred<Real>) {
            best = 0;
            if (t % kStepsBetweenCentres != 0) return;
            const Real inf = __builtin_inf();
            best = largest_of(high);
            if (!(best > -kWidest && best < kWidest)) {
                status = Status::guard;
                best = 0;
            }
            for (int64_t n = 0; n < vectors; ++n) {
                const Vec<Real> row = at(delta + t * S, n);
                lowest = smaller(lowest, row > -inf ? row - best : Vec<Real>{});
            }
        }
    }

    // The last label; false where there is no path, or where float32 could not tell the labels apart.
    bool finish(int64_t* path) {
        if (status == Status::done && smallest_of(lowest) < -kWidest) status = Status::guard;
        if (status != Status::done) return false;
        const Real* last = delta + (T - 1) * S;
        const Choice choice = choose(last, shared.end, S, near_tie<Real>(T));
        path[T - 1] = choice.label;
        if (!(last[choice.label] + shared.end[choice.label] > Real(-__builtin_inf())))
            status = Status::no_path;
        else if (kCentred<Real> && !choice.clear)
            status = Status::guard;
        return status == Status::done;
    }

    // The label before `label` at t; false where float32 cannot tell.
    bool step_back(int64_t t, int64_t* path) {
        const Real* before = delta + (t - 1) * S;
        const Choice choice = s.per_position ? previous(t, path[t])
                              : shared.pairs ? choose_pair(shared, path[t], before, near_tie<Real>(t), packed)
                                             : choose(before, shared.out_of + path[t] * S, S, near_tie<Real>(t));
        path[t - 1] = choice.label;
        if (kCentred<Real> && !choice.clear) status = Status::guard;
        return status == Status::done;
    }

    Choice previous(int64_t t, int64_t label) const {
        const Real *before = delta + (t - 1) * S, *transitions = s.transitions + t * L * L;
        int64_t chosen = 0;
        Real high = -__builtin_inf(), second = high;
        for (int64_t i = 0; i < L; ++i) {
            const Real total = before[i] + (transitions[i * L + label] - high_into[t]);
            if (total > high) {
                second = high;
                high = total;
                chosen = i;
            } else if (total > second) {
                second = total;
            }
        }
        return {chosen, second < high - near_tie<Real>(t)};
    }
};

template <class Real>
void viterbi(int count, const Scores<Real>* sentences, const void* memory, int64_t* const* paths, Status* status,
             Arena& scratch, const int* stop) {
    const auto& shared = *static_cast<const MaxShared<Real>*>(memory);
    if (count > 1 && sentences[0].per_position) {  // no matrix in common: one by one
        for (int g = 0; g < count; ++g) viterbi(1, sentences + g, memory, paths + g, status + g, scratch, stop);
        return;
    }
    BestPath<Real>* group[kGroup];
    for (int g = 0; g < count; ++g) {
        group[g] = new (take<BestPath<Real>>(scratch, 1)) BestPath<Real>(sentences[g], shared, scratch);
        group[g]->begin();
    }
    bool stopped = false;
    int active = count;
    for (int64_t t = 1; !stopped && t < sentences[0].T; ++t) {
        while (sentences[active - 1].T <= t) --active;
        const auto step = [&]<int kCount>(BestPath<Real>* const* some) {
            shared.pairs ? BestPath<Real>::template step<kCount, true>(some, t)
                         : BestPath<Real>::template step<kCount, false>(some, t);
        };
        if (active == 4) {
            step.template operator()<4>(group);
        } else {
            if (active >= 2) step.template operator()<2>(group);
            if (active % 2) step.template operator()<1>(group + active - 1);
        }
        if (active == 1 && group[0]->status != Status::done) break;
        stopped = t % kTokensBetweenPolls == 0 && __atomic_load_n(stop, __ATOMIC_RELAXED);
    }
    bool open[kGroup];
    for (int g = 0; g < count; ++g) open[g] = !stopped && group[g]->finish(paths[g]);
    for (int64_t t = sentences[0].T - 1; t > 0; --t)  // side by side: each waits for its own last label only
        for (int g = 0; g < count; ++g)
            if (open[g] && t < sentences[g].T) open[g] = group[g]->step_back(t, paths[g]);
    for (int g = 0; g < count; ++g) status[g] = stopped ? Status::stopped : group[g]->status;
}
