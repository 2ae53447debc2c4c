// Blocks of kBlock weights, small enough for the first cache, run through every row of the memory before the next one
// begins: each row is read once a pass. The loops are written over the compiler's vector types for three widths and
// inlined into one function for each instruction set, as the active variant of the kernels has it.
#include "vectors.h"

#include "pool.h"
#include "variants.h"

#include <cstring>
#include <string_view>
#include <vector>

namespace tagline {

namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kTask = 32 * kBlock;

#define TAGLINE_INLINE inline __attribute__((always_inline))

template <int Bytes>
struct Wide;

#define TAGLINE_WIDE(bytes)                                                                   \
    template <>                                                                               \
    struct Wide<bytes> {                                                                      \
        typedef double Vec __attribute__((vector_size(bytes), may_alias));                    \
        typedef double Loose __attribute__((vector_size(bytes), may_alias, aligned(8)));      \
        typedef float Short __attribute__((vector_size(bytes / 2), may_alias, aligned(4)));   \
        static constexpr int64_t lanes = bytes / 8;                                           \
    };
TAGLINE_WIDE(16)
TAGLINE_WIDE(32)
TAGLINE_WIDE(64)
#undef TAGLINE_WIDE

// Vectors travel by reference: the baseline has no convention for the wide ones.
template <int Bytes>
TAGLINE_INLINE void load(typename Wide<Bytes>::Vec& to, const double* from) {
    to = *reinterpret_cast<const typename Wide<Bytes>::Loose*>(from);
}

template <int Bytes>
TAGLINE_INLINE void load(typename Wide<Bytes>::Vec& to, const float* from) {
    to = __builtin_convertvector(*reinterpret_cast<const typename Wide<Bytes>::Short*>(from), typename Wide<Bytes>::Vec);
}

template <int Bytes>
TAGLINE_INLINE void store(double* to, const typename Wide<Bytes>::Vec& from) {
    *reinterpret_cast<typename Wide<Bytes>::Loose*>(to) = from;
}

template <int Bytes>
TAGLINE_INLINE void store(float* to, const typename Wide<Bytes>::Vec& from) {
    typedef typename Wide<Bytes>::Short Short;
    *reinterpret_cast<Short*>(to) = __builtin_convertvector(from, Short);
}

// Fetch the same part of the next block, one cache line at a time: so many arrays in turn are more streams than a
// processor foresees by itself (a pass takes three quarters of the time).
template <class Real>
TAGLINE_INLINE void foresee(const Real* block, int64_t j) {
    if (j * int64_t(sizeof(Real)) % 64 == 0) __builtin_prefetch(block + j + kBlock);
}

template <int Bytes>
TAGLINE_INLINE void pseudo_gradient(typename Wide<Bytes>::Vec& p, const typename Wide<Bytes>::Vec& w,
                                    const typename Wide<Bytes>::Vec& g, const typename Wide<Bytes>::Vec& c1) {
    const typename Wide<Bytes>::Vec right = g + c1, left = g - c1, zero = {};
    p = right < 0 ? right : left;
    p = (right >= 0) & (left <= 0) ? zero : p;  // not where they are NaN
    p = w > 0 ? right : w < 0 ? left : p;
}

// A block of an array that may end within it: zeros stand for what is not there.
template <class Real>
struct Padded {
    Real values[kBlock];

    TAGLINE_INLINE const Real* read(const Real* from, int64_t count) {
        if (count == kBlock) return from;
        std::memset(values, 0, sizeof values);
        std::memcpy(values, from, size_t(count) * sizeof(Real));
        return values;
    }

    // Where to write a block, and its way home.
    TAGLINE_INLINE Real* room(Real* to, int64_t count) { return count == kBlock ? to : values; }
    TAGLINE_INLINE void finish(Real* to, int64_t count) {
        if (count < kBlock) std::memcpy(to, values, size_t(count) * sizeof(Real));
    }
};

// The strengths of a penalty, block by block.
struct Strengths {
    Strength given;
    Padded<double> block;

    TAGLINE_INLINE void begin() {
        for (int64_t j = 0; j < kBlock; ++j) block.values[j] = given.each ? 0 : given.values[0];
    }
    TAGLINE_INLINE const double* read(int64_t first, int64_t count) {
        return given.each ? block.read(given.values + first, count) : block.values;
    }
};

template <class Real>
struct Measuring {
    Place before;
    const double *weights, *smooth;
    Strength c1, c2;
    Memory<Real> memory;
    int64_t slot;
    double* gradient;

    int64_t outputs() const { return kMeasureSums + 4 * (slot < 0 ? 0 : memory.count + 1); }
};

template <class Real>
struct Moving {
    Place place;
    Strength c1;
    bool kinks;  // c1 > 0 somewhere
    Memory<Real> memory;
    const double *of_s, *of_y;
    double of_gradient, step;
    double* weights;

