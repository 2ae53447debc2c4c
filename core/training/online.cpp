#include "training/online.h"

#include "runtime/pool.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tagline {

namespace {

// Keys: rows by row and label, cells, moves by their place in [L · L | L | L | W_e].
constexpr uint64_t kCell = uint64_t(1) << 62, kMove = uint64_t(1) << 63;

}  // namespace

template <class Real>
Online<Real>::Online(const Likelihood<Real>& likelihood, const OnlineOptions& options)
    : likelihood_(likelihood),
      options_(options),
      masks_(likelihood.layout().masks()),
      weights_(likelihood.layout().template make<Real>()),
      sums_(likelihood.layout().template make<Real>()),
      moves_(likelihood.moves()),
      move_sums_(likelihood.moves()),
      move_variances_(likelihood.moves()) {
    if (options.rule == Rule::arow) variances_ = likelihood.layout().template make<Real>();
}

template <class Real>
void Online<Real>::set(const double* weights) {
    const Layout& layout = likelihood_.layout();
    layout.load(weights, weights_.table());
    moves_.load(likelihood_.moves(), weights + layout.size());
    sums_.clear();
    move_sums_.clear();
    seen_ = 1;
    if (options_.rule != Rule::arow) return;
    const std::vector<double> first(size_t(likelihood_.size()), options_.variance);
    layout.load(first.data(), variances_.table());
    move_variances_.load(likelihood_.moves(), first.data());
}

template <class Real>
void Online<Real>::get(double* weights, bool averaged) const {
    const Layout& layout = likelihood_.layout();
    layout.each(weights_.table(), 0, layout.attributes(), [&](int64_t k, Real value) { weights[k] = double(value); });
    std::fill(weights + layout.size(), weights + likelihood_.size(), 0.0);
    moves_.add_to(likelihood_.moves(), weights + layout.size());
    if (!averaged) return;
    layout.each(sums_.table(), 0, layout.attributes(),
                [&](int64_t k, Real value) { weights[k] -= double(value) / seen_; });
    std::vector<double> shift(size_t(likelihood_.moves().size()), 0.0);
    move_sums_.add_to(likelihood_.moves(), shift.data());
    for (size_t k = 0; k < shift.size(); ++k) weights[size_t(layout.size()) + k] -= shift[k] / seen_;
}

template <class Real>
Real* Online<Real>::weight_at(const Rows<Real>& rows, uint64_t key) const {
    return key & kCell ? &rows.table().cells[key & ~kCell].value : rows.table().rows + key;
}

template <class Real>
double* Online<Real>::move_at(MoveTable<double>& table, uint64_t key) const {
    uint64_t place = key & ~kMove;
    for (auto* part : {&table.transitions, &table.start, &table.end, &table.edges}) {
        if (place < part->size()) return part->data() + place;
        place -= part->size();
    }
    return nullptr;
}

template <class Real>
double Online<Real>::variance_at(uint64_t key) const {
    if (key & kMove) return *move_at(const_cast<MoveTable<double>&>(move_variances_), key);
    return double(*weight_at(variances_, key));
}

// Features of `labels` at the tokens where they, or the labels before them, are not those of `other`.
template <class Real>
void Online<Real>::add_labelling(int64_t b, const int64_t* labels, const int64_t* other, double sign,
                                 std::vector<Change>& changes) const {
    const Examples& examples = likelihood_.examples();
    const Moves& moves = likelihood_.moves();
    const Occurrences& states = examples.states;
    const Table<Real>& table = weights_.table();
    const int64_t first = examples.bounds[b], T = examples.bounds[b + 1] - first, L = moves.L;
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
                if (table.cells[states.cells[k]].label == y)
                    changes.push_back({kCell | states.cells[k], sign * (states.cell_values ? states.cell_values[k] : 1)});
            if (t == 0 && moves.start) changes.push_back({kMove | (starts + uint64_t(y)), sign});
            if (t == T - 1 && moves.end) changes.push_back({kMove | (ends + uint64_t(y)), sign});
        }
        if (t == 0 || (y == other[t] && labels[t - 1] == other[t - 1])) continue;
        const int64_t pair = labels[t - 1] * L + y;
        changes.push_back({kMove | uint64_t(pair), sign});  // of a pair without a weight: dropped below
        for (int64_t k = examples.edges.offsets ? examples.edges.offsets[n] : 0;
             examples.edges.offsets && k < examples.edges.offsets[n + 1]; ++k) {
            const size_t a = size_t(examples.edges.ids[k]);
            const double value = examples.edges.values ? examples.edges.values[k] : 1;
            for (int64_t q = moves.edge_offsets[a]; q < moves.edge_offsets[a + 1]; ++q)
                if (moves.edge_pairs[size_t(q)] == pair)
                    changes.push_back({kMove | (edges + uint64_t(q)), sign * value});
        }
    }
}

