// What sentences abreast are made of: one label of many sentences in a vector, rows of emissions turned into that
// form, and products with a matrix in the order of multiply.h. Included by kernels.cpp.

template <class Real>
inline Counts<Real> all_lanes(int64_t value) {
    return Counts<Real>{} + typename Lanes<Real>::Index(value);
}

// Whether some lane of a comparison's result, 0 or −1 each, is true.
template <class Real>
inline bool any(Counts<Real> lanes) {
#if defined(TAGLINE_WIDE_64)
    return _mm512_test_epi32_mask((__m512i)lanes, (__m512i)lanes) != 0;
#elif defined(TAGLINE_WIDE_32)
    return !_mm256_testz_si256((__m256i)lanes, (__m256i)lanes);
#elif defined(TAGLINE_X86)
    return !_mm_testz_si128((__m128i)lanes, (__m128i)lanes);
#elif defined(TAGLINE_ARM)
    return vmaxvq_u32((uint32x4_t)lanes) != 0;
#else
    typename Lanes<Real>::Index bits = 0;
    for (int k = 0; k < Lanes<Real>::width; ++k) bits |= lanes[k];
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

// The powers of two to take off lanes that fell far down, 0 for the others; lanes that fell too far fail.
template <class Real>
inline Counts<Real> powers_to_raise(Vec<Real>& high, Counts<Real> small, Counts<Real>& failed) {
    const Counts<Real> lost = small & ~(high >= ExpLimits<Real>::kLeastMaximum);
    failed |= lost;
    high = lost ? splat(Real(1)) : high;
    return small & ~lost & exponents_of<Real>(high);
}

// How many independent sums `multiply` makes for label j of L: those of the tile that it is in.
template <class Real>
inline int sums_at(int64_t j, int64_t L) {
    const int64_t vectors = padded<Real>(L) / Lanes<Real>::width, n = j / Lanes<Real>::width;
    if (kTile == 2) return vectors == 1 ? 4 : 2;
    const int64_t tiled = vectors / kTile * kTile, tile = n < tiled ? kTile : vectors - tiled;
    return tile == 1 ? 4 : tile == 2 ? 2 : 1;
}

// Call use<k>(row[k] in all lanes) for k < n. AVX2 alone has no arithmetic on a number in memory for all lanes: each must be
// loaded first, and where processors load no faster than they multiply, loads are what a product waits for (0.93 of the
// time of log Z with 22 labels). So kPairs pairs of neighbours are loaded together.
template <int n, int kPairs, class Real, class Use>
TAGLINE_INLINED inline void splat_each(const Real* row, const Use& use) {
#if defined(TAGLINE_WIDE_32)
    constexpr int kPaired = 2 * kPairs < n ? 2 * kPairs : n / 2 * 2;
    repeat<kPaired / 2>([&]<int p>() TAGLINE_INLINED {
        Vec<Real> first, second;
        Neighbours::splat(row + 2 * p, first, second);
        use.template operator()<2 * p>(first);
        use.template operator()<2 * p + 1>(second);
    });
#else
    constexpr int kPaired = 0;
#endif
    repeat<n - kPaired>([&]<int k>() TAGLINE_INLINED { use.template operator()<kPaired + k>(splat(row[kPaired + k])); });
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
        splat_each<kLabels, 1 + u % 2>(matrix + i * S + j, [&]<int k>(Vec<Real> right) TAGLINE_INLINED {
            Vec<Real>& sum = sums[u * kLabels + k];
            sum = SumProduct::step(sum, left, right);
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

// The first of as few tiles of at most kMost labels as n labels need, all of about the same size: a narrow one would wait
// for its own sums. A table, since divisions at each step of a chain take as long as many multiply-adds.
template <int kMost>
struct TileSizes {
    uint8_t first[kMostLabelsAbreast + 1];

    constexpr TileSizes() : first{} {
        for (int64_t n = 1; n <= kMostLabelsAbreast; ++n) {
            const int64_t tiles = (n + kMost - 1) / kMost;
            first[n] = uint8_t((n + tiles - 1) / tiles);
        }
    }
};
template <int kMost>
inline constexpr TileSizes<kMost> kTileSizes;

// Call tile<size>(j) for labels begin … end − 1, tile by tile.
template <int kMost, class Tile>
TAGLINE_INLINED inline void in_tiles(int64_t begin, int64_t end, const Tile& tile) {
    for (int64_t j = begin; j < end;) {
        const int size = end - j > kMostLabelsAbreast ? kMost : kTileSizes<kMost>.first[end - j];
        repeat<kMost>([&]<int k>() TAGLINE_INLINED {
            if (size == k + 1) tile.template operator()<k + 1>(j);
        });
        j += size;
    }
}

template <int kSums, int kMost, class Real, class Emit>
TAGLINE_INLINED inline void multiply_abreast_range(const Real* v, const Real* matrix, int64_t L, int64_t S, int64_t j,
                                                   int64_t end, const Emit& emit) {
    in_tiles<kMost>(j, end, [&]<int kLabels>(int64_t from) TAGLINE_INLINED {
        multiply_abreast_tile<kSums, kLabels>(v, matrix, L, S, from, emit);
    });
}

// v [L, W], matrix [L, S]; emit(j, lanes) is called for each label.
template <class Real, class Emit>
TAGLINE_INLINED inline void multiply_abreast(const Real* v, const Real* matrix, int64_t L, int64_t S,
                                             const Emit& emit) {
    const int64_t vectors = S / Lanes<Real>::width;
    int64_t tiled = 0;
    if constexpr (kTile == 4) {
        const int64_t whole = vectors / kTile * kTile * Lanes<Real>::width;
        tiled = whole < L ? whole : L;
        if (tiled > 0) multiply_abreast_range<1, 16>(v, matrix, L, S, 0, tiled, emit);
        if (tiled == L) return;
    }
    const int sums = sums_at<Real>(tiled, L);
    if (sums == 4) return multiply_abreast_range<4, kRegisters / 4>(v, matrix, L, S, tiled, L, emit);
    if (kTile == 2 || sums == 2) return multiply_abreast_range<2, kRegisters / 2>(v, matrix, L, S, tiled, L, emit);
    if constexpr (kTile == 4) multiply_abreast_range<1, 16>(v, matrix, L, S, tiled, L, emit);
}

// The first half (or second) of every kSpan lanes.
template <int kSpan, bool kSecond>
struct Halves {
    static constexpr int at(int k) {
        constexpr int kHalf = kSpan / 2;
        return k / kHalf * kSpan + k % kHalf + (kSecond ? kHalf : 0);
    }
};

// One step of it: a vector is W / kSpan sums of kSpan lanes each, and becomes half as many lanes a sum of two vectors.
template <int kSpan, int kCount, class Real>
TAGLINE_INLINED inline Vec<Real> join_lanes(Vec<Real>* parts) {
    constexpr int kNext = (kCount + 1) / 2;
    if constexpr (kSpan == 1) {
        return parts[0];
    } else {
        repeat<kNext>([&]<int k>() TAGLINE_INLINED {
            const Vec<Real> left = parts[2 * k], right = parts[2 * k + 1 < kCount ? 2 * k + 1 : 2 * k];
            parts[k] = shuffled<Halves<kSpan, false>, Real>(left, right) + shuffled<Halves<kSpan, true>, Real>(left, right);
        });
        return join_lanes<kSpan / 2, kNext, Real>(parts);
    }
}

// Sums over the lanes of each of n vectors, in the first n lanes: neighbours are joined half by half.
template <int n, class Real>
TAGLINE_INLINED inline Vec<Real> sums_of_lanes(const Vec<Real>* vectors) {
    constexpr int W = Lanes<Real>::width;
    Vec<Real> parts[W];
    repeat<W>([&]<int k>() TAGLINE_INLINED {
        if constexpr (k < n) parts[k] = vectors[k];
        else parts[k] = Vec<Real>{};
    });
    return join_lanes<W, n, Real>(parts);
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

    // Rows of a token: that of sentence g is at row[g] + offset.
    struct Token {
        const Real* const* row;
        int64_t offset;
        const Real* some[W];
    };

    TAGLINE_INLINED void find(int64_t t, int64_t L, Token& token) const {
        token.row = rows;
        token.offset = t * L;
        if (t < lengths[W - 1]) return;
        for (int g = 0; g < W; ++g) token.some[g] = t < lengths[g] ? rows[g] + t * L : nothing;
        token.row = token.some;
        token.offset = 0;
    }

    // take(j, lanes) is called for labels begin … begin + kPart − 1, or for the last kPart, or for all where there are
    // fewer.
    template <class Take>
    TAGLINE_INLINED static void turn(const Token& token, int64_t begin, int64_t L, const Take& take) {
        constexpr int P = kPart<Real>;
        if (L < P) {
            for (int64_t j = 0; j < L; ++j) {
                Vec<Real> lanes;
                for (int g = 0; g < W; ++g) lanes[g] = token.row[g][token.offset + j];
                take(j, lanes);
            }
            return;
        }
        const int64_t j = begin + P <= L ? begin : L - P;
        Vec<Real> block[P];
        repeat<P>([&]<int r>() TAGLINE_INLINED {
            const Real* parts[kParts<Real>];
            repeat<kParts<Real>>([&]<int q>() TAGLINE_INLINED { parts[q] = token.row[q * P + r] + token.offset + j; });
            block[r] = join_parts<Real>(parts);
        });
        turn_parts<Real>(block);
        repeat<P>([&]<int k>() TAGLINE_INLINED { take(j + k, block[k]); });
    }

    // take(j, lanes) is called for each label, for some of them twice.
    template <class Take>
    TAGLINE_INLINED void load(int64_t t, int64_t L, const Take& take) const {
        Token token;
        find(t, L, token);
        for (int64_t begin = 0; begin < L; begin += kPart<Real>) turn(token, begin, L, take);
    }
};
