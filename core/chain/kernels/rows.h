// Rows and matrices of scores: extremes, exponentials, padding. The recursions build on them. Included by kernels.cpp.

constexpr int64_t kTokensBetweenPolls = 256;

template <class Real>
inline Real larger_of(Real a, Real b) {
    return a > b ? a : b;
}

template <class Real>
inline Real finite_or_zero(Real score) {
    return score > Real(-__builtin_inf()) ? score : Real(0);
}

// The largest of n numbers, the smallest finite one, and whether −∞ occurs among them.
template <class Real>
struct Extremes {
    Real high, low;
    bool forbidden;
    Real range() const { return high >= low ? high - low : Real(0); }
    Real power() const { return high >= low ? power_in(high) : Real(0); }  // 0 where nothing is finite
    bool too_large() const { return high >= low && (high > kLargestScore<Real> || low < -kLargestScore<Real>); }
};

template <class Real>
inline Extremes<Real> extremes_of(const Real* values, int64_t n) {
    constexpr Real inf = __builtin_inf();
    constexpr int W = Lanes<Real>::width;
    Vec<Real> high = splat(-inf), low = splat(inf);
    for (int64_t k = 0; k * W < n; ++k) {
        const Vec<Real> v = load_row(values, k, n, values[0]);
        high = larger(high, v);
        low = smaller(low, v);
    }
    const Real least = smallest_of(low);
    if (least > -inf) return {largest_of(high), least, false};
    for (int64_t k = 0; k * W < n; ++k) {
        const Vec<Real> v = load_row(values, k, n, values[0]);
        low = k == 0 ? splat(inf) : low;
        low = smaller(low, v > -inf ? v : splat(inf));
    }
    return {largest_of(high), smallest_of(low), true};
}

template <class Real>
inline Real largest_in(const Real* values, int64_t n) {
    constexpr int W = Lanes<Real>::width;
    Vec<Real> high = load_row(values, 0, n, values[0]);
    for (int64_t k = 1; k * W < n; ++k) high = larger(high, load_row(values, k, n, values[0]));
    return largest_of(high);
}

// A power of two by its exponent, and the exponent of a positive normal number.
inline float power_of_two(int k, float) { return __builtin_bit_cast(float, uint32_t(k + 127) << 23); }
inline double power_of_two(int k, double) { return __builtin_bit_cast(double, uint64_t(k + 1023) << 52); }
inline int exponent_of(float v) { return int(__builtin_bit_cast(uint32_t, v) >> 23) - 127; }
inline int exponent_of(double v) { return int(__builtin_bit_cast(uint64_t, v) >> 52) - 1023; }

template <class Real>
inline int64_t padded(int64_t L) {
    constexpr int W = Lanes<Real>::width;
    return (L + W - 1) / W * W;
}

template <class T>
inline T* take(Arena& arena, int64_t count) {
    return static_cast<T*>(arena.take(size_t(count), sizeof(T)));
}

// out[i][j] = exp(scores[i][j])·2^−power in padded rows.
template <class Real>
inline void exp_matrix(const Real* scores, Real power, int64_t L, int64_t S, Real* out) {
    const Powers<Real> powers(power);
    for (int64_t i = 0; i < L; ++i)
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
            at(out + i * S, n) = powers.exp(load_row(scores + i * L, n, L, Real(-__builtin_inf())));
}

// What rows of emissions span: the widest distance from a row's largest score to its smallest finite one, in nats.
template <class Real>
struct Spread {
    Real range;
    bool forbidden;  // some score is −∞
    bool too_large;  // for exp space
};

// Rows go through two short loops rather than one long one: the processor sees the next rows in time to overlap them.
constexpr int64_t kRowsTogether = 32;

