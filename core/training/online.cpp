#include "training/online.h"

#include "runtime/pool.h"
#include "training/decoder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tagline {

namespace {

// Keys: rows by row and label, cells, transitions by their place in [L · L | L | L | W_e].
constexpr uint64_t kCell = uint64_t(1) << 62, kTransition = uint64_t(1) << 63;

}  // namespace

template <class Real>
Online<Real>::Online(const Likelihood<Real>& likelihood, const OnlineOptions& options)
    : likelihood_(likelihood),
      options_(options),
      masks_(likelihood.layout().masks()),
      weights_(likelihood.layout().template make<Real>()),
      sums_(likelihood.layout().template make<Real>()),
      transition_weights_(likelihood.transitions()),
      transition_sums_(likelihood.transitions()),
      transition_variances_(likelihood.transitions()) {
    if (options.rule == Rule::arow) variances_ = likelihood.layout().template make<Real>();
}

template <class Real>
void Online<Real>::set(const double* weights) {
    const Layout& layout = likelihood_.layout();
    layout.load(weights, weights_.table());
    transition_weights_.load(likelihood_.transitions(), weights + layout.size());
    sums_.clear();
    transition_sums_.clear();
    seen_ = 1;
    if (options_.rule != Rule::arow) return;
    const std::vector<double> first(size_t(likelihood_.size()), options_.variance);
    layout.load(first.data(), variances_.table());
    transition_variances_.load(likelihood_.transitions(), first.data());
}

template <class Real>
void Online<Real>::get(double* weights, bool averaged) const {
    const Layout& layout = likelihood_.layout();
    layout.each(weights_.table(), 0, layout.attributes(), [&](int64_t k, Real value) { weights[k] = double(value); });
    std::fill(weights + layout.size(), weights + likelihood_.size(), 0.0);
    transition_weights_.add_to(likelihood_.transitions(), weights + layout.size());
    if (!averaged) return;
    layout.each(sums_.table(), 0, layout.attributes(),
                [&](int64_t k, Real value) { weights[k] -= double(value) / seen_; });
    std::vector<double> shift(size_t(likelihood_.transitions().size()), 0.0);
    transition_sums_.add_to(likelihood_.transitions(), shift.data());
    for (size_t k = 0; k < shift.size(); ++k) weights[size_t(layout.size()) + k] -= shift[k] / seen_;
}

template <class Real>
double Online<Real>::keep(double* values) const {
    const Layout& layout = likelihood_.layout();
    std::fill(values, values + 3 * likelihood_.size(), 0.0);
    const auto flatten = [&](const WeightMemory<Real>& memory, const TransitionTable<double>& table) {
        layout.each(memory.table(), 0, layout.attributes(), [&](int64_t k, Real value) { values[k] = double(value); });
        table.add_to(likelihood_.transitions(), values + layout.size());
        values += likelihood_.size();
    };
    flatten(weights_, transition_weights_);
    flatten(sums_, transition_sums_);
    if (options_.rule == Rule::arow) flatten(variances_, transition_variances_);
    return seen_;
}

template <class Real>
void Online<Real>::restore(const double* values, double seen) {
    const Layout& layout = likelihood_.layout();
    const auto load = [&](const WeightMemory<Real>& memory, TransitionTable<double>& table) {
        layout.load(values, memory.table());
        table.load(likelihood_.transitions(), values + layout.size());
        values += likelihood_.size();
    };
    load(weights_, transition_weights_);
    load(sums_, transition_sums_);
    if (options_.rule == Rule::arow) load(variances_, transition_variances_);
    seen_ = seen;
}

template <class Real>
Real* Online<Real>::weight_at(const WeightMemory<Real>& memory, uint64_t key) const {
    return key & kCell ? &memory.table().cells[key & ~kCell].value : memory.table().rows + key;
}

template <class Real>
double* Online<Real>::transition_at(TransitionTable<double>& table, uint64_t key) const {
    uint64_t place = key & ~kTransition;
    for (auto* part : {&table.transitions, &table.start, &table.end, &table.edges}) {
        if (place < part->size()) return part->data() + place;
        place -= part->size();
    }
    return nullptr;
}

