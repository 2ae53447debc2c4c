// Vectors in parts of 16 bytes, and matrices turned around part by part: rows of labels become labels of rows. Included
// by kernels.cpp.

template <class Real>
using Bits = typename Lanes<Real>::Bits;
template <class Real>
using Counts = typename Lanes<Real>::Count;  // whole numbers, one a lane

// Numbers in a part, and parts in a vector.
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

// Lanes of two vectors: the k-th is number Order::at(k) of both, a's before b's.
#if defined(TAGLINE_CONSTANT_SHUFFLES)
template <class Int, Int... k>
struct Places {
    template <class Order, class Real>
    TAGLINE_INLINED static Vec<Real> pick(Vec<Real> a, Vec<Real> b) {
        return __builtin_shufflevector(a, b, Order::at(k)...);
    }
};

template <class Order, class Real>
TAGLINE_INLINED inline Vec<Real> shuffled(Vec<Real> a, Vec<Real> b) {
    return __make_integer_seq<Places, int, Lanes<Real>::width>::template pick<Order, Real>(a, b);
}
#else
template <class Order, class Real>
TAGLINE_INLINED inline Vec<Real> shuffled(Vec<Real> a, Vec<Real> b) {
    Counts<Real> lanes;
    for (int k = 0; k < Lanes<Real>::width; ++k) lanes[k] = Order::at(k);
    return __builtin_shuffle(a, b, lanes);
}
#endif

// The numbers of each part's first half (or second), in turns.
template <class Real, bool kSecond>
struct Interleaved {
    static constexpr int at(int k) {
        constexpr int W = Lanes<Real>::width, P = kPart<Real>;
        return k / P * P + k % P / 2 + k % 2 * W + (kSecond ? P / 2 : 0);
    }
};

// kPart vectors as matrices, part by part: each is turned around.
template <class Real>
TAGLINE_INLINED inline void turn_parts(Vec<Real>* v) {
    constexpr int P = kPart<Real>;
    for (int step = 1; step < P; step *= 2) {
        Vec<Real> turned[P];
        repeat<P / 2>([&]<int k>() TAGLINE_INLINED {
            turned[2 * k] = shuffled<Interleaved<Real, false>, Real>(v[k], v[k + P / 2]);
            turned[2 * k + 1] = shuffled<Interleaved<Real, true>, Real>(v[k], v[k + P / 2]);
        });
        repeat<P>([&]<int k>() TAGLINE_INLINED { v[k] = turned[k]; });
    }
}