    int64_t outputs() const { return kMoveSums; }
};

// The lanes of one vector, added up.
template <int Bytes>
TAGLINE_INLINE double total(const double* lanes) {
    double sum = 0;
    for (int64_t l = 0; l < Wide<Bytes>::lanes; ++l) sum += lanes[l];
    return sum;
}

template <class Real, int Bytes>
TAGLINE_INLINE void work(const Measuring<Real>& job, int64_t first, int64_t last, double* out) {
    typedef typename Wide<Bytes>::Vec Vec;
    constexpr int64_t lanes = Wide<Bytes>::lanes;
    const int64_t n = job.before.n;
    const bool moved = job.slot >= 0;
    const int64_t rows = moved ? job.memory.count + 1 : 0;
    std::vector<double> kept(size_t(4 * rows * lanes));  // sums of products, by lane, from block to block
    alignas(64) double p[kBlock], y[kBlock], dp[kBlock], dy[kBlock];
    Padded<double> w_pad, f_pad, w0_pad, g0_pad, g_pad, d_pad;
    Padded<Real> s_pad, y_pad, row_s_pad, row_y_pad;
    Strengths c1{job.c1, {}}, c2{job.c2, {}};
    c1.begin();
    c2.begin();
    Vec penalty1 = {}, penalty2 = {}, gradient2 = {}, weights2 = {}, active = {}, slope = {}, s2 = {}, y2 = {};
    const Vec zero = {}, one = zero + 1;
    for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t count = last - begin < kBlock ? last - begin : kBlock;
        const double *w = w_pad.read(job.weights + begin, count), *f = f_pad.read(job.smooth + begin, count);
        const double *k1 = c1.read(begin, count), *k2 = c2.read(begin, count);
        double* g = g_pad.room(job.gradient + begin, count);
        for (int64_t j = 0; j < kBlock; j += lanes) {
            Vec wj, gj, aj, bj, pj;
            foresee(w, j);
            foresee(f, j);
            load<Bytes>(wj, w + j);
            load<Bytes>(gj, f + j);
            load<Bytes>(aj, k1 + j);
            load<Bytes>(bj, k2 + j);
            gj += 2 * bj * wj;
            store<Bytes>(g + j, gj);
            pseudo_gradient<Bytes>(pj, wj, gj, aj);
            store<Bytes>(p + j, pj);
            penalty1 += aj * (wj < 0 ? -wj : wj);
            penalty2 += bj * wj * wj;
            gradient2 += pj * pj;
            weights2 += wj * wj;
            active += wj != 0 ? one : zero;
        }
        if (moved) {
            const double* w0 = w0_pad.read(job.before.weights + begin, count);
            const double* g0 = g0_pad.read(job.before.gradient + begin, count);
            Real *s_home = job.memory.s + job.slot * n + begin, *y_home = job.memory.y + job.slot * n + begin;
            Real *s_new = s_pad.room(s_home, count), *y_new = y_pad.room(y_home, count);
            for (int64_t j = 0; j < kBlock; j += lanes) {
                Vec sj, yj, gj, before;
                foresee(w0, j);
                foresee(g0, j);
                load<Bytes>(sj, w + j);
                load<Bytes>(before, w0 + j);
                sj -= before;
                load<Bytes>(gj, g + j);
                load<Bytes>(before, g0 + j);
                yj = gj - before;
                slope += sj * gj;
                store<Bytes>(s_new + j, sj);
                store<Bytes>(y_new + j, yj);
                load<Bytes>(yj, y_new + j);  // as it is remembered
                store<Bytes>(y + j, yj);
                s2 += sj * sj;
                y2 += yj * yj;
            }
            const double *py = y, *pp = p;
            if (job.memory.diagonal) {
                const double* d = d_pad.read(job.memory.diagonal + begin, count);
                for (int64_t j = 0; j < kBlock; ++j) {
                    dy[j] = d[j] * y[j];
                    dp[j] = d[j] * p[j];
                }
                py = dy;
                pp = dp;
            }
            s_pad.finish(s_home, count);
            y_pad.finish(y_home, count);
            for (int64_t r = 0; r < rows; ++r) {
                const int64_t row = (r + 1 < rows ? job.memory.used[r] : job.slot) * n + begin;
                const Real *sr = row_s_pad.read(job.memory.s + row, count), *yr = row_y_pad.read(job.memory.y + row, count);
                double* sums = kept.data() + 4 * r * lanes;
                Vec sy, sp, ydy, ydp;
                load<Bytes>(sy, sums);
                load<Bytes>(sp, sums + lanes);
                load<Bytes>(ydy, sums + 2 * lanes);
                load<Bytes>(ydp, sums + 3 * lanes);
                for (int64_t j = 0; j < kBlock; j += lanes) {
                    Vec a, b, to;
                    foresee(sr, j);
                    foresee(yr, j);
                    load<Bytes>(a, sr + j);
                    load<Bytes>(b, yr + j);
                    load<Bytes>(to, y + j);
                    sy += a * to;
                    load<Bytes>(to, p + j);
                    sp += a * to;
                    load<Bytes>(to, py + j);
                    ydy += b * to;
                    load<Bytes>(to, pp + j);
                    ydp += b * to;
                }
                store<Bytes>(sums, sy);
                store<Bytes>(sums + lanes, sp);
                store<Bytes>(sums + 2 * lanes, ydy);
                store<Bytes>(sums + 3 * lanes, ydp);
            }
        }
        g_pad.finish(job.gradient + begin, count);
    }
    alignas(64) double lane[lanes];
    const Vec* sums[kMeasureSums] = {&penalty1, &penalty2, &gradient2, &weights2, &active, &slope, &s2, &y2};
    for (int k = 0; k < kMeasureSums; ++k) {
        store<Bytes>(lane, *sums[k]);
        out[k] = total<Bytes>(lane);
    }
    for (int64_t r = 0; r < 4 * rows; ++r) out[kMeasureSums + r] = total<Bytes>(kept.data() + r * lanes);
}

