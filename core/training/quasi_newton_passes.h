// The two passes of quasi_newton.cpp, which includes this file once for each instruction set, each time in another
// namespace.
// TAGLINE_TARGET names the instruction set, TAGLINE_BYTES the width of its vectors.

typedef double Vec TAGLINE_VECTOR(TAGLINE_BYTES);
typedef double Loose TAGLINE_LOOSE_VECTOR(TAGLINE_BYTES, 8);
typedef float Short TAGLINE_LOOSE_VECTOR(TAGLINE_BYTES / 2, 4);
constexpr int64_t lanes = TAGLINE_BYTES / 8;

#define TAGLINE_INLINE TAGLINE_TARGET inline __attribute__((always_inline))

TAGLINE_INLINE Vec load(const double* from) { return *reinterpret_cast<const Loose*>(from); }
TAGLINE_INLINE Vec load(const float* from) {
    return __builtin_convertvector(*reinterpret_cast<const Short*>(from), Vec);
}
TAGLINE_INLINE void store(double* to, Vec from) { *reinterpret_cast<Loose*>(to) = from; }
TAGLINE_INLINE void store(float* to, Vec from) {
    *reinterpret_cast<Short*>(to) = __builtin_convertvector(from, Short);
}

// Fetch the same part of the next block, one cache line at a time: so many arrays in turn are more streams than a
// processor foresees by itself (a pass takes three quarters of the time).
template <class Real>
TAGLINE_INLINE void foresee(const Real* block, int64_t j) {
    if (j * int64_t(sizeof(Real)) % 64 == 0) __builtin_prefetch(block + j + kBlock);
}

TAGLINE_INLINE Vec pseudo_gradient(Vec w, Vec g, Vec c1) {
    const Vec right = g + c1, left = g - c1, zero = {};
    Vec p = right < 0 ? right : left;
    p = ((right >= 0) & (left <= 0)) ? zero : p;  // not where they are NaN
    return w > 0 ? right : w < 0 ? left : p;
}

// Sums by lane, carried from block to block.
template <int count>
struct alignas(TAGLINE_BYTES) LaneSums {  // without it, std::vector aligns to 16
    Vec by_lane[count] = {};

    TAGLINE_TARGET void total(double* out) const {
        for (int k = 0; k < count; ++k) {
            out[k] = 0;
            for (int64_t l = 0; l < lanes; ++l) out[k] += by_lane[k][l];
        }
    }
};

using MeasureSums = LaneSums<kMeasureSums>;
using MoveSums = LaneSums<kMoveSums>;
using SlotProducts = LaneSums<4>;

// gradient g = f + 2·c2·w and pseudo-gradient p of a block.
TAGLINE_INLINE void take_gradient(const double* w, const double* f, const double* c1, const double* c2, double* g,
                                  double* p, MeasureSums& so_far) {
    MeasureSums sums = so_far;
    Vec* sum = sums.by_lane;
    const Vec zero = {}, one = zero + 1;
    for (int64_t j = 0; j < kBlock; j += lanes) {
        foresee(w, j);
        foresee(f, j);
        const Vec wj = load(w + j), aj = load(c1 + j), bj = load(c2 + j), gj = load(f + j) + 2 * bj * wj;
        const Vec pj = pseudo_gradient(wj, gj, aj);
        store(g + j, gj);
        store(p + j, pj);
        sum[kPenalty1] += aj * (wj < 0 ? -wj : wj);
        sum[kPenalty2] += bj * wj * wj;
        sum[kGradient2] += pj * pj;
        sum[kWeights2] += wj * wj;
        sum[kActive] += wj != 0 ? one : zero;
    }
    so_far = sums;
}

// s and y of a block into the memory; `y` holds what is remembered there.
template <class Real>
TAGLINE_INLINE void take_differences(const double* w, const double* w_before, const double* g, const double* g_before,
                                     Real* s_slot, Real* y_slot, double* y, MeasureSums& so_far) {
    MeasureSums sums = so_far;
    Vec* sum = sums.by_lane;
    for (int64_t j = 0; j < kBlock; j += lanes) {
        foresee(w_before, j);
        foresee(g_before, j);
        const Vec gj = load(g + j), sj = load(w + j) - load(w_before + j);
        store(s_slot + j, sj);
        store(y_slot + j, gj - load(g_before + j));
        const Vec yj = load(y_slot + j);
        store(y + j, yj);
        sum[kSlope] += sj * gj;
        sum[kS2] += sj * sj;
        sum[kY2] += yj * yj;
    }
    so_far = sums;
}

// One slot's inner products over a block.
template <class Real>
TAGLINE_INLINE void take_products(const Real* s, const Real* y_slot, const double* y, const double* p, const double* dy,
                                  const double* dp, SlotProducts& so_far) {
    SlotProducts products = so_far;
    Vec* product = products.by_lane;
    for (int64_t j = 0; j < kBlock; j += lanes) {
        foresee(s, j);
        foresee(y_slot, j);
        const Vec a = load(s + j), b = load(y_slot + j);
        product[0] += a * load(y + j);
        product[1] += a * load(p + j);
        product[2] += b * load(dy + j);
        product[3] += b * load(dp + j);
    }
    so_far = products;
}