template <class Real>
double Online<Real>::variance_at(uint64_t key) const {
    if (key & kTransition) return *transition_at(const_cast<TransitionTable<double>&>(transition_variances_), key);
    return double(*weight_at(variances_, key));
}

// Features of `labels` at the tokens where they, or the labels before them, are not those of `other`.
template <class Real>
void Online<Real>::add_labelling(int64_t b, const int64_t* labels, const int64_t* other, double sign,
                                 std::vector<Change>& changes) const {
    const Examples& examples = likelihood_.examples();
    const TransitionLayout& transitions = likelihood_.transitions();
    const Occurrences& states = examples.states;
    const WeightTable<Real>& table = weights_.table();
    const int64_t first = examples.offsets[b], T = examples.offsets[b + 1] - first, L = transitions.L;
    const int64_t words = (table.stride + 63) / 64;
    const uint64_t starts = uint64_t(L * L), ends = starts + uint64_t(L), edges = ends + uint64_t(L);
    for (int64_t t = 0; t < T; ++t) {
        const int64_t n = first + t, y = labels[t];
        if (y != other[t]) {
            for (int64_t k = states.row_offsets[n]; k < states.row_offsets[n + 1]; ++k) {
                const int64_t row = states.rows[k];
                if (!masks_.empty() && !(masks_[size_t(row * words + y / 64)] >> (y % 64) & 1)) continue;
                const double value = states.row_values ? states.row_values[k] : 1;
                changes.push_back({uint64_t(row * table.stride + y), sign * value});
            }
            for (int64_t k = states.cell_offsets[n]; k < states.cell_offsets[n + 1]; ++k)
                if (table.cells[states.cells[k]].label == y) {
                    const double value = states.cell_values ? states.cell_values[k] : 1;
                    changes.push_back({kCell | states.cells[k], sign * value});
                }
            if (t == 0 && transitions.start) changes.push_back({kTransition | (starts + uint64_t(y)), sign});
            if (t == T - 1 && transitions.end) changes.push_back({kTransition | (ends + uint64_t(y)), sign});
        }
        if (t == 0 || (y == other[t] && labels[t - 1] == other[t - 1])) continue;
        const int64_t pair = labels[t - 1] * L + y;
        changes.push_back({kTransition | uint64_t(pair), sign});  // of a pair without a weight: dropped below
        for (int64_t k = examples.edges.offsets ? examples.edges.offsets[n] : 0;
             examples.edges.offsets && k < examples.edges.offsets[n + 1]; ++k) {
            const size_t a = size_t(examples.edges.ids[k]);
            const double value = examples.edges.values ? examples.edges.values[k] : 1;
            for (int64_t q = transitions.edge_offsets[a]; q < transitions.edge_offsets[a + 1]; ++q)
                if (transitions.edge_pairs[size_t(q)] == pair)
                    changes.push_back({kTransition | (edges + uint64_t(q)), sign * value});
        }
    }
}

template <class Real>
void Online<Real>::differences(int64_t b, const int64_t* gold, const int64_t* best,
                               std::vector<Change>& changes) const {
    changes.clear();
    add_labelling(b, gold, best, 1, changes);
    add_labelling(b, best, gold, -1, changes);
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& c) { return a.key < c.key; });
    const std::vector<int32_t>& pairs = likelihood_.transitions().pairs;  // ascending
    const uint64_t L = uint64_t(likelihood_.transitions().L);
    size_t size = 0;
    for (size_t k = 0; k < changes.size();) {
        Change sum = changes[k];
        for (++k; k < changes.size() && changes[k].key == sum.key; ++k) sum.amount += changes[k].amount;
        const uint64_t place = sum.key & ~kTransition;
        const bool weightless = (sum.key & kTransition) && place < L * L &&
                                !std::binary_search(pairs.begin(), pairs.end(), int32_t(place));
        if (sum.amount != 0 && !weightless) changes[size++] = sum;
    }
    changes.resize(size);
}

