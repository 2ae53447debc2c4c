// Vectors of labels: the widest that the instruction set of this translation unit has, by the compiler's own vector
// types. Included by kernels.cpp only, inside its per-variant namespace: everything here has internal linkage.
//
// `Lanes<Real>` names the vector of Real and of integers of the same width. Rows of scratch memory are padded to
// whole vectors and 64-byte aligned; the caller's rows are neither, hence load_row and store_row.

// Tiles of kTile vectors for kGroup sentences are kept in registers: AVX-512 and NEON have 32, AVX and SSE have 16.
#if defined(TAGLINE_WIDE_64)
constexpr int kVectorBytes = 64, kTile = 4;
#elif defined(TAGLINE_ARM)
constexpr int kVectorBytes = 16, kTile = 4;
#elif defined(TAGLINE_WIDE_32)
constexpr int kVectorBytes = 32, kTile = 2;
#else
constexpr int kVectorBytes = 16, kTile = 2;
#endif
constexpr int kRegisters = kTile == 4 ? 24 : 12;  // those for the sums of a tile; others hold what is added

template <class Real>
struct Lanes;

template <>
struct Lanes<float> {
    typedef float Vec TAGLINE_VECTOR(kVectorBytes);
    typedef float Loose TAGLINE_LOOSE_VECTOR(kVectorBytes, 4);
    typedef uint32_t Bits TAGLINE_VECTOR(kVectorBytes);
    typedef int32_t Index;
    typedef Index Count TAGLINE_VECTOR(kVectorBytes);
    static constexpr int width = kVectorBytes / 4;
};

template <>
struct Lanes<double> {
    typedef double Vec TAGLINE_VECTOR(kVectorBytes);
    typedef double Loose TAGLINE_LOOSE_VECTOR(kVectorBytes, 8);
    typedef uint64_t Bits TAGLINE_VECTOR(kVectorBytes);
    typedef int64_t Index;
    typedef Index Count TAGLINE_VECTOR(kVectorBytes);
    static constexpr int width = kVectorBytes / 8;
};

template <class Real>
using Vec = typename Lanes<Real>::Vec;

// Vectors for tables of pairs: at most 32 bytes. Where few lanes of a vector are legal, twice as many vectors of half
// the width hold little more, and processors add two of them in the time of one wide one.
template <class Real>
struct PairLanes {
    static constexpr int bytes = kVectorBytes < 32 ? kVectorBytes : 32, width = bytes / int(sizeof(Real));
    typedef Real Vec TAGLINE_VECTOR(bytes);
};

template <class Real>
using PairVec = typename PairLanes<Real>::Vec;

template <class Real>
inline PairVec<Real>& pair_at(Real* row, int64_t vector) {
    return reinterpret_cast<PairVec<Real>*>(row)[vector];
}

template <class Real>
inline const PairVec<Real>& pair_at(const Real* row, int64_t vector) {
    return reinterpret_cast<const PairVec<Real>*>(row)[vector];
}

// value − 0, which is value even for −0: the compiler leaves the subtraction out and loads straight into all lanes.
template <class Real>
inline Vec<Real> splat(Real value) {
    return value - Vec<Real>{};
}

#if defined(TAGLINE_WIDE_32)
// Two neighbours, each in all lanes: one load and two shuffles.
struct Neighbours {
    static void splat(const float* two, Vec<float>& first, Vec<float>& second) {
        const __m256 both = (__m256)_mm256_broadcast_sd(reinterpret_cast<const double*>(two));
        first = (Vec<float>)_mm256_moveldup_ps(both);
        second = (Vec<float>)_mm256_movehdup_ps(both);
    }
    static void splat(const double* two, Vec<double>& first, Vec<double>& second) {
        const __m256d both = _mm256_broadcast_pd(reinterpret_cast<const __m128d*>(two));
        first = (Vec<double>)_mm256_movedup_pd(both);
        second = (Vec<double>)_mm256_permute_pd(both, 15);
    }
};
#endif

template <class Real>
inline Vec<Real>& at(Real* row, int64_t vector) {
    return reinterpret_cast<Vec<Real>*>(row)[vector];
}

template <class Real>
inline const Vec<Real>& at(const Real* row, int64_t vector) {
    return reinterpret_cast<const Vec<Real>*>(row)[vector];
}

