// Row vector times matrix, the inner loop of every recursion: out[j] = Σ_i v[i]·M[i][j], or max_i (v[i] + M[i][j]).
//
// Labels j lie across lanes, labels i run. A few independent sums over i hide the latency of the addition; tiles of at
// most four vectors of j stay in registers. The order of the additions depends on L alone. Included by kernels.cpp.

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

template <class Ring, int kVectors, class Real, class Emit>
__attribute__((always_inline)) inline void multiply_tile(const Real* v, const Real* matrix, int64_t L, int64_t S,
                                                         int64_t vector, Emit emit) {
    constexpr int kSums = kVectors <= 2 ? 4 : 2;
    Vec<Real> sums[kSums][kVectors];
    for (int u = 0; u < kSums; ++u)
        for (int n = 0; n < kVectors; ++n) sums[u][n] = Ring::template first<Vec<Real>>();
    int64_t i = 0;
    for (; i + kSums <= L; i += kSums)
        for (int u = 0; u < kSums; ++u) {
            const Vec<Real> left = splat(v[i + u]);
            for (int n = 0; n < kVectors; ++n)
                sums[u][n] = Ring::step(sums[u][n], left, at(matrix + (i + u) * S, vector + n));
        }
    for (; i < L; ++i) {
        const Vec<Real> left = splat(v[i]);
        for (int n = 0; n < kVectors; ++n) sums[0][n] = Ring::step(sums[0][n], left, at(matrix + i * S, vector + n));
    }
    for (int n = 0; n < kVectors; ++n) {
        for (int u = 1; u < kSums; ++u) sums[0][n] = Ring::join(sums[0][n], sums[u][n]);
        emit(vector + n, sums[0][n]);
    }
}

// v [L], matrix [L, S] with S = whole vectors; emit(vector index, lanes) is called for each vector of the result.
template <class Ring, class Real, class Emit>
__attribute__((always_inline)) inline void multiply(const Real* v, const Real* matrix, int64_t L, int64_t S,
                                                    Emit emit) {
    const int64_t vectors = S / Lanes<Real>::width;
    int64_t n = 0;
    for (; n + 4 <= vectors; n += 4) multiply_tile<Ring, 4>(v, matrix, L, S, n, emit);
    switch (vectors - n) {
        case 1: multiply_tile<Ring, 1>(v, matrix, L, S, n, emit); break;
        case 2: multiply_tile<Ring, 2>(v, matrix, L, S, n, emit); break;
        case 3: multiply_tile<Ring, 3>(v, matrix, L, S, n, emit); break;
        default: break;
    }
}
