// The long vectors of a quasi-Newton method, as Python sees them: every array is the caller's, and so is its reuse.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "training/quasi_newton.h"

#include <nanobind/stl/pair.h>

#include <utility>
#include <vector>

namespace tagline::bindings {

namespace {

using Writable = nb::ndarray<nb::device::cpu>;

double* writable(const char* name, const Writable& array, int64_t n) {
    check(name, Array(array), nb::dtype<double>(), {n});
    return static_cast<double*>(array.data());
}

Strength as_strength(const char* name, const Array& array, int64_t n) {
    if (array.ndim() == 1 && array.shape(0) == 1) return {checked<double>(name, array, {1}), false};
    return {checked<double>(name, array, {n}), true};
}

const int64_t* as_slots(const Array& used, int64_t slots, int64_t besides) {
    const int64_t* out = checked<int64_t>("used", used, {-1});
    for (size_t r = 0; r < used.shape(0); ++r)
        if (out[r] < 0 || out[r] >= slots || out[r] == besides)
            throw nb::value_error(("used[" + std::to_string(r) + "]: expected another slot from 0 to " +
                                   std::to_string(slots - 1) + ", got " + std::to_string(out[r]))
                                      .c_str());
    return out;
}

template <class Real>
LimitedMemory<Real> as_memory(const Writable& memory, const Array& diagonal, const Array& used, int64_t n,
                              int64_t besides) {
    check("memory", Array(memory), nb::dtype<Real>(), {2, -1, n});
    const int64_t slots = int64_t(memory.shape(1));
    if (besides >= slots) throw nb::value_error(("slot: expected less than " + std::to_string(slots)).c_str());
    Real* s = static_cast<Real*>(memory.data());
    const bool plain = diagonal.ndim() == 1 && diagonal.shape(0) == 0;
    return {s, s + slots * n, plain ? nullptr : checked<double>("diagonal", diagonal, {n}),
            as_slots(used, slots, besides), int64_t(used.shape(0))};
}

// Call with the memory in its own type of number.
template <class Call>
void with_memory(const Writable& memory, const Array& diagonal, const Array& used, int64_t n, int64_t besides,
                 const Call& call) {
    const auto go = [&](const auto& typed) {
        ask([&] {
            Outcome outcome;
            outcome.finished = call(typed);
            return outcome;
        });
    };
    if (memory.dtype() == nb::dtype<float>()) return go(as_memory<float>(memory, diagonal, used, n, besides));
    go(as_memory<double>(memory, diagonal, used, n, besides));
}

std::pair<Result<double>, Result<double>> measure(const Array& weights, const Array& smooth, const Array& c1,
                                                  const Array& c2, const Array& weights_before,
                                                  const Array& gradient_before, const Writable& memory,
                                                  const Array& diagonal, const Array& used, int64_t slot,
                                                  const Writable& gradient) {
    const double* w = checked<double>("weights", weights, {-1});
    const int64_t n = int64_t(weights.shape(0));
    const double* f = checked<double>("smooth", smooth, {n});
    const Strength first = as_strength("c1", c1, n), second = as_strength("c2", c2, n);
    const Point before{n, checked<double>("weights_before", weights_before, {n}),
                       checked<double>("gradient_before", gradient_before, {n})};
    double* g = writable("gradient", gradient, n);
    auto sums = make<double>({size_t(kMeasureSums)});
    auto products = make<double>({slot < 0 ? 0 : used.size() + 1, 4});
    with_memory(memory, diagonal, used, n, slot, [&](const auto& typed) {
        return tagline::measure_point(before, w, f, first, second, typed, slot, g, sums.data(), products.data(),
                                      signalled);
    });
    return {sums, products};
}

Result<double> move(const Array& weights, const Array& gradient, const Array& c1, const Writable& memory,
                    const Array& diagonal, const Array& used, const Array& of_s, const Array& of_y,
                    double of_gradient, double step, const Writable& out) {
    const double* w = checked<double>("weights", weights, {-1});
    const int64_t n = int64_t(weights.shape(0)), count = int64_t(used.size());
    const Point from{n, w, checked<double>("gradient", gradient, {n})};
    const Strength first = as_strength("c1", c1, n);
    const double *s = checked<double>("of_s", of_s, {count}), *y = checked<double>("of_y", of_y, {count});
    double* to = writable("out", out, n);
    auto sums = make<double>({size_t(kMoveSums)});
    with_memory(memory, diagonal, used, n, -1, [&](const auto& typed) {
        return tagline::move_point(from, first, typed, s, y, of_gradient, step, to, sums.data(), signalled);
    });
    return sums;
}

}  // namespace

void bind_vectors(nb::module_& m) {
    using namespace nb::literals;
    m.def("measure_point", measure, "weights"_a, "smooth"_a, "c1"_a, "c2"_a, "weights_before"_a, "gradient_before"_a,
          "memory"_a, "diagonal"_a, "used"_a, "slot"_a, "gradient"_a,
          "Write gradient [n] = smooth + 2·c2·weights. With the pseudo-gradient p for c1, return sums [8]: Σ c1·|w|, "
          "Σ c2·w², p·p, w·w, weights ≠ 0, s·gradient, s·s, y·y, and products [R + 1, 4]: s_r·y, s_r·p, y_r·Dy, y_r·Dp "
          "for each slot in use [R], then for `slot`. s and y are the differences to the place before, written into "
          "memory [2, slots, n] (float32 or float64) at `slot`; −1 for none of it. c1, c2: [1] or [n]; diagonal D: "
          "[n], or [0] for the identity.");
    m.def("move_point", move, "weights"_a, "gradient"_a, "c1"_a, "memory"_a, "diagonal"_a, "used"_a, "of_s"_a, "of_y"_a,
          "of_gradient"_a, "step"_a, "out"_a,
          "Write out [n] = weights + step·d, d = Σ of_s·s_r + D·(of_gradient·p + Σ of_y·y_r) over the slots in use; "
          "where c1 > 0, only descending parts of d, and no weight passes 0. Return d·p, p·(out − weights), d·d.");
}

}  // namespace tagline::bindings
