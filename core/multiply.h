// Row vectors times a matrix, the inner loop of every recursion: out[j] = Σ_i v[i]·M[i][j], or max_i (v[i] + M[i][j]).
//
// Labels j lie across lanes, labels i run. Up to kGroup sentences go through at once, so that a row of M is loaded once
// for all of them and the latency of one sentence's additions is filled by the others'. A few independent sums over i
// do the same for a sentence alone. The order of a sentence's additions depends on L alone, not on its company.
// Included by kernels.cpp.

struct SumProduct {
    template <class V>
    static V first() { return V{}; }
    template <class V>
    static V step(V total, V left, V right) { return total + left * right; }
    template <class V>
    static V join(V a, V b) { return a + b; }
};

struct MaxPlus {
    template <class V>
    static V first() { return V{} - __builtin_inff(); }
    template <class V>
    static V step(V total, V left, V right) { return larger(left + right, total); }
    template <class V>
    static V join(V a, V b) { return larger(a, b); }
};

template <class Ring, int kCount, int kVectors, class Real, class Emit>
__attribute__((always_inline)) inline void multiply_tile(const Real* const* v, const Real* matrix, int64_t L,
                                                         int64_t S, int64_t vector, Emit emit) {
    constexpr int kSums = kVectors == 1 ? 4 : kVectors == 2 ? 2 : 1;
    Vec<Real> sums[kSums][kCount][kVectors];
    for (int u = 0; u < kSums; ++u)
        for (int g = 0; g < kCount; ++g)
            for (int n = 0; n < kVectors; ++n) sums[u][g][n] = Ring::template first<Vec<Real>>();
    const auto add = [&](int u, int64_t i) __attribute__((always_inline)) {
        Vec<Real> right[kVectors];
        for (int n = 0; n < kVectors; ++n) right[n] = at(matrix + i * S, vector + n);
        for (int g = 0; g < kCount; ++g) {
            const Vec<Real> left = splat(v[g][i]);
            for (int n = 0; n < kVectors; ++n) sums[u][g][n] = Ring::step(sums[u][g][n], left, right[n]);
        }
    };
    int64_t i = 0;
    for (; i + kSums <= L; i += kSums)
        for (int u = 0; u < kSums; ++u) add(u, i + u);
    for (; i < L; ++i) add(0, i);
    for (int g = 0; g < kCount; ++g)
        for (int n = 0; n < kVectors; ++n) {
            for (int u = 1; u < kSums; ++u) sums[0][g][n] = Ring::join(sums[0][g][n], sums[u][g][n]);
            emit(g, vector + n, sums[0][g][n]);
        }
}

// v[g] [L] for each of kCount sentences, matrix [L, S] with S = whole vectors; emit(g, vector index, lanes) is called
// for each vector of each result.
template <class Ring, int kCount, class Real, class Emit>
__attribute__((always_inline)) inline void multiply(const Real* const* v, const Real* matrix, int64_t L, int64_t S,
                                                    Emit emit) {
    const int64_t vectors = S / Lanes<Real>::width;
    int64_t n = 0;
    for (; n + kTile <= vectors; n += kTile) multiply_tile<Ring, kCount, kTile>(v, matrix, L, S, n, emit);
    for (; n < vectors; ++n) {
        if (kTile > 2 && n + 3 == vectors) return multiply_tile<Ring, kCount, 3>(v, matrix, L, S, n, emit);
        if (kTile > 2 && n + 2 == vectors) return multiply_tile<Ring, kCount, 2>(v, matrix, L, S, n, emit);
        multiply_tile<Ring, kCount, 1>(v, matrix, L, S, n, emit);
    }
}
