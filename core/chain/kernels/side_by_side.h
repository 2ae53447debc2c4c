// What sentences abreast are made of: one label of many sentences in a vector, rows of emissions turned into that
// form, and products with a matrix in the order of multiply.h. Included by kernels.cpp.

constexpr int64_t kMostLabelsAbreast = 64;

template <class Real>
using Bits = typename Lanes<Real>::Bits;
template <class Real>
using Counts = typename Lanes<Real>::Count;  // whole numbers, one a lane

template <class Real>
inline Counts<Real> all_lanes(int64_t value) {
    return Counts<Real>{} + typename Lanes<Real>::Index(value);
}

template <class Real>
inline bool any(Counts<Real> lanes) {
#if defined(TAGLINE_ARM)
    return vmaxvq_u32((uint32x4_t)lanes) != 0;
#else
    Counts<Real> folded = lanes;
    typename Lanes<Real>::Index bits = 0;
    for (int k = 0; k < Lanes<Real>::width; ++k) bits |= folded[k];
    return bits != 0;
#endif
}

// The exponents of positive normal numbers, and the powers of two by minus an exponent.
template <class Real>
inline Counts<Real> exponents_of(Vec<Real> v) {
    return (Counts<Real>)((Bits<Real>)v >> Exp<Real>::kMantissa) - (sizeof(Real) == 4 ? 127 : 1023);
}
template <class Real>
inline Vec<Real> powers_of_minus(Counts<Real> k) {
    return (Vec<Real>)((Bits<Real>)((sizeof(Real) == 4 ? 127 : 1023) - k) << Exp<Real>::kMantissa);
}

// Vectors in parts of 16 bytes, each of kPart numbers.
template <class Real>
constexpr int kPart = 16 / int(sizeof(Real));
template <class Real>
constexpr int kParts = kVectorBytes / 16;

typedef float Part TAGLINE_LOOSE_VECTOR(16, 4);

// The vector whose part q is at rows[q], and back.
template <class Real>
TAGLINE_INLINED inline Vec<Real> join_parts(const Real* const* rows) {
    const auto part = [&](int q) TAGLINE_INLINED { return *reinterpret_cast<const Part*>(rows[q]); };
#if defined(TAGLINE_WIDE_64)
    __m512 joined = _mm512_castps128_ps512((__m128)part(0));
    joined = _mm512_insertf32x4(joined, (__m128)part(1), 1);
    joined = _mm512_insertf32x4(joined, (__m128)part(2), 2);
    return (Vec<Real>)_mm512_insertf32x4(joined, (__m128)part(3), 3);
#elif defined(TAGLINE_WIDE_32)
    return (Vec<Real>)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)part(0)), (__m128)part(1), 1);
#else
    return (Vec<Real>)part(0);
#endif
}

template <class Real>
TAGLINE_INLINED inline void store_part(Vec<Real> v, [[maybe_unused]] int q, Real* row) {
#if defined(TAGLINE_WIDE_64)
    const __m512 all = (__m512)v;
    const __m128 part = q == 0   ? _mm512_castps512_ps128(all)
                        : q == 1 ? _mm512_extractf32x4_ps(all, 1)
                        : q == 2 ? _mm512_extractf32x4_ps(all, 2)
                                 : _mm512_extractf32x4_ps(all, 3);
    *reinterpret_cast<Part*>(row) = (Part)part;
#elif defined(TAGLINE_WIDE_32)
    const __m256 all = (__m256)v;
    *reinterpret_cast<Part*>(row) = (Part)(q == 0 ? _mm256_castps256_ps128(all) : _mm256_extractf128_ps(all, 1));
#else
    *reinterpret_cast<Part*>(row) = (Part)v;
#endif
}

// Which lane of two vectors comes k-th where the numbers of each part's first half (or second) stand in turns.
template <class Real, bool kSecond>
constexpr int interleaved(int k) {
    constexpr int W = Lanes<Real>::width, P = kPart<Real>;
    return k / P * P + k % P / 2 + k % 2 * W + (kSecond ? P / 2 : 0);
}

#if defined(TAGLINE_CONSTANT_SHUFFLES)
template <class Int, Int... k>
struct Places {
    template <class Real, bool kSecond>
    TAGLINE_INLINED static Vec<Real> interleave(Vec<Real> a, Vec<Real> b) {
        return __builtin_shufflevector(a, b, interleaved<Real, kSecond>(k)...);
    }
};

template <class Real, bool kSecond>
TAGLINE_INLINED inline Vec<Real> interleave(Vec<Real> a, Vec<Real> b) {
    return __make_integer_seq<Places, int, Lanes<Real>::width>::template interleave<Real, kSecond>(a, b);
}
#else
template <class Real, bool kSecond>
TAGLINE_INLINED inline Vec<Real> interleave(Vec<Real> a, Vec<Real> b) {
    Counts<Real> lanes;
    for (int k = 0; k < Lanes<Real>::width; ++k) lanes[k] = interleaved<Real, kSecond>(k);
    return __builtin_shuffle(a, b, lanes);
}
#endif

// kPart vectors as matrices, part by part: each is turned around.
template <class Real>
TAGLINE_INLINED inline void turn_parts(Vec<Real>* v) {
    constexpr int P = kPart<Real>;
    for (int step = 1; step < P; step *= 2) {
        Vec<Real> turned[P];
        repeat<P / 2>([&]<int k>() TAGLINE_INLINED {
            turned[2 * k] = interleave<Real, false>(v[k], v[k + P / 2]);
            turned[2 * k + 1] = interleave<Real, true>(v[k], v[k + P / 2]);
        });
        repeat<P>([&]<int k>() TAGLINE_INLINED { v[k] = turned[k]; });
    }
}