template <class Real, int Bytes>
TAGLINE_INLINE void work(const Moving<Real>& job, int64_t first, int64_t last, double* out) {
    typedef typename Wide<Bytes>::Vec Vec;
    constexpr int64_t lanes = Wide<Bytes>::lanes;
    const int64_t n = job.place.n;
    alignas(64) double p[kBlock], q[kBlock], d[kBlock];
    Padded<double> w_pad, g_pad, d_pad, to_pad;
    Padded<Real> row_s_pad, row_y_pad;
    Strengths c1{job.c1, {}};
    c1.begin();
    Vec descent = {}, decrease = {}, direction2 = {};
    const Vec zero = {};
    for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t count = last - begin < kBlock ? last - begin : kBlock;
        const double* w = w_pad.read(job.place.weights + begin, count);
        const double* g = g_pad.read(job.place.gradient + begin, count);
        const double* k1 = c1.read(begin, count);
        for (int64_t j = 0; j < kBlock; j += lanes) {
            Vec wj, gj, aj, pj;
            foresee(w, j);
            foresee(g, j);
            load<Bytes>(wj, w + j);
            load<Bytes>(gj, g + j);
            load<Bytes>(aj, k1 + j);
            pseudo_gradient<Bytes>(pj, wj, gj, aj);
            store<Bytes>(p + j, pj);
            store<Bytes>(q + j, job.of_gradient * pj);
            store<Bytes>(d + j, zero);
        }
        for (int64_t r = 0; r < job.memory.count; ++r) {
            const int64_t row = job.memory.used[r] * n + begin;
            const Real *sr = row_s_pad.read(job.memory.s + row, count), *yr = row_y_pad.read(job.memory.y + row, count);
            const double of_s = job.of_s[r], of_y = job.of_y[r];
            for (int64_t j = 0; j < kBlock; j += lanes) {
                Vec a, to;
                foresee(sr, j);
                foresee(yr, j);
                load<Bytes>(a, sr + j);
                load<Bytes>(to, d + j);
                store<Bytes>(d + j, to + of_s * a);
                load<Bytes>(a, yr + j);
                load<Bytes>(to, q + j);
                store<Bytes>(q + j, to + of_y * a);
            }
        }
        const double* diagonal = job.memory.diagonal ? d_pad.read(job.memory.diagonal + begin, count) : nullptr;
        double* to = to_pad.room(job.weights + begin, count);
        for (int64_t j = 0; j < kBlock; j += lanes) {
            Vec wj, pj, dj, qj, next;
            load<Bytes>(wj, w + j);
            load<Bytes>(pj, p + j);
            load<Bytes>(dj, d + j);
            load<Bytes>(qj, q + j);
            if (diagonal) {
                load<Bytes>(next, diagonal + j);
                qj *= next;
            }
            dj += qj;
            if (job.kinks) {
                Vec aj;
                load<Bytes>(aj, k1 + j);
                const Vec aligned = dj * pj < 0 ? dj : zero;
                dj = aj > 0 ? aligned : dj;
                next = wj + job.step * dj;
                const Vec side = wj != 0 ? wj : -pj;
                const Vec stays = next * side > 0 ? next : zero;
                next = aj > 0 ? stays : next;
            } else {
                next = wj + job.step * dj;
            }
            store<Bytes>(to + j, next);
            descent += dj * pj;
            decrease += pj * (next - wj);
            direction2 += dj * dj;
        }
        to_pad.finish(job.weights + begin, count);
    }
    alignas(64) double lane[lanes];
    const Vec* sums[kMoveSums] = {&descent, &decrease, &direction2};
    for (int k = 0; k < kMoveSums; ++k) {
        store<Bytes>(lane, *sums[k]);
        out[k] = total<Bytes>(lane);
    }
}

