#include "training/gradient_descent.h"

#include "chain/blocks.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

constexpr double kLeastScale = 1e-3;  // below it v would lose digits

double shrink(double value, double by) { return value > by ? value - by : value < -by ? value + by : 0.0; }

}  // namespace

template <class Real>
Descent<Real>::Descent(const Likelihood<Real>& likelihood, double c1, double c2)
    : likelihood_(likelihood), c1_(c1), c2_(c2), weights_(likelihood.layout().template make<Real>()),
      masks_(likelihood.layout().masks()), moves_(likelihood.moves()) {
    if (c1 > 0) {
        row_paid_.resize(size_t(likelihood.layout().rows()));
        cell_paid_.resize(size_t(likelihood.layout().cells()));
    }
}

template <class Real>
void Descent<Real>::set(const double* weights) {
    const Layout& layout = likelihood_.layout();
    layout.load(weights, weights_.table());
    moves_.load(likelihood_.moves(), weights + layout.size());
    scale_ = 1;
    owed_ = 0;
    std::fill(row_paid_.begin(), row_paid_.end(), Real(0));
    std::fill(cell_paid_.begin(), cell_paid_.end(), Real(0));
}

template <class Real>
void Descent<Real>::get(double* weights) {
    const Layout& layout = likelihood_.layout();
    if (c1_ > 0) pay_all();
    layout.each(weights_.table(), 0, layout.attributes(),
                [&](int64_t k, Real value) { weights[k] = scale_ * double(value); });
    std::fill(weights + layout.size(), weights + likelihood_.size(), 0.0);
    moves_.add_to(likelihood_.moves(), weights + layout.size());
}

// Bring the weights of some sentences up to date with the L1 penalty.
template <class Real>
void Descent<Real>::pay(const int64_t* members, int count) {
    const Table<Real>& table = weights_.table();
    const Occurrences& states = likelihood_.examples().states;
    for (int g = 0; g < count; ++g) {
        const int64_t* bounds = likelihood_.examples().bounds;
        const int64_t first = bounds[members[g]], last = bounds[members[g] + 1];
        for (int64_t k = states.row_offsets[first]; k < states.row_offsets[last]; ++k) {
            Real& paid = row_paid_[states.rows[k]];
            const double debt = owed_ - double(paid);
            if (debt <= 0) continue;
            Real* row = table.rows + int64_t(states.rows[k]) * table.stride;
            for (int64_t j = 0; j < table.L; ++j) row[j] = Real(shrink(row[j], debt));
            paid = Real(owed_);
        }
        for (int64_t k = states.cell_offsets[first]; k < states.cell_offsets[last]; ++k) {
            Real& paid = cell_paid_[states.cells[k]];
            const double debt = owed_ - double(paid);
            if (debt <= 0) continue;
            Real& value = table.cells[states.cells[k]].value;
            value = Real(shrink(value, debt));
            paid = Real(owed_);
        }
    }
}

template <class Real>
void Descent<Real>::pay_all() {
    const Table<Real>& table = weights_.table();
    for (size_t r = 0; r < row_paid_.size(); ++r)
        for (int64_t j = 0; j < table.L; ++j) {
            Real& value = table.rows[int64_t(r) * table.stride + j];
            value = Real(shrink(value, std::max(0.0, owed_ - double(row_paid_[r]))));
        }
    for (size_t q = 0; q < cell_paid_.size(); ++q)
        table.cells[q].value = Real(shrink(table.cells[q].value, std::max(0.0, owed_ - double(cell_paid_[q]))));
    owed_ = 0;  // from here on, with full precision
    std::fill(row_paid_.begin(), row_paid_.end(), Real(0));
    std::fill(cell_paid_.begin(), cell_paid_.end(), Real(0));
}

template <class Real>
void Descent<Real>::rescale() {
    if (c1_ > 0) pay_all();
    const Table<Real>& table = weights_.table();
    for (int64_t k = 0; k < likelihood_.layout().rows() * table.stride; ++k) table.rows[k] *= Real(scale_);
    for (int64_t q = 0; q < likelihood_.layout().cells(); ++q) table.cells[q].value *= Real(scale_);
    scale_ = 1;
}

