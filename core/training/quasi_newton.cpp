// Blocks of kBlock weights, small enough for the first cache, go through every row of the memory before the next block
// begins: each row is read once a pass. The loops (quasi_newton_passes.h) are compiled for each instruction set, and
// the active variant of the kernels says which of them runs.
#include "training/quasi_newton.h"

#include "chain/variants.h"
#include "runtime/compiler.h"
#include "runtime/pool.h"

#include <cstring>
#include <string_view>
#include <vector>

namespace tagline {

namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kTask = 32 * kBlock;

// A block of an array that may end within it: zeros stand for what is not there.
template <class Real>
struct PaddedBlock {
    Real values[kBlock];

    const Real* read(const Real* from, int64_t count) {
        if (count == kBlock) return from;
        std::memset(values, 0, sizeof values);
        std::memcpy(values, from, size_t(count) * sizeof(Real));
        return values;
    }

    // Where to write a block, and its way home.
    Real* room(Real* to, int64_t count) { return count == kBlock ? to : values; }
    void finish(Real* to, int64_t count) const {
        if (count < kBlock) std::memcpy(to, values, size_t(count) * sizeof(Real));
    }
};

// The strengths of a penalty, block by block.
class Strengths {
public:
    explicit Strengths(Strength strength) : strength_(strength) {
        for (double& value : block_.values) value = strength.each ? 0 : strength.values[0];
    }

    const double* read(int64_t first, int64_t count) {
        return strength_.each ? block_.read(strength_.values + first, count) : block_.values;
    }

private:
    Strength strength_;
    PaddedBlock<double> block_;
};

template <class Real>
struct Measuring {
    Point before;
    const double *weights, *smooth;
    Strength c1, c2;
    LimitedMemory<Real> memory;
    int64_t slot;
    double* gradient;

    int64_t outputs() const { return kMeasureSums + 4 * (slot < 0 ? 0 : memory.count + 1); }
};

template <class Real>
struct Moving {
    Point from;
    Strength c1;
    bool kinks;  // c1 > 0 somewhere
    LimitedMemory<Real> memory;
    const double *of_s, *of_y;
    double of_gradient, step;
    double* weights;

    int64_t outputs() const { return kMoveSums; }
};

#if defined(TAGLINE_X86)
namespace v4 {
#define TAGLINE_BYTES 64
#define TAGLINE_TARGET TAGLINE_FOR("avx2,fma,avx512f,avx512dq,avx512vl")
#include "training/quasi_newton_passes.h"
#undef TAGLINE_BYTES
#undef TAGLINE_TARGET
}  // namespace v4

namespace v3 {
#define TAGLINE_BYTES 32
#define TAGLINE_TARGET TAGLINE_FOR("avx2,fma")
#include "training/quasi_newton_passes.h"
#undef TAGLINE_BYTES
#undef TAGLINE_TARGET
}  // namespace v3
#endif

namespace plain {
#define TAGLINE_BYTES 16
#define TAGLINE_TARGET
#include "training/quasi_newton_passes.h"
#undef TAGLINE_BYTES
#undef TAGLINE_TARGET
}  // namespace plain

template <class Job>
void work(const Job& job, int64_t first, int64_t last, double* out) {
#if defined(TAGLINE_X86)
    const std::string_view cpu = active_variant().name;
    if (cpu == "v4") return v4::work(job, first, last, out);
    if (cpu == "v3") return v3::work(job, first, last, out);
#endif
    plain::work(job, first, last, out);
}

// Run a job over n weights in tasks, and add up what they give, in order.
template <class Job>
bool over(int64_t n, const Job& job, double* sums, const Interrupted& interrupted) {
    const int64_t tasks = (n + kTask - 1) / kTask, outputs = job.outputs();
    std::vector<double> parts(size_t(tasks * outputs));
    int stop = 0;
    const bool finished = run(long(tasks), tasks <= 1, stop, interrupted, [&](long k) {
        const int64_t first = k * kTask;
        work(job, first, first + kTask < n ? first + kTask : n, parts.data() + k * outputs);
    }, true);
    for (int64_t o = 0; o < outputs; ++o) {
        sums[o] = 0;
        for (int64_t k = 0; k < tasks; ++k) sums[o] += parts[size_t(k * outputs + o)];
    }
    return finished;
}

}  // namespace

template <class Real>
bool measure_point(const Point& before, const double* weights, const double* smooth, Strength c1, Strength c2,
                   const LimitedMemory<Real>& memory, int64_t slot, double* gradient, double* sums, double* products,
                   const Interrupted& interrupted) {
    const Measuring<Real> job{before, weights, smooth, c1, c2, memory, slot, gradient};
    std::vector<double> all(size_t(job.outputs()));
    const bool finished = over(before.n, job, all.data(), interrupted);
    std::memcpy(sums, all.data(), kMeasureSums * sizeof(double));
    if (slot >= 0) std::memcpy(products, all.data() + kMeasureSums, (all.size() - kMeasureSums) * sizeof(double));
    return finished;
}

template <class Real>
bool move_point(const Point& from, Strength c1, const LimitedMemory<Real>& memory, const double* of_s,
                const double* of_y, double of_gradient, double step, double* weights, double* sums,
                const Interrupted& interrupted) {
    const bool kinks = c1.each || c1.values[0] > 0;
    const Moving<Real> job{from, c1, kinks, memory, of_s, of_y, of_gradient, step, weights};
    return over(from.n, job, sums, interrupted);
}

#define TAGLINE_INSTANTIATE(Real)                                                                                    \
    template bool measure_point(const Point&, const double*, const double*, Strength, Strength,                      \
                                const LimitedMemory<Real>&, int64_t, double*, double*, double*, const Interrupted&); \
    template bool move_point(const Point&, Strength, const LimitedMemory<Real>&, const double*, const double*,       \
                             double, double, double*, double*, const Interrupted&);
TAGLINE_INSTANTIATE(float)
TAGLINE_INSTANTIATE(double)

}  // namespace tagline
