#include "training/mira.h"

#include "runtime/pool.h"
#include "training/expectations.h"
#include "training/scoring.h"

#include <algorithm>

namespace tagline {

namespace {

// The best labelling by sums in CRF++'s order: features in the order of the template, then
// (best before + transition) + emission. Steps of MIRA are few different numbers, so labellings of equal scores are
// common, and the rounding of these sums decides between them.
class PlainViterbi {
public:
    PlainViterbi(const TransitionLayout& transitions, const Examples& examples)
        : transitions_(transitions), examples_(examples) {}

    void score(const WeightTable<double>& weights, const TransitionTable<double>& scores, int64_t b) {
        const int64_t first = examples_.offsets[b], last = examples_.offsets[b + 1];
        T_ = last - first;
        emissions_.assign(size_t(T_ * transitions_.L), 0.0);
        for (int64_t n = first; n < last; ++n) emit(weights, n, emissions_.data() + (n - first) * transitions_.L);
        between_ = scores.transitions.data();
        per_position_ = examples_.edges.offsets != nullptr;
        if (!per_position_) return;
        double* matrices = at_least(matrices_, T_ * transitions_.L * transitions_.L);
        edge_matrices(transitions_, scores, examples_.edges, first, last, matrices);
        between_ = matrices;
    }

    void find(std::vector<int64_t>& labels) {
        const int64_t L = transitions_.L;
        best_.assign(emissions_.begin(), emissions_.begin() + L);
        came_from_.resize(size_t(T_ * L));
        for (int64_t t = 1; t < T_; ++t) {
            next_.resize(size_t(L));
            for (int64_t y = 0; y < L; ++y) {
                double highest = -kInf;
                for (int64_t x = 0; x < L; ++x) {
                    const double score = best_[size_t(x)] + transition(t, x, y) + emission(t, y);
                    if (score > highest) {
                        highest = score;
                        came_from_[size_t(t * L + y)] = x;
                    }
                }
                next_[size_t(y)] = highest;
            }
            std::swap(best_, next_);
        }
        labels.resize(size_t(T_));
        labels[size_t(T_ - 1)] = std::max_element(best_.begin(), best_.end()) - best_.begin();
        for (int64_t t = T_ - 1; t > 0; --t)
            labels[size_t(t - 1)] = came_from_[size_t(t * L + labels[size_t(t)])];
    }

    // How far the score of `best` is above that of `gold`.
    double behind(const int32_t* gold, const std::vector<int64_t>& best) const {
        double ahead = 0;
        for (int64_t t = 0; t < T_; ++t) {
            ahead += emission(t, gold[t]);
            if (t > 0) ahead += transition(t, gold[t - 1], gold[t]);
            ahead -= emission(t, best[size_t(t)]);
            if (t > 0) ahead -= transition(t, best[size_t(t - 1)], best[size_t(t)]);
        }
        return -ahead;
    }

private:
    const TransitionLayout& transitions_;
    const Examples& examples_;
    int64_t T_ = 0;
    bool per_position_ = false;
    const double* between_ = nullptr;
    std::vector<double> emissions_, matrices_, best_, next_;
    std::vector<int64_t> came_from_;

    double emission(int64_t t, int64_t y) const { return emissions_[size_t(t * transitions_.L + y)]; }
    double transition(int64_t t, int64_t x, int64_t y) const {
        const int64_t L = transitions_.L;
        return between_[(per_position_ ? t * L * L : 0) + x * L + y];
    }

    void emit(const WeightTable<double>& weights, int64_t n, double* out) const {
        const Occurrences& states = examples_.states;
        for (int64_t k = states.row_offsets[n]; k < states.row_offsets[n + 1]; ++k) {
            const double* row = weights.rows + int64_t(states.rows[k]) * weights.stride;
            for (int64_t y = 0; y < transitions_.L; ++y) out[y] += row[y];
        }
        for (int64_t k = states.cell_offsets[n]; k < states.cell_offsets[n + 1]; ++k) {
            const WeightCell<double>& cell = weights.cells[states.cells[k]];
            out[cell.label] += cell.value;
        }
    }
};

}  // namespace

void Mira::mend(int64_t b, const std::vector<Change>& changes, double behind, int64_t errors, float* spent,
                MiraPass& pass) {
    double norm = 0;
    for (const Change& change : changes) norm += change.amount * change.amount;
    const double missing = double(errors) - behind;
    double step = norm > 0 ? std::max(0.0, missing / norm) : 0.0;
    if (spent[b] + step > C_) {
        step = C_ - spent[b];
        ++pass.limited;
    } else {
        pass.violation = std::max(pass.violation, missing);
    }
    if (step <= 1e-10) return;
    spent[b] = std::min(C_, float(spent[b] + step));
    update(changes, step);
}

Outcome Mira::learn(const int64_t* order, int64_t count, float* spent, int64_t* errors, MiraPass& pass,
                    const Interrupted& interrupted) {
    const Examples& examples = likelihood_.examples();
    const TransitionLayout& transitions = likelihood_.transitions();
    Outcome outcome;
    int stop = 0;
    outcome.finished = run(1, false, stop, interrupted, [&](long) {
        PlainViterbi viterbi(transitions, examples);
        std::vector<int64_t> gold, best;
        std::vector<Change> changes;
        for (int64_t k = 0; k < count && !stopped(&stop); ++k) {
            const int64_t b = order[k], first = examples.offsets[b], T = examples.offsets[b + 1] - first;
            errors[k] = 0;
            if (T == 0) continue;
            gold.assign(examples.labels + first, examples.labels + first + T);
            viterbi.score(weights_.table(), transition_weights_, b);
            viterbi.find(best);
            for (int64_t t = 0; t < T; ++t) errors[k] += gold[size_t(t)] != best[size_t(t)];
            if (errors[k] == 0) continue;
            pass.wrong_labels += errors[k];
            ++pass.wrong_sentences;
            differences(b, gold.data(), best.data(), changes);
            mend(b, changes, viterbi.behind(examples.labels + first, best), errors[k], spent, pass);
        }
    });
    return outcome;
}

}  // namespace tagline