// How many independent sums `multiply` makes for label j of L: those of the tile that it is in.
template <class Real>
inline int sums_at(int64_t j, int64_t L) {
    const int64_t vectors = padded<Real>(L) / Lanes<Real>::width, n = j / Lanes<Real>::width;
    const int64_t tiled = vectors / kTile * kTile, tile = n < tiled ? kTile : vectors - tiled;
    return tile == 1 ? 4 : tile == 2 ? 2 : 1;
}

// out[j] = Σ_i v[i] · M[i][j] for labels j … j + kLabels − 1, lane by lane, in the order of `multiply`.
template <int kSums, int kLabels, class Real, class Emit>
TAGLINE_INLINED inline void multiply_abreast_tile(const Real* v, const Real* matrix, int64_t L, int64_t S, int64_t j,
                                                  const Emit& emit) {
    constexpr int W = Lanes<Real>::width;
    Vec<Real> sums[kSums * kLabels];
    repeat<kSums * kLabels>([&]<int k>() TAGLINE_INLINED { sums[k] = Vec<Real>{}; });
    const auto add = [&]<int u>(int64_t i) TAGLINE_INLINED {
        const Vec<Real> left = at(v + i * W, 0);
        const Real* row = matrix + i * S + j;
        repeat<kLabels>([&]<int k>() TAGLINE_INLINED {
            Vec<Real>& sum = sums[u * kLabels + k];
            sum = SumProduct::step(sum, left, splat(row[k]));
        });
    };
    int64_t i = 0;
    for (; i + kSums <= L; i += kSums)
        repeat<kSums>([&]<int u>() TAGLINE_INLINED { add.template operator()<u>(i + u); });
    if constexpr (kSums > 1)
        for (; i < L; ++i) add.template operator()<0>(i);
    repeat<kLabels>([&]<int k>() TAGLINE_INLINED {
        Vec<Real> total = sums[k];
        repeat<kSums - 1>([&]<int u>() TAGLINE_INLINED { total += sums[(u + 1) * kLabels + k]; });
        emit(j + k, total);
    });
}

// Tiles of as many labels as there are registers for, then of half as many.
template <int kSums, int kLabels, class Real, class Emit>
TAGLINE_INLINED inline int64_t multiply_abreast_range(const Real* v, const Real* matrix, int64_t L, int64_t S,
                                                      int64_t j, int64_t end, const Emit& emit) {
    for (; j + kLabels <= end; j += kLabels) multiply_abreast_tile<kSums, kLabels>(v, matrix, L, S, j, emit);
    if constexpr (kLabels > 1) j = multiply_abreast_range<kSums, kLabels / 2>(v, matrix, L, S, j, end, emit);
    return j;
}

// v [L, W], matrix [L, S]; emit(j, lanes) is called for each label.
template <class Real, class Emit>
TAGLINE_INLINED inline void multiply_abreast(const Real* v, const Real* matrix, int64_t L, int64_t S,
                                             const Emit& emit) {
    const int64_t vectors = S / Lanes<Real>::width;
    const int64_t whole = vectors / kTile * kTile * Lanes<Real>::width, tiled = whole < L ? whole : L;
    int64_t j = 0;
    if constexpr (kTile == 4)
        j = multiply_abreast_range<1, kRegisters / 2>(v, matrix, L, S, j, tiled, emit);
    else
        j = multiply_abreast_range<2, kRegisters / 2>(v, matrix, L, S, j, tiled, emit);
    if (j == L) return;
    switch (sums_at<Real>(j, L)) {
        case 4: multiply_abreast_range<4, kRegisters / 4>(v, matrix, L, S, j, L, emit); break;
        case 2: multiply_abreast_range<2, kRegisters / 2>(v, matrix, L, S, j, L, emit); break;
        default: multiply_abreast_range<1, kRegisters / 2>(v, matrix, L, S, j, L, emit);
    }
}

// Rows of W sentences at token t, turned: label by label, with zeros where a sentence has ended.
template <class Real>
struct RowsAbreast {
    static constexpr int W = Lanes<Real>::width;
    const Real* rows[W];  // of token 0
    int64_t lengths[W];   // 0 where there is no sentence
    const Real* nothing;  // [L] zeros

    RowsAbreast(int count, const Scores<Real>* sentences, Arena& scratch) {
        const int64_t L = sentences[0].L;
        Real* zeros = take<Real>(scratch, L);
        for (int64_t j = 0; j < L; ++j) zeros[j] = 0;
        nothing = zeros;
        for (int g = 0; g < W; ++g) {
            rows[g] = g < count ? sentences[g].emissions : zeros;
            lengths[g] = g < count ? sentences[g].T : 0;
        }
    }

    TAGLINE_INLINED void load(int64_t t, int64_t L, Real* out) const {
        const Real* row[W];
        for (int g = 0; g < W; ++g) row[g] = t < lengths[g] ? rows[g] + t * L : nothing;
        constexpr int P = kPart<Real>;
        int64_t j = 0;
        for (; j + P <= L; j += P) {
            Vec<Real> block[P];
            repeat<P>([&]<int r>() TAGLINE_INLINED {
                const Real* parts[kParts<Real>];
                repeat<kParts<Real>>([&]<int q>() TAGLINE_INLINED { parts[q] = row[q * P + r] + j; });
                block[r] = join_parts<Real>(parts);
            });
            turn_parts<Real>(block);
            repeat<P>([&]<int k>() TAGLINE_INLINED { at(out + (j + k) * W, 0) = block[k]; });
        }
        for (; j < L; ++j)
            for (int g = 0; g < W; ++g) out[j * W + g] = row[g][j];
    }
};