template <class Real>
void Online<Real>::update(const std::vector<Change>& changes, double step) {
    for (const Change& change : changes) {
        double added = step * change.amount;
        if (options_.rule == Rule::arow) added *= variance_at(change.key);
        if (change.key & kTransition) {
            *transition_at(transition_weights_, change.key) += added;
            *transition_at(transition_sums_, change.key) += seen_ * added;
        } else {
            *weight_at(weights_, change.key) += Real(added);
            *weight_at(sums_, change.key) += Real(seen_ * added);
        }
        if (options_.rule != Rule::arow) continue;
        const double variance = 1 / (1 / variance_at(change.key) + change.amount * change.amount / options_.gamma);
        if (change.key & kTransition)
            *transition_at(transition_variances_, change.key) = variance;
        else
            *weight_at(variances_, change.key) = Real(variance);
    }
}

template <class Real>
typename Online<Real>::Step Online<Real>::step_by_rule(const std::vector<Change>& changes, double behind,
                                                       int64_t errors, int64_t T) const {
    if (options_.rule == Rule::passive_aggressive) {
        double norm = 0;
        for (const Change& change : changes) norm += change.amount * change.amount;
        const double l = behind + (options_.error_sensitive ? std::sqrt(double(errors)) : 1);
        const double step = options_.type == 2 ? l / (norm + 0.5 / options_.C) : l / std::max(norm, 1e-300);
        return {options_.type == 1 ? std::min(step, options_.C) : step, l};
    }
    if (options_.rule == Rule::arow) {
        double spread = options_.gamma;
        for (const Change& change : changes) spread += change.amount * change.amount * variance_at(change.key);
        const double l = behind + double(errors);
        return {l / spread, l};
    }
    return {1, double(errors) / double(T)};
}

template <class Real>
Outcome Online<Real>::pass(const int64_t* order, int64_t count, double& loss, int64_t& wrong,
                           const Interrupted& interrupted) {
    const Examples& examples = likelihood_.examples();
    const TransitionLayout& transitions = likelihood_.transitions();
    Outcome outcome;
    int stop = 0;
    loss = 0;
    wrong = 0;
    outcome.finished = run(1, false, stop, interrupted, [&](long) {
        Decoder<Real> decoder(transitions, examples, active_variant(), &stop);
        TransitionTable<Real> scores(transitions);
        std::vector<double> flat(size_t(transitions.size()));
        std::vector<int64_t> gold, best;
        std::vector<Change> changes;
        bool fresh = false;
        for (int64_t k = 0; k < count && !stopped(&stop); ++k) {
            const int64_t b = order[k], first = examples.offsets[b], T = examples.offsets[b + 1] - first;
            if (T == 0) continue;
            if (!fresh) {
                std::fill(flat.begin(), flat.end(), 0.0);
                transition_weights_.add_to(transitions, flat.data());
                scores.load(transitions, flat.data());
                scores.forbid(transitions);
                decoder.use(scores);
                fresh = true;
            }
            best.resize(size_t(T));
            gold.assign(examples.labels + first, examples.labels + first + T);
            const bool possible = decoder.find(weights_.table(), b, false, best.data()) &&
                                  (!examples.partial(b) || decoder.find(weights_.table(), b, true, gold.data()));
            if (!possible) {
                if (outcome.sentence < 0) outcome.sentence = b;
                continue;
            }
            const int64_t errors = std::inner_product(gold.begin(), gold.end(), best.begin(), int64_t(0), std::plus<>(),
                                                      std::not_equal_to<>());
            if (errors > 0) {
                wrong += errors;
                differences(b, gold.data(), best.data(), changes);
                const double behind = decoder.score(best.data()) - decoder.score(gold.data());
                const auto [step, l] = step_by_rule(changes, behind, errors, T);
                loss += l;
                update(changes, step * examples.weight(b));
                fresh = false;
            }
            seen_ += 1;
        }
    });
    return outcome;
}

template class Online<float>;
template class Online<double>;

}  // namespace tagline