#if defined(TAGLINE_X86)
// Spelled out: the compilers do not all see a maximum in `a > b ? a : b` over vectors.
#if defined(TAGLINE_WIDE_64)
inline PairVec<float> larger(PairVec<float> a, PairVec<float> b) {
    return (PairVec<float>)_mm256_max_ps((__m256)a, (__m256)b);
}
inline PairVec<double> larger(PairVec<double> a, PairVec<double> b) {
    return (PairVec<double>)_mm256_max_pd((__m256d)a, (__m256d)b);
}
inline Vec<float> larger(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm512_max_ps((__m512)a, (__m512)b); }
inline Vec<double> larger(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm512_max_pd((__m512d)a, (__m512d)b); }
inline Vec<float> smaller(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm512_min_ps((__m512)a, (__m512)b); }
inline Vec<double> smaller(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm512_min_pd((__m512d)a, (__m512d)b); }
inline float sum_of(Vec<float> v) { return _mm512_reduce_add_ps((__m512)v); }
inline double sum_of(Vec<double> v) { return _mm512_reduce_add_pd((__m512d)v); }
inline float largest_of(Vec<float> v) { return _mm512_reduce_max_ps((__m512)v); }
inline double largest_of(Vec<double> v) { return _mm512_reduce_max_pd((__m512d)v); }
inline float smallest_of(Vec<float> v) { return _mm512_reduce_min_ps((__m512)v); }
inline double smallest_of(Vec<double> v) { return _mm512_reduce_min_pd((__m512d)v); }
#else
// Fold a vector in halves down to 16 bytes, then within those.
template <class Fold>
inline float fold16(__m128 v, Fold fold) {
    v = fold(v, _mm_movehl_ps(v, v));
    v = fold(v, _mm_shuffle_ps(v, v, 1));
    return _mm_cvtss_f32(v);
}
template <class Fold>
inline double fold16(__m128d v, Fold fold) {
    return _mm_cvtsd_f64(fold(v, _mm_unpackhi_pd(v, v)));
}
struct Add {
    __m128 operator()(__m128 a, __m128 b) const { return _mm_add_ps(a, b); }
    __m128d operator()(__m128d a, __m128d b) const { return _mm_add_pd(a, b); }
};
struct Larger {
    __m128 operator()(__m128 a, __m128 b) const { return _mm_max_ps(a, b); }
    __m128d operator()(__m128d a, __m128d b) const { return _mm_max_pd(a, b); }
};
struct Smaller {
    __m128 operator()(__m128 a, __m128 b) const { return _mm_min_ps(a, b); }
    __m128d operator()(__m128d a, __m128d b) const { return _mm_min_pd(a, b); }
};
#if defined(TAGLINE_WIDE_32)
inline Vec<float> larger(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm256_max_ps((__m256)a, (__m256)b); }
inline Vec<double> larger(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm256_max_pd((__m256d)a, (__m256d)b); }
inline Vec<float> smaller(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm256_min_ps((__m256)a, (__m256)b); }
inline Vec<double> smaller(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm256_min_pd((__m256d)a, (__m256d)b); }
template <class Fold>
inline float fold(Vec<float> v, Fold pair) {
    return fold16(pair(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1)), pair);
}
template <class Fold>
inline double fold(Vec<double> v, Fold pair) {
    return fold16(pair(_mm256_castpd256_pd128((__m256d)v), _mm256_extractf128_pd((__m256d)v, 1)), pair);
}
#else
inline Vec<float> larger(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm_max_ps((__m128)a, (__m128)b); }
inline Vec<double> larger(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm_max_pd((__m128d)a, (__m128d)b); }
inline Vec<float> smaller(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm_min_ps((__m128)a, (__m128)b); }
inline Vec<double> smaller(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm_min_pd((__m128d)a, (__m128d)b); }
template <class Fold>
inline float fold(Vec<float> v, Fold pair) { return fold16((__m128)v, pair); }
template <class Fold>
inline double fold(Vec<double> v, Fold pair) { return fold16((__m128d)v, pair); }
#endif
inline float sum_of(Vec<float> v) { return fold(v, Add{}); }
inline double sum_of(Vec<double> v) { return fold(v, Add{}); }
inline float largest_of(Vec<float> v) { return fold(v, Larger{}); }
inline double largest_of(Vec<double> v) { return fold(v, Larger{}); }
inline float smallest_of(Vec<float> v) { return fold(v, Smaller{}); }
inline double smallest_of(Vec<double> v) { return fold(v, Smaller{}); }
#endif
#elif defined(TAGLINE_ARM)
inline Vec<float> larger(Vec<float> a, Vec<float> b) { return (Vec<float>)vmaxnmq_f32((float32x4_t)a, (float32x4_t)b); }
inline Vec<double> larger(Vec<double> a, Vec<double> b) {
    return (Vec<double>)vmaxnmq_f64((float64x2_t)a, (float64x2_t)b);
}
inline Vec<float> smaller(Vec<float> a, Vec<float> b) { return (Vec<float>)vminnmq_f32((float32x4_t)a, (float32x4_t)b); }
inline Vec<double> smaller(Vec<double> a, Vec<double> b) {
    return (Vec<double>)vminnmq_f64((float64x2_t)a, (float64x2_t)b);
}
inline float sum_of(Vec<float> v) {  // by halves, as everywhere
    return vaddv_f32(vadd_f32(vget_low_f32((float32x4_t)v), vget_high_f32((float32x4_t)v)));
}
inline double sum_of(Vec<double> v) { return vaddvq_f64((float64x2_t)v); }
inline float largest_of(Vec<float> v) { return vmaxnmvq_f32((float32x4_t)v); }
inline double largest_of(Vec<double> v) { return vmaxnmvq_f64((float64x2_t)v); }
inline float smallest_of(Vec<float> v) { return vminnmvq_f32((float32x4_t)v); }
inline double smallest_of(Vec<double> v) { return vminnmvq_f64((float64x2_t)v); }
#else
template <class V>
inline V larger(V a, V b) { return a > b ? a : b; }
template <class V>
inline V smaller(V a, V b) { return a < b ? a : b; }
template <class V>
inline auto sum_of(V v) {
    for (size_t half = sizeof(V) / sizeof(v[0]) / 2; half > 0; half /= 2)  // as everywhere
        for (size_t k = 0; k < half; ++k) v[k] += v[k + half];
    return v[0];
}
template <class V>
inline auto largest_of(V v) {
    auto best = v[0];
    for (size_t k = 1; k < sizeof(V) / sizeof(v[0]); ++k) best = v[k] > best ? v[k] : best;
    return best;
}
template <class V>
inline auto smallest_of(V v) {
    auto best = v[0];
    for (size_t k = 1; k < sizeof(V) / sizeof(v[0]); ++k) best = v[k] < best ? v[k] : best;
    return best;
}
#endif