template <class Job>
using Work = void (*)(const Job&, int64_t, int64_t, double*);

template <class Job>
struct Works;

// One copy for each instruction set: a template cannot carry the attribute, plain functions can.
#define TAGLINE_WORK(name, job, real, bytes, attribute)                                              \
    attribute void name(const job<real>& given, int64_t first, int64_t last, double* out) {          \
        work<real, bytes>(given, first, last, out);                                                  \
    }
#define TAGLINE_NOTHING
#if defined(__x86_64__)
#define TAGLINE_V3 __attribute__((target("avx2,fma")))
#define TAGLINE_V4 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl")))
#define TAGLINE_WORKS(job, real)                                        \
    TAGLINE_WORK(job##_##real##_v2, job, real, 16, TAGLINE_NOTHING)     \
    TAGLINE_WORK(job##_##real##_v3, job, real, 32, TAGLINE_V3)          \
    TAGLINE_WORK(job##_##real##_v4, job, real, 64, TAGLINE_V4)          \
    template <>                                                         \
    struct Works<job<real>> {                                           \
        static Work<job<real>> best() {                                 \
            const std::string_view cpu = active_variant().name;         \
            return cpu == "v4"   ? job##_##real##_v4                    \
                   : cpu == "v3" ? job##_##real##_v3                    \
                                 : job##_##real##_v2;                   \
        }                                                               \
    };
#else
#define TAGLINE_WORKS(job, real)                                          \
    TAGLINE_WORK(job##_##real##_plain, job, real, 16, TAGLINE_NOTHING)    \
    template <>                                                           \
    struct Works<job<real>> {                                             \
        static Work<job<real>> best() { return job##_##real##_plain; }    \
    };
#endif

TAGLINE_WORKS(Measuring, float)
TAGLINE_WORKS(Measuring, double)
TAGLINE_WORKS(Moving, float)
TAGLINE_WORKS(Moving, double)

// Run a job over n weights in tasks, and add up what they give, in order.
template <class Job>
bool over(int64_t n, const Job& job, double* sums, const Interrupted& interrupted) {
    const Work<Job> work = Works<Job>::best();
    const int64_t tasks = (n + kTask - 1) / kTask, outputs = job.outputs();
    std::vector<double> parts(size_t(tasks * outputs));
    int stop = 0;
    const bool finished = run(long(tasks), tasks <= 1, stop, interrupted, [&](long k) {
        const int64_t first = k * kTask;
        work(job, first, first + kTask < n ? first + kTask : n, parts.data() + k * outputs);
    });
    for (int64_t o = 0; o < outputs; ++o) {
        sums[o] = 0;
        for (int64_t k = 0; k < tasks; ++k) sums[o] += parts[size_t(k * outputs + o)];
    }
    return finished;
}

}  // namespace

template <class Real>
bool measure(const Place& before, const double* weights, const double* smooth, Strength c1, Strength c2,
             const Memory<Real>& memory, int64_t slot, double* gradient, double* sums, double* products,
             const Interrupted& interrupted) {
    const Measuring<Real> job{before, weights, smooth, c1, c2, memory, slot, gradient};
    std::vector<double> all(size_t(job.outputs()));
    const bool finished = over(before.n, job, all.data(), interrupted);
    std::memcpy(sums, all.data(), kMeasureSums * sizeof(double));
    if (slot >= 0) std::memcpy(products, all.data() + kMeasureSums, (all.size() - kMeasureSums) * sizeof(double));
    return finished;
}

template <class Real>
bool move(const Place& place, Strength c1, const Memory<Real>& memory, const double* of_s, const double* of_y,
          double of_gradient, double step, double* weights, double* sums, const Interrupted& interrupted) {
    const bool kinks = c1.each || c1.values[0] > 0;
    const Moving<Real> job{place, c1, kinks, memory, of_s, of_y, of_gradient, step, weights};
    return over(place.n, job, sums, interrupted);
}

#define TAGLINE_INSTANTIATE(Real)                                                                                   \
    template bool measure(const Place&, const double*, const double*, Strength, Strength, const Memory<Real>&,      \
                          int64_t, double*, double*, double*, const Interrupted&);                                  \
    template bool move(const Place&, Strength, const Memory<Real>&, const double*, const double*, double, double,   \
                       double*, double*, const Interrupted&);
TAGLINE_INSTANTIATE(float)
TAGLINE_INSTANTIATE(double)

}  // namespace tagline
