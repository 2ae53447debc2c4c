// Quasi-Newton (L-BFGS, OWL-QN): all that one iteration asks about its long vectors, in two passes over memory:
// `measure_point` at a new point and `move_point` away from it. The method itself is Python's.
//
// The objective is f(w) + Σ c1·|w| + Σ c2·w². With c1 > 0 it has kinks at 0, and the pseudo-gradient (Andrew & Gao
// 2007) stands where the gradient would: the one-sided derivative that descends, 0 where neither does. With c1 = 0 they
// are the same. Sums are float64 over blocks that depend on n alone: the same bytes for any number of threads.
#pragma once

#include "runtime/outcome.h"

#include <cstdint>

namespace tagline {

// A penalty's strength: one number for all weights, or one for each.
struct Strength {
    const double* values;
    bool each;
};

// The limited memory: differences of weights (s) and of gradients (y) between points, a slot for each step.
template <class Real>
struct LimitedMemory {
    Real *s, *y;             // [slots, n]
    const double* diagonal;  // [n], initial inverse Hessian D; null for the identity
    const int64_t* used;     // [count], slots to ask about
    int64_t count;
};

// Where the method stands: n weights and the gradient of f(w) + Σ c2·w² there.
struct Point {
    int64_t n;
    const double *weights, *gradient;
};

// The sums over all weights, in this order.
enum MeasureSum { kPenalty1, kPenalty2, kGradient2, kWeights2, kActive, kSlope, kS2, kY2, kMeasureSums };
enum MoveSum { kDescent, kDecrease, kDirection2, kMoveSums };

// The gradient at a new point: gradient [n] = smooth + 2·c2·w.
//
// sums [kMeasureSums]: Σ c1·|w|, Σ c2·w², Σ p² with the pseudo-gradient p, Σ w², how many w ≠ 0.
// With `slot` ≥ 0, s = w − before.weights and y = gradient − before.gradient are written there, and sums go on with
// s·gradient, s·s, y·y; products [count + 1, 4] holds s_r·y, s_r·p, y_r·Dy, y_r·Dp for each slot r in use, then `slot`.
template <class Real>
bool measure_point(const Point& before, const double* weights, const double* smooth, Strength c1, Strength c2,
                   const LimitedMemory<Real>& memory, int64_t slot, double* gradient, double* sums, double* products,
                   const Interrupted& interrupted);

// Weights at a step along d = Σ_r of_s[r]·s_r + D·(of_gradient·p + Σ_r of_y[r]·y_r), into `weights`.
//
// Where c1 > 0, d is 0 unless it descends (d·p < 0) and no weight changes its sign: it stops at 0.
// sums [kMoveSums]: d·p, p·(change of the weights), d·d.
template <class Real>
bool move_point(const Point& from, Strength c1, const LimitedMemory<Real>& memory, const double* of_s,
                const double* of_y, double of_gradient, double step, double* weights, double* sums,
                const Interrupted& interrupted);

}  // namespace tagline