// The caller's row of L numbers, vector by vector; lanes past its end become `fill`.
template <class Real>
inline Vec<Real> load_row(const Real* row, int64_t vector, int64_t L, Real fill) {
    constexpr int W = Lanes<Real>::width;
    const int64_t left = L - vector * W;
    if (left >= W) return *reinterpret_cast<const typename Lanes<Real>::Loose*>(row + vector * W);
#if defined(TAGLINE_WIDE_64)
    if constexpr (sizeof(Real) == 4)
        return (Vec<Real>)_mm512_mask_loadu_ps((__m512)splat(fill), (__mmask16)((1u << left) - 1), row + vector * W);
    else
        return (Vec<Real>)_mm512_mask_loadu_pd((__m512d)splat(fill), (__mmask8)((1u << left) - 1), row + vector * W);
#elif defined(TAGLINE_WIDE_32)
    typename Lanes<Real>::Count lane;
    for (int k = 0; k < W; ++k) lane[k] = k;
    const auto valid = lane < typename Lanes<Real>::Count{} + typename Lanes<Real>::Index(left);
    if constexpr (sizeof(Real) == 4)
        return valid ? (Vec<Real>)_mm256_maskload_ps(row + vector * W, (__m256i)valid) : splat(fill);
    else
        return valid ? (Vec<Real>)_mm256_maskload_pd(row + vector * W, (__m256i)valid) : splat(fill);
#else
    Vec<Real> lanes = splat(fill);
    for (int64_t k = 0; k < left; ++k) lanes[k] = row[vector * W + k];
    return lanes;
#endif
}

template <class Real>
inline void store_row(Real* row, int64_t vector, int64_t L, Vec<Real> lanes) {
    constexpr int W = Lanes<Real>::width;
    const int64_t left = L - vector * W;
    if (left >= W) {
        *reinterpret_cast<typename Lanes<Real>::Loose*>(row + vector * W) = lanes;
        return;
    }
#if defined(TAGLINE_WIDE_64)
    if constexpr (sizeof(Real) == 4)
        _mm512_mask_storeu_ps(row + vector * W, (__mmask16)((1u << left) - 1), (__m512)lanes);
    else
        _mm512_mask_storeu_pd(row + vector * W, (__mmask8)((1u << left) - 1), (__m512d)lanes);
#else
    for (int64_t k = 0; k < left; ++k) row[vector * W + k] = lanes[k];
#endif
}

