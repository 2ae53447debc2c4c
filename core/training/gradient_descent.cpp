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
Descent<Real>::Descent(const Likelihood<Real>& likelihood, double c1, double c2, int64_t sentences)
    : likelihood_(likelihood), c1_(c1), c2_(c2), sentences_(sentences ? sentences : likelihood.examples().B), weights_(likelihood.layout().template make<Real>()),
      masks_(likelihood.layout().masks()), transition_weights_(likelihood.transitions()) {
    if (c1 > 0) {
        row_paid_.resize(size_t(likelihood.layout().rows()));
        cell_paid_.resize(size_t(likelihood.layout().cells()));
    }
}

template <class Real>
void Descent<Real>::set(const double* weights) {
    const Layout& layout = likelihood_.layout();
    layout.load(weights, weights_.table());
    transition_weights_.load(likelihood_.transitions(), weights + layout.size());
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
    transition_weights_.add_to(likelihood_.transitions(), weights + layout.size());
}

template <class Real>
double Descent<Real>::keep(double* values) {
    const double scale = scale_;
    scale_ = 1;
    get(values);
    scale_ = scale;
    return scale;
}

template <class Real>
void Descent<Real>::restore(const double* values, double scale) {
    set(values);
    scale_ = scale;
}

// Bring the weights of these sentences up to date with the L1 penalty.
template <class Real>
void Descent<Real>::pay(const int64_t* members, int count) {
    const WeightTable<Real>& table = weights_.table();
    const Occurrences& states = likelihood_.examples().states;
    for (int g = 0; g < count; ++g) {
        const int64_t* offsets = likelihood_.examples().offsets;
        const int64_t first = offsets[members[g]], last = offsets[members[g] + 1];
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
    const WeightTable<Real>& table = weights_.table();
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
    const WeightTable<Real>& table = weights_.table();
    for (int64_t k = 0; k < likelihood_.layout().rows() * table.stride; ++k) table.rows[k] *= Real(scale_);
    for (int64_t q = 0; q < likelihood_.layout().cells(); ++q) table.cells[q].value *= Real(scale_);
    scale_ = 1;
}

template <class Real>
void Descent<Real>::shrink_all(double factor) {
    scale_ *= factor;
    TransitionTable<double>& table = transition_weights_;
    for (auto* part : {&table.transitions, &table.start, &table.end, &table.edges, &table.triples})
        for (double& value : *part) value *= factor;
}

template <class Real>
void Descent<Real>::step(const Expectations<Real>& expectations, TransitionTable<double>& expected, double eta,
                         double shrinkage, const Kernels<Real>& kernels) {
    const Examples& examples = likelihood_.examples();
    const TransitionLayout& transitions = likelihood_.transitions();
    const int64_t L = transitions.L;
    const double share = share_of(expectations.count());
    scale_ *= shrinkage;
    for (int g = 0; g < expectations.count(); ++g) {
        const auto& sentence = expectations[g];
        if (sentence.dead) continue;
        const double weight = examples.weight(sentence.index);
        const int32_t* labels = examples.labels + sentence.first;
        if (!examples.partial(sentence.index)) {
            for (int64_t t = 0; t < sentence.T; ++t) {
                sentence.nodes[t * L + labels[t]] -= 1;
                if (t == 0) continue;
                const int64_t pair = labels[t - 1] * L + labels[t];
                if (const int64_t place = expected.place(pair); place >= 0)
                    expected.transitions[size_t(place)] -= weight;
                if (transitions.second_order() && t > 1) add_triple(transitions, labels + t, -weight, expected);
                if (!examples.edges.offsets) continue;
                const int64_t* offsets = examples.edges.offsets + sentence.first + t;
                for (int64_t k = offsets[0]; k < offsets[1]; ++k) {
                    const size_t a = size_t(examples.edges.ids[k]);
                    const double value = examples.edges.values ? examples.edges.values[k] : 1;
                    for (int64_t q = transitions.edge_offsets[a]; q < transitions.edge_offsets[a + 1]; ++q)
                        if (transitions.edge_pairs[size_t(q)] == pair) expected.edges[size_t(q)] -= weight * value;
                }
            }
            expected.start[size_t(labels[0])] -= weight;
            expected.end[size_t(labels[sentence.T - 1])] -= weight;
        }
        WeightTable<Real> table = weights_.table();
        table.masks = masks_.empty() ? nullptr : masks_.data();
        kernels.absorb(table, examples.states, sentence.first, sentence.first + sentence.T,
                       Real(-eta * weight / scale_), sentence.nodes);
        expectations.add_counts(sentence, weight);
    }
    const double lasso = eta * c1_ * share;
    const auto descend = [&](std::vector<double>& values, const std::vector<double>& slope) {
        for (size_t k = 0; k < values.size(); ++k) values[k] = shrink(values[k] * shrinkage - eta * slope[k], lasso);
    };
    for (int32_t pair : transitions.pairs) {
        double& value = transition_weights_.transitions[size_t(pair)];
        const int64_t place = expected.place(pair);
        const double slope = place < 0 ? 0.0 : expected.transitions[size_t(place)];
        value = shrink(value * shrinkage - eta * slope, lasso);
    }
    for (int64_t cell : transitions.triples) {
        double &value = transition_weights_.triples[size_t(cell)], &slope = expected.triples[size_t(cell)];
        value = shrink(value * shrinkage - eta * slope, lasso);
        slope = 0;  // for the next step: to clear the whole table takes longer than a sentence
    }
    descend(transition_weights_.edges, expected.edges);
    if (transitions.start) descend(transition_weights_.start, expected.start);
    if (transitions.end) descend(transition_weights_.end, expected.end);
    owed_ += lasso / scale_;
}

template <class Real>
Outcome Descent<Real>::pass(const int64_t* order, int64_t count, int64_t batch, double rate, double decay, bool learn,
                            double& loss, const Interrupted& interrupted, bool shrink_first) {
    const Variant& variant = active_variant();
    const Kernels<Real>& kernels = kernels_of<Real>(variant);
    const Examples& examples = likelihood_.examples();
    const TransitionLayout& transitions = likelihood_.transitions();
    const bool per_position = examples.edges.offsets != nullptr;
    Outcome outcome;
    int stop = 0;
    loss = 0;
    // One task on a thread of the pool, so that Ctrl-C is answered.
    outcome.finished = run(1, false, stop, interrupted, [&](long) {
        Expectations<Real> expectations(transitions, examples, variant, &stop);
        TransitionTable<Real> scores(transitions);
        scores.forbid(transitions);
        const auto lists =
            transitions.local || transitions.second_order() ? nullptr : PairLists::choose(scores.common(per_position), kernels);
        TransitionTable<double> expected(transitions, lists ? &lists->legal() : nullptr);
        std::vector<double> flat(size_t(transitions.size()));
        for (int64_t k = 0; k < count && !stopped(&stop);) {
            int64_t members[kGroup];
            int size = 0;
            for (; k < count && size < std::min<int64_t>(batch, kGroup); ++k)
                if (examples.offsets[order[k] + 1] > examples.offsets[order[k]]) members[size++] = order[k];
            if (size == 0) break;  // only sentences without tokens were left
            const auto length = [&](int64_t b) { return examples.offsets[b + 1] - examples.offsets[b]; };
            std::stable_sort(members, members + size, [&](int64_t a, int64_t b) { return length(a) > length(b); });
            const double eta = rate / (1 + rate * decay * seen_), taken = 2 * eta * c2_ * share_of(size);
            if (learn && shrink_first) shrink_all(1 - taken);
            if (c1_ > 0) pay(members, size);
            std::fill(flat.begin(), flat.end(), 0.0);
            transition_weights_.add_to(transitions, flat.data());
            scores.reload(transitions, flat.data());
            const Prepared prepared = Prepared::sums(kernels, scores.common(per_position), lists);
            expected.clear_pairs();
            expectations.use(scores, prepared, expected);
            if (!expectations.compute(weights_.table(), Real(scale_), size, members)) return;
            for (int g = 0; g < size; ++g) {
                const auto& sentence = expectations[g];
                if (sentence.dead) {
                    if (outcome.sentence < 0) outcome.sentence = sentence.index;
                    continue;
                }
                loss += examples.weight(sentence.index) * sentence.log_z;
                if (examples.partial(sentence.index)) continue;
                loss -= examples.weight(sentence.index) * expectations.path_score(g, examples.labels + sentence.first);
            }
            if (!learn) continue;
            // Implicit otherwise: never negative, however large the step.
            step(expectations, expected, eta, shrink_first ? 1 : 1 / (1 + taken), kernels);
            seen_ += size;
            if (scale_ < kLeastScale) rescale();
        }
    });
    return outcome;
}

template class Descent<float>;
template class Descent<double>;

}  // namespace tagline
