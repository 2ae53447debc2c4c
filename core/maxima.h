// The best labelling of one sentence. Included by kernels.cpp.
//
//     δ_t(j) = max_i (δ_(t−1)(i) + T(i, j)) + e_t(j)
// Only the table of δ is kept: a back-pointer is computed again, by the same arithmetic, when it is followed, which
// costs L instead of the L² comparisons of storing them all. Equal scores: the smaller label, from the end backwards.
//
// float64 adds in the order of the definition. float32 keeps δ near 0 (less the maximum one step earlier, scores less
// their maxima: exact for integers), and where a possible label lies more than kWidest below the best, its low bits
// are no longer good enough for the promised 1e-5 a token: the kernel returns Status::guard and float64 decides.

constexpr float kWidest = 32;

template <class Real>
struct MaxShared {
    Real high;       // of the shared transitions; taken off in float32
    Real *into;      // [L, S] T − high, −∞ in the padding
    Real *out_of;    // [L, S] the transpose
    Real *start, *end;  // [S]
};

template <class Real>
constexpr bool kCentred = sizeof(Real) == 4;

template <class Real>
size_t max_shared_size(int64_t L) {
    const size_t S = size_t(padded<Real>(L));
    return kSharedHeader + 64 + sizeof(Real) * (2 * S + 2 * size_t(L) * S);
}

template <class Real>
inline void centred_row(const Real* row, Real high, int64_t L, int64_t S, Real* out) {
    for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
        at(out, n) = load_row(row, n, L, Real(-__builtin_inf())) - high;
}

template <class Real>
inline Real centre_of(const Real* scores, int64_t n) {
    return kCentred<Real> ? finite_or_zero(span_of(scores, n).high) : Real(0);
}

template <class Real>
void max_prepare(const Scores<Real>& common, void* memory) {
    const int64_t L = common.L, S = padded<Real>(L);
    auto& shared = *static_cast<MaxShared<Real>*>(memory);
    shared.start = reinterpret_cast<Real*>(static_cast<char*>(memory) + kSharedHeader);
    shared.end = shared.start + S;
    shared.into = shared.end + S;
    shared.out_of = shared.into + L * S;
    centred_row(common.start, centre_of(common.start, L), L, S, shared.start);
    centred_row(common.end, centre_of(common.end, L), L, S, shared.end);
    if (common.per_position) return;
    shared.high = centre_of(common.transitions, L * L);
    for (int64_t i = 0; i < L; ++i) {
        centred_row(common.transitions + i * L, shared.high, L, S, shared.into + i * S);
        for (int64_t j = 0; j < L; ++j) shared.out_of[i * S + j] = common.transitions[j * L + i] - shared.high;
        for (int64_t j = L; j < S; ++j) shared.out_of[i * S + j] = -__builtin_inf();
    }
}

// The first label with the largest value of left + right, over padded rows.
template <class Real>
inline int64_t first_largest(const Real* left, const Real* right, int64_t S) {
    constexpr int W = Lanes<Real>::width;
    Vec<Real> high = at(left, 0) + at(right, 0);
    for (int64_t n = 1; n * W < S; ++n) high = larger(high, at(left, n) + at(right, n));
    const Vec<Real> best = splat(largest_of(high));
    for (int64_t n = 0;; ++n) {
        const auto equal = at(left, n) + at(right, n) == best;
        Vec<Real> lane;
        for (int k = 0; k < W; ++k) lane[k] = Real(k);
        const Real first = smallest_of(equal ? lane : splat(Real(W)));
        if (first < W) return n * W + int64_t(first);
        if ((n + 1) * W >= S) return 0;  // only with NaN, which the door keeps out
    }
}

template <class Real>
Status viterbi(const Scores<Real>& s, const void* memory, int64_t* path, Arena& scratch, const int* stop) {
    const auto& shared = *static_cast<const MaxShared<Real>*>(memory);
    const int64_t T = s.T, L = s.L, S = padded<Real>(L), vectors = S / Lanes<Real>::width;
    const Real inf = __builtin_inf();
    Real* delta = take<Real>(scratch, T * S);
    Real* matrix = s.per_position ? take<Real>(scratch, L * S) : nullptr;
    Real* high_into = s.per_position ? take<Real>(scratch, T) : nullptr;
    Real best = 0;
    for (int64_t t = 0; t < T; ++t) {
        const Real* emitted = s.emissions + t * L;
        Real* row = delta + t * S;
        const Real drop = kCentred<Real> ? centre_of(emitted, L) : Real(0);
        Vec<Real> high = splat(-inf);
        const auto emit = [&](int64_t n, Vec<Real> lanes) {
            Vec<Real> e = load_row(emitted, n, L, -inf);
            if constexpr (kCentred<Real>) e = (e - drop) - best;
            at(row, n) = lanes + e;
            high = larger(high, at(row, n));
        };
        if (t == 0) {
            for (int64_t n = 0; n < vectors; ++n) emit(n, at(shared.start, n));
        } else {
            const Real* into = shared.into;
            if (s.per_position) {
                const Real* moves = s.transitions + t * L * L;
                high_into[t] = centre_of(moves, L * L);
                for (int64_t i = 0; i < L; ++i) centred_row(moves + i * L, high_into[t], L, S, matrix + i * S);
                into = matrix;
            }
            multiply<MaxPlus>(row - S, into, L, S, emit);
        }
        if constexpr (kCentred<Real>) {
            best = largest_of(high);
            if (best == -inf) return Status::no_path;
            Vec<Real> low = splat(best);
            for (int64_t n = 0; n < vectors; ++n) low = smaller(low, at(row, n) > -inf ? at(row, n) : splat(best));
            if (smallest_of(low) < best - kWidest) return Status::guard;
        }
        if (t % kTokensBetweenPolls == kTokensBetweenPolls - 1 && __atomic_load_n(stop, __ATOMIC_RELAXED))
            return Status::stopped;
    }
    const Real* last = delta + (T - 1) * S;
    int64_t label = first_largest(last, shared.end, S);
    if (!(last[label] + shared.end[label] > -inf)) return Status::no_path;
    path[T - 1] = label;
    for (int64_t t = T - 1; t > 0; --t) {
        const Real* before = delta + (t - 1) * S;
        if (s.per_position) {
            const Real* moves = s.transitions + t * L * L;
            int64_t chosen = 0;
            Real high = -inf;
            for (int64_t i = 0; i < L; ++i) {
                const Real total = before[i] + (moves[i * L + label] - high_into[t]);
                if (total > high) {
                    high = total;
                    chosen = i;
                }
            }
            label = chosen;
        } else {
            label = first_largest(before, shared.out_of + label * S, S);
        }
        path[t - 1] = label;
    }
    return Status::done;
}