template <class Real>
void Online<Real>::differences(int64_t b, const int64_t* gold, const int64_t* best, std::vector<Change>& changes) const {
    changes.clear();
    add_labelling(b, gold, best, 1, changes);
    add_labelling(b, best, gold, -1, changes);
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& c) { return a.key < c.key; });
    const std::vector<int32_t>& pairs = likelihood_.moves().pairs;  // ascending
    const uint64_t L = uint64_t(likelihood_.moves().L);
    size_t kept = 0;
    for (size_t k = 0; k < changes.size();) {
        Change sum = changes[k];
        for (++k; k < changes.size() && changes[k].key == sum.key; ++k) sum.amount += changes[k].amount;
        const uint64_t place = sum.key & ~kMove;
        const bool weightless = (sum.key & kMove) && place < L * L &&
                                !std::binary_search(pairs.begin(), pairs.end(), int32_t(place));
        if (sum.amount != 0 && !weightless) changes[kept++] = sum;
    }
    changes.resize(kept);
}

template <class Real>
void Online<Real>::update(const std::vector<Change>& changes, double step) {
    for (const Change& change : changes) {
        double added = step * change.amount;
        if (options_.rule == Rule::arow) added *= variance_at(change.key);
        if (change.key & kMove) {
            *move_at(moves_, change.key) += added;
            *move_at(move_sums_, change.key) += seen_ * added;
        } else {
            *weight_at(weights_, change.key) += Real(added);
            *weight_at(sums_, change.key) += Real(seen_ * added);
        }
        if (options_.rule != Rule::arow) continue;
        const double variance = 1 / (1 / variance_at(change.key) + change.amount * change.amount / options_.gamma);
        if (change.key & kMove)
            *move_at(move_variances_, change.key) = variance;
        else
            *weight_at(variances_, change.key) = Real(variance);
    }
}

template <class Real>
Outcome Online<Real>::pass(const int64_t* order, int64_t count, double& loss, int64_t& wrong,
                           const Interrupted& interrupted) {
    const Examples& examples = likelihood_.examples();
    const Moves& moves = likelihood_.moves();
    Outcome outcome;
    int stop = 0;
    loss = 0;
    wrong = 0;
    outcome.finished = run(1, false, stop, interrupted, [&](long) {
        BestLabelling<Real> decoder(moves, examples, active_variant(), &stop);
        MoveTable<Real> scores(moves);
        std::vector<double> flat(size_t(moves.size()));
        std::vector<int64_t> gold, best;
        std::vector<Change> changes;
        bool fresh = false;
        for (int64_t k = 0; k < count && !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++k) {
            const int64_t b = order[k], first = examples.bounds[b], T = examples.bounds[b + 1] - first;
            if (T == 0) continue;
            if (!fresh) {
                std::fill(flat.begin(), flat.end(), 0.0);
                moves_.add_to(moves, flat.data());
                scores.load(moves, flat.data());
                scores.forbid(moves);
                decoder.use(scores);
                fresh = true;
            }
            best.resize(size_t(T));
            gold.assign(examples.labels + first, examples.labels + first + T);
            const bool found = decoder.find(weights_.table(), b, false, best.data()) &&
                               (!examples.partial(b) || decoder.find(weights_.table(), b, true, gold.data()));
            if (!found) {
                if (outcome.sentence < 0) outcome.sentence = b;
                continue;
            }
            const int64_t errors = T - std::inner_product(gold.begin(), gold.end(), best.begin(), int64_t(0), std::plus<>(),
                                                          [](int64_t a, int64_t c) { return int64_t(a == c); });
            if (errors > 0) {
                wrong += errors;
                differences(b, gold.data(), best.data(), changes);
                const double behind = decoder.score(best.data()) - decoder.score(gold.data());
                double step = 1, l = double(errors) / double(T);
                if (options_.rule == Rule::passive_aggressive) {
                    double norm = 0;
                    for (const Change& change : changes) norm += change.amount * change.amount;
                    l = behind + (options_.error_sensitive ? std::sqrt(double(errors)) : 1);
                    step = options_.type == 2 ? l / (norm + 0.5 / options_.C) : l / std::max(norm, 1e-300);
                    if (options_.type == 1) step = std::min(step, options_.C);
                } else if (options_.rule == Rule::arow) {
                    double spread = options_.gamma;
                    for (const Change& change : changes) spread += change.amount * change.amount * variance_at(change.key);
                    l = behind + double(errors);
                    step = l / spread;
                }
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
