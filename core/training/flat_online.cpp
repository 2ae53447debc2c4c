#include "training/flat_online.h"

#include "runtime/pool.h"

#include <algorithm>
#include <cmath>

namespace tagline {

FlatOnline::FlatOnline(FlatWeights weights, const std::vector<int32_t>& pairs, const FlatExamples& examples,
                       const OnlineOptions& options)
    : weights_(std::move(weights)), pairs_(pairs), places_(size_t(weights_.L * weights_.L), -1), examples_(examples),
      options_(options) {
    for (size_t k = 0; k < pairs.size(); ++k) places_[size_t(pairs[k])] = int64_t(weights_.cells.size() + k);
    const size_t count = size_t(size());
    sums_.resize(options.rule == Rule::arow ? 0 : count);
    variances_.assign(options.rule == Rule::arow ? count : 0, options.variance);
    if (options.rule == Rule::perceptron) return;
    delta_.resize(count);
    is_active_.resize(count);
}

void FlatOnline::get(double* weights, bool averaged) const {
    const size_t states = weights_.cells.size();
    for (size_t k = 0; k < states; ++k) weights[k] = weights_.cells[k].value;
    for (size_t k = 0; k < pairs_.size(); ++k) weights[states + k] = weights_.transitions[size_t(pairs_[k])];
    if (!averaged || sums_.empty()) return;
    const double share = 1 / seen_;
    for (size_t k = 0; k < sums_.size(); ++k) weights[k] -= share * sums_[k];
}

double& FlatOnline::weight_at(int64_t k) {
    const int64_t states = int64_t(weights_.cells.size());
    return k < states ? weights_.cells[size_t(k)].value : weights_.transitions[size_t(pairs_[size_t(k - states)])];
}

// Call visit(place of a weight, value) for each feature of a labelling.
template <class Visit>
void FlatOnline::visit(int64_t b, const int64_t* labels, const Visit& visit) const {
    const int64_t first = examples_.offsets[b], T = examples_.offsets[b + 1] - first, L = weights_.L;
    for (int64_t t = 0; t < T; ++t) {
        const int64_t y = labels[t];
        for (int64_t k = examples_.states[first + t]; k < examples_.states[first + t + 1]; ++k) {
            const size_t a = size_t(examples_.ids[k]);
            const auto begin = weights_.cells.begin() + weights_.offsets[a];
            const auto end = weights_.cells.begin() + weights_.offsets[a + 1];
            const auto cell = std::lower_bound(begin, end, y, [](const auto& c, int64_t label) { return c.label < label; });
            if (cell == end || cell->label != y) continue;
            visit(cell - weights_.cells.begin(), examples_.values ? examples_.values[k] : 1.0);
        }
        if (t == 0) continue;
        const int64_t place = places_[size_t(labels[t - 1] * L + y)];
        if (place >= 0) visit(place, 1.0);
    }
}

void FlatOnline::collect(int64_t b, const int64_t* labels, double factor) {
    visit(b, labels, [&](int64_t k, double value) {
        if (!is_active_[size_t(k)]) {
            is_active_[size_t(k)] = 1;
            active_.push_back(k);
        }
        delta_[size_t(k)] += factor * value;
    });
}

void FlatOnline::forget() {
    for (const int64_t k : active_) {
        delta_[size_t(k)] = 0;
        is_active_[size_t(k)] = 0;
    }
    active_.clear();
}

double FlatOnline::perceptron(int64_t b, const int64_t* gold, const int64_t* best, int64_t errors) {
    const double weight = examples_.weight(b);
    for (const double step : {weight, -weight}) {
        const double summed = step * seen_;
        visit(b, step == weight ? gold : best, [&](int64_t k, double value) {
            weight_at(k) += step * value;
            sums_[size_t(k)] += summed * value;
        });
    }
    const int64_t T = examples_.offsets[b + 1] - examples_.offsets[b];
    return double(errors) / double(T) * weight;
}

double FlatOnline::passive_aggressive(int64_t b, const int64_t* gold, const int64_t* best, int64_t errors,
                                      double behind) {
    const double cost = behind + (options_.error_sensitive ? std::sqrt(double(errors)) : 1.0);
    collect(b, gold, 1);
    collect(b, best, -1);
    double norm = 0;
    for (const int64_t k : active_) norm += delta_[size_t(k)] * delta_[size_t(k)];
    if (norm == 0) norm = 1;  // no weight tells the two apart: nothing changes
    double step = options_.type == 2 ? cost / (norm + 0.5 / options_.C) : cost / norm;
    if (options_.type == 1) step = std::min(options_.C, step);
    step *= examples_.weight(b);
    const double summed = step * seen_;
    for (const int64_t k : active_) {
        weight_at(k) += step * delta_[size_t(k)];
        sums_[size_t(k)] += summed * delta_[size_t(k)];
    }
    forget();
    return cost * examples_.weight(b);
}

double FlatOnline::arow(int64_t b, const int64_t* gold, const int64_t* best, int64_t errors, double behind) {
    const double cost = behind + double(errors), weight = examples_.weight(b);
    collect(b, gold, weight);
    collect(b, best, -weight);
    double spread = options_.gamma;
    for (const int64_t k : active_) spread += delta_[size_t(k)] * delta_[size_t(k)] * variances_[size_t(k)];
    const double step = cost / spread;
    for (const int64_t k : active_) {
        const double change = delta_[size_t(k)];
        double& variance = variances_[size_t(k)];
        weight_at(k) += step * variance * change;
        variance = 1 / (1 / variance + change * change / options_.gamma);
    }
    forget();
    return cost * weight;
}

Outcome FlatOnline::pass(const int64_t* order, int64_t count, double& loss, const Interrupted& interrupted) {
    Outcome outcome;
    int stop = 0;
    loss = 0;
    // One task on a thread of the pool, so that Ctrl-C is answered.
    outcome.finished = run(1, false, stop, interrupted, [&](long) {
        FlatDecoder decoder(weights_.L);
        decoder.use(weights_.transitions.data());
        std::vector<double> emissions;
        std::vector<int64_t> gold, best;
        for (int64_t n = 0; n < count && !stopped(&stop); ++n) {
            const int64_t b = order[n], first = examples_.offsets[b], T = examples_.offsets[b + 1] - first;
            if (T == 0) continue;
            const int64_t begin = examples_.states[first];
            emissions.resize(size_t(T * weights_.L));
            best.resize(size_t(T));
            gold.assign(examples_.labels + first, examples_.labels + first + T);
            weights_.emit(T, examples_.states + first, examples_.ids + begin,
                          examples_.values ? examples_.values + begin : nullptr, emissions.data());
            decoder.find(emissions.data(), T, best.data());
            int64_t errors = 0;
            for (int64_t t = 0; t < T; ++t) errors += gold[size_t(t)] != best[size_t(t)];
            if (errors > 0) {
                const double behind = decoder.score(emissions.data(), T, best.data()) -
                                      decoder.score(emissions.data(), T, gold.data());
                loss += options_.rule == Rule::perceptron ? perceptron(b, gold.data(), best.data(), errors)
                        : options_.rule == Rule::arow     ? arow(b, gold.data(), best.data(), errors, behind)
                                                          : passive_aggressive(b, gold.data(), best.data(), errors, behind);
                decoder.use(weights_.transitions.data());
            }
            seen_ += 1;
        }
    });
    return outcome;
}

}  // namespace tagline