// out = exp(scores)·2^−power in padded rows, the power of each row being that of its largest score. load(t, row) writes
// row t, with scores of other labels in the padding; range_of(t) is the range of a row's finite scores.
template <class Real, class Load, class Range>
inline Spread<Real> exp_rows(int64_t count, int64_t L, int64_t S, Real* out, Real* power, Load load, Range range_of) {
    constexpr int W = Lanes<Real>::width;
    const int64_t last = S / W - 1;
    Vec<Real> lowest{};  // power of a score, less that of the largest in its row
    Vec<Real> real_lanes;  // 1 for the labels in a row's last vector, 0 for its padding
    for (int k = 0; k < W; ++k) real_lanes[k] = S - W + k < L;
    Real largest = 0;
    for (int64_t begin = 0; begin < count; begin += kRowsTogether) {
        const int64_t end = count - begin < kRowsTogether ? count : begin + kRowsTogether;
        for (int64_t t = begin; t < end; ++t) {
            Real* row = out + t * S;
            load(t, row);
            Vec<Real> highest = at(row, 0);
            for (int64_t n = 1; n <= last; ++n) highest = larger(highest, at(row, n));
            const Real high = finite_or_zero(largest_of(highest));
            largest = larger_of(largest, high < 0 ? -high : high);
            power[t] = power_in(high);
        }
        for (int64_t t = begin; t < end; ++t) {
            Real* row = out + t * S;
            const Powers<Real> powers(power[t]);
            for (int64_t n = 0; n < last; ++n) at(row, n) = powers.exp(at(row, n), lowest);
            at(row, last) = powers.exp(at(row, last), lowest) * real_lanes;
        }
    }
    const bool too_large = largest > kLargestScore<Real>;
    const Real range = Real(1 - kLn2 * smallest_of(lowest));  // to the next power of two
    if (range < Real(__builtin_inf())) return {range, false, too_large};
    Real widest = 0;
    for (int64_t t = 0; t < count; ++t) widest = larger_of(widest, range_of(t));
    return {widest, true, too_large};
}

template <class Real>
inline Spread<Real> exp_rows(const Real* scores, int64_t count, int64_t L, int64_t S, Real* out, Real* power) {
    return exp_rows<Real>(
        count, L, S, out, power,
        [&](int64_t t, Real* row) {
            for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
                at(row, n) = load_row(scores + t * L, n, L, scores[t * L]);
        },
        [&](int64_t t) { return extremes_of(scores + t * L, L).range(); });
}

// out[i][j] = 1 where scores[i][j] is allowed, 0 where it is forbidden or padding.
template <class Real>
inline void allowed_matrix(const Real* scores, int64_t L, int64_t S, Real* out) {
    constexpr Real inf = __builtin_inf();
    for (int64_t i = 0; i < L; ++i)
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
            at(out + i * S, n) = load_row(scores + i * L, n, L, -inf) > -inf ? splat(Real(1)) : Vec<Real>{};
}

// to[i][j] = from[j][i], `padding` past the labels; both [L, S]. kPart rows by a vector of columns at a time.
template <class Real>
inline void transpose(const Real* from, int64_t L, int64_t S, Real* to, Real padding = 0) {
    constexpr int W = Lanes<Real>::width, P = kPart<Real>;
    for (int64_t i = 0; i < S; i += W) {
        int64_t j = 0;
        for (; j + P <= L; j += P) {
            Vec<Real> block[P];
            repeat<P>([&]<int k>() TAGLINE_INLINED { block[k] = at(from + (j + k) * S + i, 0); });
            turn_parts<Real>(block);
            repeat<P>([&]<int r>() TAGLINE_INLINED {
                repeat<kParts<Real>>([&]<int q>() TAGLINE_INLINED {
                    if (i + q * P + r < L) store_part<Real>(block[r], q, to + (i + q * P + r) * S + j);
                });
            });
        }
        for (int64_t k = i; k < i + W && k < L; ++k)
            for (int64_t rest = j; rest < S; ++rest) to[k * S + rest] = rest < L ? from[rest * S + k] : padding;
    }
}