template <class Real>
TAGLINE_TARGET void work(const Measuring<Real>& job, int64_t first, int64_t last, double* out) {
    const int64_t n = job.before.n, rows = job.slot < 0 ? 0 : job.memory.count + 1;
    alignas(64) double p[kBlock], y[kBlock], dp[kBlock], dy[kBlock];
    PaddedBlock<double> w_room, f_room, g_room, w_before_room, g_before_room, diagonal_room;
    PaddedBlock<Real> s_new_room, y_new_room, s_room, y_room;
    Strengths c1(job.c1), c2(job.c2);
    MeasureSums sums;
    std::vector<SlotProducts> products(static_cast<size_t>(rows));
    for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t count = last - begin < kBlock ? last - begin : kBlock;
        const double* w = w_room.read(job.weights + begin, count);
        double* g = g_room.room(job.gradient + begin, count);
        take_gradient(w, f_room.read(job.smooth + begin, count), c1.read(begin, count), c2.read(begin, count), g, p,
                      sums);
        if (rows > 0) {
            Real *s_home = job.memory.s + job.slot * n + begin, *y_home = job.memory.y + job.slot * n + begin;
            take_differences(w, w_before_room.read(job.before.weights + begin, count), g,
                             g_before_room.read(job.before.gradient + begin, count), s_new_room.room(s_home, count),
                             y_new_room.room(y_home, count), y, sums);
            s_new_room.finish(s_home, count);
            y_new_room.finish(y_home, count);
        }
        if (rows > 0 && job.memory.diagonal) {
            const double* d = diagonal_room.read(job.memory.diagonal + begin, count);
            for (int64_t j = 0; j < kBlock; ++j) dy[j] = d[j] * y[j], dp[j] = d[j] * p[j];
        }
        const double *left_y = job.memory.diagonal ? dy : y, *left_p = job.memory.diagonal ? dp : p;
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t row = (r + 1 < rows ? job.memory.used[r] : job.slot) * n + begin;
            take_products(s_room.read(job.memory.s + row, count), y_room.read(job.memory.y + row, count), y, p, left_y,
                          left_p, products[size_t(r)]);
        }
        g_room.finish(job.gradient + begin, count);
    }
    sums.total(out);
    for (int64_t r = 0; r < rows; ++r) products[size_t(r)].total(out + kMeasureSums + 4 * r);
}

// A row of the memory added to a block of d (from s) and of q (from y).
template <class Real>
TAGLINE_INLINE void add_rows(const Real* s, const Real* y, double of_s, double of_y, double* d, double* q) {
    for (int64_t j = 0; j < kBlock; j += lanes) {
        foresee(s, j);
        foresee(y, j);
        store(d + j, load(d + j) + of_s * load(s + j));
        store(q + j, load(q + j) + of_y * load(y + j));
    }
}

// Where a step along d leads from a block of weights.
template <bool kinks>
TAGLINE_INLINE void take_step(const double* w, const double* p, const double* c1, double* d, double step, double* to,
                              MoveSums& so_far) {
    MoveSums sums = so_far;
    Vec* sum = sums.by_lane;
    const Vec zero = {};
    for (int64_t j = 0; j < kBlock; j += lanes) {
        const Vec wj = load(w + j), pj = load(p + j), aj = load(c1 + j);
        Vec dj = load(d + j);
        if (kinks) dj = aj > 0 ? (dj * pj < 0 ? dj : zero) : dj;
        Vec next = wj + step * dj;
        if (kinks) {
            const Vec side = wj != 0 ? wj : -pj;
            next = aj > 0 ? (next * side > 0 ? next : zero) : next;
        }
        store(to + j, next);
        sum[kDescent] += dj * pj;
        sum[kDecrease] += pj * (next - wj);
        sum[kDirection2] += dj * dj;
    }
    so_far = sums;
}

template <class Real>
TAGLINE_TARGET void work(const Moving<Real>& job, int64_t first, int64_t last, double* out) {
    const int64_t n = job.from.n;
    alignas(64) double p[kBlock], q[kBlock], d[kBlock];
    PaddedBlock<double> w_room, g_room, diagonal_room, to_room;
    PaddedBlock<Real> s_room, y_room;
    Strengths c1(job.c1);
    MoveSums sums;
    for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t count = last - begin < kBlock ? last - begin : kBlock;
        const double* w = w_room.read(job.from.weights + begin, count);
        const double* g = g_room.read(job.from.gradient + begin, count);
        const double* strengths = c1.read(begin, count);
        for (int64_t j = 0; j < kBlock; j += lanes) {
            foresee(w, j);
            foresee(g, j);
            const Vec pj = pseudo_gradient(load(w + j), load(g + j), load(strengths + j));
            store(p + j, pj);
            store(q + j, job.of_gradient * pj);
            store(d + j, Vec{});
        }
        for (int64_t r = 0; r < job.memory.count; ++r) {
            const int64_t row = job.memory.used[r] * n + begin;
            add_rows(s_room.read(job.memory.s + row, count), y_room.read(job.memory.y + row, count), job.of_s[r],
                     job.of_y[r], d, q);
        }
        const double* diagonal = job.memory.diagonal ? diagonal_room.read(job.memory.diagonal + begin, count) : nullptr;
        for (int64_t j = 0; j < kBlock; ++j) d[j] += diagonal ? diagonal[j] * q[j] : q[j];
        double* to = to_room.room(job.weights + begin, count);
        if (job.kinks)
            take_step<true>(w, p, strengths, d, job.step, to, sums);
        else
            take_step<false>(w, p, strengths, d, job.step, to, sums);
        to_room.finish(job.weights + begin, count);
    }
    sums.total(out);
}

#undef TAGLINE_INLINE