// One bit for each lane in which a ≥ b.
template <class Real>
inline unsigned lanes_at_least(Vec<Real> a, Vec<Real> b) {
#if defined(TAGLINE_WIDE_64)
    if constexpr (sizeof(Real) == 4)
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ);
    else
        return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GE_OQ);
#elif defined(TAGLINE_WIDE_32)
    if constexpr (sizeof(Real) == 4)
        return unsigned(_mm256_movemask_ps((__m256)(a >= b)));
    else
        return unsigned(_mm256_movemask_pd((__m256d)(a >= b)));
#elif defined(TAGLINE_X86)
    if constexpr (sizeof(Real) == 4)
        return unsigned(_mm_movemask_ps((__m128)(a >= b)));
    else
        return unsigned(_mm_movemask_pd((__m128d)(a >= b)));
#elif defined(TAGLINE_ARM)
    // All lanes are −1 or 0; lane k adds 2^k.
    if constexpr (sizeof(Real) == 4) {
        constexpr uint32_t kWeights[4] = {1, 2, 4, 8};
        return vaddvq_u32(vandq_u32((uint32x4_t)(a >= b), vld1q_u32(kWeights)));
    } else {
        constexpr uint64_t kWeights[2] = {1, 2};
        return unsigned(vaddvq_u64(vandq_u64((uint64x2_t)(a >= b), vld1q_u64(kWeights))));
    }
#else
    unsigned bits = 0;
    for (int k = 0; k < Lanes<Real>::width; ++k) bits |= unsigned(a[k] >= b[k]) << k;
    return bits;
#endif
}

// exp(v) = 2^k · exp(r) with an integer k and |r| ≤ ln 2 / 2; the powers of two are kept apart, as integers.
//
// `Powers` of a whole number K scales by 2^−K: exp(v)·2^−K comes out right to about one unit in the last place for any
// v up to kLargestScore, since no difference of scores is rounded on the way. −∞ gives exactly 0, and so does whatever
// lies more than kLeastPower below K.
//
// Where a vector holds a table of 16 numbers, k counts sixteenths: exp(v) = 2^(k/16) · exp(r) with |r| ≤ ln 2 / 32, and a
// shorter polynomial does. Seven multiply-adds in place of nine, which the processor can do one of at a time.
constexpr double kLog2E = 1.44269504088896340736, kLn2 = 0.693147180559945309417;

template <class Real>
struct Exp;

template <>
struct Exp<float> {
    static constexpr float kShifter = 12582912.0f;  // 1.5·2^23: adding it rounds to an integer in the low bits
    static constexpr int kMantissa = 23;
    static constexpr float kLeastPower = -125;
#if defined(TAGLINE_WIDE_64)
    static constexpr int kSteps = 16;
#else
    static constexpr int kSteps = 1;
#endif
    static constexpr float kHigh = 0.693359375f / kSteps, kLow = -2.12194440054690583e-4f / kSteps;  // ln 2 in two parts

#if defined(TAGLINE_WIDE_64)
    // 2^(m/16), less m in the highest bits of its mantissa, which k brings along; and what it lacks of that, as a share.
    static constexpr uint32_t kTable[16] = {0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532,
                                            0x3f75fed7, 0x3f75583f, 0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c,
                                            0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};
    static constexpr float kShares[16] = {0,           4.62854715e-8f,  -1.19921575e-8f, 4.72978243e-8f,
                                          3.19341815e-8f,  3.62105723e-8f,  -3.09907193e-8f, -7.47521334e-9f,
                                          1.71142709e-8f,  -3.04768335e-8f, 5.23333421e-9f,  6.10759177e-9f,
                                          -1.47196051e-8f, -5.25879518e-9f, -6.12825968e-9f, 5.14060927e-9f};