template <class Real>
void Descent<Real>::step(const Expectations<Real>& found, MoveTable<double>& expected, double eta,
                         const Kernels<Real>& kernels) {
    const Examples& examples = likelihood_.examples();
    const Moves& moves = likelihood_.moves();
    const int64_t L = moves.L;
    const double share = double(found.count()) / double(std::max<int64_t>(examples.B, 1));  // of the penalties
    const double kept = 1 / (1 + 2 * eta * c2_ * share);  // implicit: never negative, however large the step
    scale_ *= kept;
    for (int g = 0; g < found.count(); ++g) {
        const auto& one = found[g];
        if (one.dead) continue;
        const double weight = examples.weight(one.sentence);
        const int32_t* labels = examples.labels + one.first;
        if (!examples.partial(one.sentence)) {
            for (int64_t t = 0; t < one.T; ++t) {
                one.nodes[t * L + labels[t]] -= 1;
                if (t == 0) continue;
                const int64_t pair = labels[t - 1] * L + labels[t];
                expected.transitions[size_t(pair)] -= weight;
                if (!examples.edges.offsets) continue;
                const int64_t* offsets = examples.edges.offsets + one.first + t;
                for (int64_t k = offsets[0]; k < offsets[1]; ++k) {
                    const size_t a = size_t(examples.edges.ids[k]);
                    for (int64_t q = moves.edge_offsets[a]; q < moves.edge_offsets[a + 1]; ++q)
                        if (moves.edge_pairs[size_t(q)] == pair)
                            expected.edges[size_t(q)] -= weight * (examples.edges.values ? examples.edges.values[k] : 1);
                }
            }
            expected.start[size_t(labels[0])] -= weight;
            expected.end[size_t(labels[one.T - 1])] -= weight;
        }
        Table<Real> table = weights_.table();
        table.masks = masks_.empty() ? nullptr : masks_.data();
        kernels.absorb(table, examples.states, one.first, one.first + one.T, Real(-eta * weight / scale_),
                       one.nodes);
        found.add_moves(one, weight);
    }
    const double lasso = eta * c1_ * share;
    const auto descend = [&](std::vector<double>& values, const std::vector<double>& slope) {
        for (size_t k = 0; k < values.size(); ++k) values[k] = shrink(values[k] * kept - eta * slope[k], lasso);
    };
    for (int32_t pair : moves.pairs) {
        double& value = moves_.transitions[size_t(pair)];
        value = shrink(value * kept - eta * expected.transitions[size_t(pair)], lasso);
    }
    descend(moves_.edges, expected.edges);
    if (moves.start) descend(moves_.start, expected.start);
    if (moves.end) descend(moves_.end, expected.end);
    owed_ += lasso / scale_;
}

template <class Real>
Outcome Descent<Real>::pass(const int64_t* order, int64_t count, int64_t batch, double rate, double decay, bool learn,
                            double& loss, const Interrupted& interrupted) {
    const Variant& variant = active_variant();
    const Kernels<Real>& kernels = kernels_of<Real>(variant);
    const Examples& examples = likelihood_.examples();
    const Moves& moves = likelihood_.moves();
    const bool per_position = examples.edges.offsets != nullptr;
    Outcome outcome;
    int stop = 0;
    loss = 0;
    // One task on a thread of the pool, so that Ctrl-C is answered.
    outcome.finished = run(1, false, stop, interrupted, [&](long) {
        Expectations<Real> found(moves, examples, variant, &stop);
        MoveTable<Real> scores(moves);
        MoveTable<double> expected(moves);
        std::vector<double> flat(size_t(moves.size()));
        for (int64_t k = 0; k < count && !__atomic_load_n(&stop, __ATOMIC_RELAXED);) {
            int64_t members[kGroup];
            int some = 0;
            for (; k < count && some < std::min<int64_t>(batch, kGroup); ++k)
                if (examples.bounds[order[k] + 1] > examples.bounds[order[k]]) members[some++] = order[k];
            const auto length = [&](int64_t b) { return examples.bounds[b + 1] - examples.bounds[b]; };
            std::stable_sort(members, members + some, [&](int64_t a, int64_t b) { return length(a) > length(b); });
            if (c1_ > 0) pay(members, some);
            std::fill(flat.begin(), flat.end(), 0.0);
            moves_.add_to(moves, flat.data());
            scores.load(moves, flat.data());
            scores.forbid(moves);
            const Prepared prepared = Prepared::sums(kernels, scores.common(per_position));
            expected.clear();
            found.use(scores, prepared, expected);
            if (!found.compute(weights_.table(), Real(scale_), some, members)) return;
            for (int g = 0; g < some; ++g) {
                const auto& one = found[g];
                if (one.dead) {
                    if (outcome.sentence < 0) outcome.sentence = one.sentence;
                    continue;
                }
                loss += examples.weight(one.sentence) * one.log_z;
                if (examples.partial(one.sentence)) continue;
                loss -= examples.weight(one.sentence) * found.path_score(g, examples.labels + one.first);
            }
            if (!learn) continue;
            step(found, expected, rate / (1 + rate * decay * seen_), kernels);
            seen_ += some;
            if (scale_ < kLeastScale) rescale();
        }
    });
    return outcome;
}

template class Descent<float>;
template class Descent<double>;

}  // namespace tagline
