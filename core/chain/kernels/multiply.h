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

// Calls work<0>() … work<n − 1>(). Unlike a loop it leaves no array index to be computed, so that arrays of vectors
// stay in registers: GCC keeps those that loops run over in memory between one loop and the next.
template <int n, class Work>
TAGLINE_INLINED inline void repeat(Work work) {
    if constexpr (n > 0) {
        repeat<n - 1>(work);
        work.template operator()<n - 1>();
    }
}

// How many independent sums a tile makes. Of tiles of two vectors the last one has three where a vector would be left over.
template <int kVectors>
constexpr int kSumsOfTile = kVectors == 1 ? 4 : kVectors == 2 || kTile == 2 ? 2 : 1;

// How many of them are made at a time: no more than there are registers for. Four sentences with two vectors a tile have 16
// sums, as many as AVX2 has registers. Spilled, they take 1.1 times as long; two sentences at a time, 1.2 to 1.5 times.
template <int kSums, int kEach>
constexpr int kSumsAtOnce = kSums > 1 && kSums * kEach > kRegisters ? kSumsAtOnce<kSums / 2, kEach> : kSums;

// V is the vector. Row i of the matrix goes with v[g][i], or with v[g][rows[i]] where the rows are listed.
template <class Ring, class V, int kCount, int kVectors, bool kListed = false, int kSums = kSumsOfTile<kVectors>,
          class Real, class Emit>
TAGLINE_INLINED inline void multiply_tile(const Real* const* v, const Real* matrix, int64_t L, int64_t S,
                                          int64_t vector, Emit emit, const int32_t* rows = nullptr) {
    constexpr int kEach = kCount * kVectors, kAtOnce = kSumsAtOnce<kSums, kEach>;
    V totals[kEach];
    repeat<kSums / kAtOnce>([&]<int part>() TAGLINE_INLINED {
        constexpr int kFirst = part * kAtOnce;
        V sums[kAtOnce * kEach];
        repeat<kAtOnce * kEach>([&]<int k>() TAGLINE_INLINED { sums[k] = Ring::template first<V>(); });
        const auto add = [&]<int u>(int64_t i) TAGLINE_INLINED {
            V right[kVectors];
            repeat<kVectors>([&]<int n>() TAGLINE_INLINED {
                right[n] = reinterpret_cast<const V*>(matrix + i * S)[vector + n];
            });
            repeat<kCount>([&]<int g>() TAGLINE_INLINED {
                const V left = v[g][kListed ? rows[i] : i] - V{};
                repeat<kVectors>([&]<int n>() TAGLINE_INLINED {
                    V& sum = sums[u * kEach + g * kVectors + n];
                    sum = Ring::step(sum, left, right[n]);
                });
            });
        };
        int64_t i = 0;
        for (; i + kSums <= L; i += kSums)
            repeat<kAtOnce>([&]<int u>() TAGLINE_INLINED { add.template operator()<u>(i + kFirst + u); });
        if constexpr (kSums > 1 && kFirst == 0)
            for (; i < L; ++i) add.template operator()<0>(i);
        repeat<kEach>([&]<int k>() TAGLINE_INLINED {
            if constexpr (kFirst == 0) totals[k] = sums[k];
            else totals[k] = Ring::join(totals[k], sums[k]);
            repeat<kAtOnce - 1>([&]<int u>() TAGLINE_INLINED {
                totals[k] = Ring::join(totals[k], sums[(u + 1) * kEach + k]);
            });
        });
    });
    repeat<kCount>([&]<int g>() TAGLINE_INLINED {
        repeat<kVectors>([&]<int n>() TAGLINE_INLINED { emit(g, vector + n, totals[g * kVectors + n]); });
    });
}

// v[g] [L] for each of kCount sentences, matrix [L, S] with S = whole vectors; emit(g, vector index, lanes) is called
// for each vector of each result.
template <class Ring, int kCount, class Real, class Emit>
TAGLINE_INLINED inline void multiply(const Real* const* v, const Real* matrix, int64_t L, int64_t S, Emit emit) {
    const int64_t vectors = S / Lanes<Real>::width;
    int64_t n = 0;
    for (; n + kTile <= vectors && (kTile > 2 || n + 3 != vectors); n += kTile)
        multiply_tile<Ring, Vec<Real>, kCount, kTile>(v, matrix, L, S, n, emit);
    for (; n < vectors; ++n) {
        if (n + 3 == vectors) return multiply_tile<Ring, Vec<Real>, kCount, 3>(v, matrix, L, S, n, emit);
        if (kTile > 2 && n + 2 == vectors) return multiply_tile<Ring, Vec<Real>, kCount, 2>(v, matrix, L, S, n, emit);
        multiply_tile<Ring, Vec<Real>, kCount, 1>(v, matrix, L, S, n, emit);
    }
}