    // 2^(k/16) · exp(r) · 2^−K, of the bits of kShifter + k less those of kShifter + 16 K.
    static Vec<float> combine(typename Lanes<float>::Bits k, typename Lanes<float>::Bits less, Vec<float> r) {
        const __m512i table = _mm512_loadu_si512(kTable);
        const __m512 shares = _mm512_loadu_ps(kShares);
        const Vec<float> root = (Vec<float>)((typename Lanes<float>::Bits)_mm512_permutexvar_epi32((__m512i)k, table) +
                                             ((k - less) << (kMantissa - 4)));
        // exp(r) − 1 − r by the least largest error: 2e-9.
        const Vec<float> p = (splat(0.166670248f) * r + 0.500016212f) * r + 1.0f;
        return root * (p * r + (Vec<float>)_mm512_permutexvar_ps((__m512i)k, shares)) + root;
    }
#else
    // exp on |r| ≤ ln 2 / 2 by least squares with the first two terms fixed: relative error 4e-9 before rounding.
    static Vec<float> polynomial(Vec<float> r) {
        Vec<float> p = splat(0.00137511501f);
        p = p * r + 0.00836898759f;
        p = p * r + 0.0416695438f;
        p = p * r + 0.166665182f;
        p = p * r + 0.499999881f;
        p = p * r + 1.0f;
        return p * r + 1.0f;
    }
    static Vec<float> combine(typename Lanes<float>::Bits k, typename Lanes<float>::Bits less, Vec<float> r) {
        return (Vec<float>)((typename Lanes<float>::Bits)polynomial(r) + ((k - less) << kMantissa));
    }
#endif
};

template <>
struct Exp<double> {
    static constexpr double kShifter = 6755399441055744.0;  // 1.5·2^52
    static constexpr int kMantissa = 52, kSteps = 1;
    static constexpr double kLeastPower = -1021;
    static constexpr double kHigh = 6.93147180369123816490e-1, kLow = 1.90821492927058770002e-10;

    // By Chebyshev nodes with the first two terms fixed: relative error 2e-17 before rounding.
    static Vec<double> polynomial(Vec<double> r) {
        Vec<double> p = splat(2.5100385495510319e-8);
        p = p * r + 2.7620088445409748e-7;
        p = p * r + 2.7557268459997065e-6;
        p = p * r + 2.4801521295954375e-5;
        p = p * r + 1.9841269863053617e-4;
        p = p * r + 1.3888888917213717e-3;
        p = p * r + 8.3333333333300618e-3;
        p = p * r + 4.1666666666624128e-2;
        p = p * r + 1.6666666666666667e-1;
        p = p * r + 0.50000000000000010;
        p = p * r + 1.0;
        return p * r + 1.0;
    }
    static Vec<double> combine(typename Lanes<double>::Bits k, typename Lanes<double>::Bits less, Vec<double> r) {
        return (Vec<double>)((typename Lanes<double>::Bits)polynomial(r) + ((k - less) << kMantissa));
    }
};

// Scores up to this one: k is a whole number in the low bits, and k times the first part of ln 2 is exact, or a
// multiply-add does not round it.
#if defined(__FMA__) || defined(TAGLINE_ARM)
template <class Real>
constexpr Real kLargestScore = sizeof(Real) == 8 ? Real(1e12) : Exp<float>::kSteps > 1 ? Real(1.8e5) : Real(2e6);
#else
template <class Real>
constexpr Real kLargestScore = sizeof(Real) == 4 ? Real(2e4) : Real(1e5);
#endif

// The whole number of factors of two in exp(v), as a number; v within kLargestScore.
template <class Real>
inline Real power_in(Real v) {
    return (v * Real(kLog2E) + Exp<Real>::kShifter) - Exp<Real>::kShifter;
}
template <class Real>
inline Vec<Real> powers_in(Vec<Real> v) {
    return (v * Real(kLog2E) + Exp<Real>::kShifter) - Exp<Real>::kShifter;
}

template <class Real>
class Powers {
public:
    explicit Powers(Real K) : Powers(splat(K)) {}
    explicit Powers(Vec<Real> K) : power_(K), bits_((Bits)(K * Real(Exp<Real>::kSteps) + Exp<Real>::kShifter)) {}

    // exp(v)·2^−K; `lowest` becomes the least k − K seen.
    Vec<Real> exp(Vec<Real> v, Vec<Real>& lowest) const {
        const Vec<Real> below = powers_in<Real>(v) - power_;
        lowest = smaller(lowest, below);
        return below >= Exp<Real>::kLeastPower ? exp_in_range(v) : Vec<Real>{};
    }

    // The same where k − K is known to be above kLeastPower; any number comes out where it is not.
    Vec<Real> exp_in_range(Vec<Real> v) const {
        typedef Exp<Real> E;
        const Vec<Real> rounded = v * Real(kLog2E * E::kSteps) + E::kShifter, k = rounded - E::kShifter;
        const Vec<Real> r = (v - k * E::kHigh) - k * E::kLow;
        return E::combine((Bits)rounded, bits_, r);
    }

    Vec<Real> exp(Vec<Real> v) const {
        Vec<Real> lowest{};
        return exp(v, lowest);
    }

private:
    typedef typename Lanes<Real>::Bits Bits;
    Vec<Real> power_;
    Bits bits_;
};
