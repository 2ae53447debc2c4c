#include "training/likelihood.h"

#include "chain/blocks.h"

#include <algorithm>

namespace tagline {

namespace {

// A lane costs memory, and time to be added up: there are few lanes, and fewer where they are large.
constexpr int64_t kLaneTokens = 100'000, kMostLanes = 8, kLaneMemory = int64_t(1) << 29;

// Float32 sums of thousands of marginals lose digits: rows this frequent are moved to float64 every so many tokens. The
// hottest, of which every so many tokens have one, are moved more often: a sum of 4,096 marginals that are nearly 1
// loses what they lack to 1, and on CoNLL-2003 the gradient would be off by 1.7 (‖·‖) near the optimum, not by 0.1.
constexpr int64_t kHotCount = 2'000, kTokensBetweenFlushes = 4'096;
constexpr int64_t kHottestShare = 16, kTokensBetweenShortFlushes = 256;

// Sentences of like length are grouped among so many neighbours, whose rarer attributes lie side by side in memory.
constexpr int64_t kWindow = 256;

constexpr int64_t kParts = 64;  // of attributes, for adding up lanes in parallel

}  // namespace

template <class Real>
struct Likelihood<Real>::Lane {
    WeightMemory<Real> sums;
    std::vector<double> hot;  // [hot rows, stride]
    TransitionTable<double> transitions;
    int64_t dead = -1;
    bool is_clear = true;

    Lane(const Layout& layout, const TransitionLayout& between, size_t hot_rows)
        : sums(layout.make<Real>()), hot(hot_rows * size_t(layout.stride())), transitions(between) {}

    void clear() {
        sums.clear();
        clear_small();
    }

    // All but the sums by attribute, which are cleared as they are added up.
    void clear_small() {
        std::fill(hot.begin(), hot.end(), 0.0);
        transitions.clear();
        dead = -1;
        is_clear = true;
    }

    // Move the first `count` of these rows.
    void flush(const std::vector<uint32_t>& rows, size_t count) {
        const int64_t stride = sums.table().stride;
        double* total = hot.data();
        for (size_t r = 0; r < count; ++r) {
            Real* values = sums.table().rows + int64_t(rows[r]) * stride;
            for (int64_t j = 0; j < stride; ++j) {
                total[j] += values[j];
                values[j] = 0;
            }
            total += stride;
        }
    }
};

template <class Real>
Likelihood<Real>::~Likelihood() = default;

template <class Real>
Likelihood<Real>::Likelihood(std::shared_ptr<const Layout> layout, TransitionLayout transitions,
                             const Examples& examples)
    : layout_(std::move(layout)),
      transitions_(std::move(transitions)),
      examples_(examples),
      weights_(layout_->make<Real>()),
      transition_weights_(size_t(transitions_.size()), 0.0) {
    const int64_t N = examples_.offsets[examples_.B];
    const int64_t memory = layout_->rows() * layout_->stride() * int64_t(sizeof(Real)) +
                           layout_->cells() * int64_t(sizeof(WeightCell<Real>)) + 1;
    const int64_t most = std::clamp<int64_t>(kLaneMemory / memory, 1, kMostLanes);
    const int64_t wanted = std::clamp<int64_t>(N / kLaneTokens, 1, most);
    lane_offsets_.push_back(0);
    for (int64_t b = 0; b + 1 < examples_.B; ++b)
        if (examples_.offsets[b + 1] * wanted >= N * int64_t(lane_offsets_.size())) lane_offsets_.push_back(b + 1);
    lane_offsets_.push_back(examples_.B);

    if constexpr (sizeof(Real) == 4) {
        std::vector<int64_t> counts(size_t(layout_->rows()), 0);
        for (int64_t k = 0; k < examples_.states.row_offsets[N]; ++k) ++counts[examples_.states.rows[k]];
        for (size_t row = 0; row < counts.size(); ++row)
            if (counts[row] >= kHotCount) hot_rows_.push_back(uint32_t(row));
        hottest_ = size_t(std::stable_partition(hot_rows_.begin(), hot_rows_.end(),
                                                [&](uint32_t row) { return counts[row] * kHottestShare >= N; }) -
                          hot_rows_.begin());
    }
    for (size_t k = 0; k + 1 < lane_offsets_.size(); ++k) {
        lanes_.push_back(std::make_unique<Lane>(*layout_, transitions_, hot_rows_.size()));
    }
    observe();
}

template <class Real>
void Likelihood<Real>::observe() {
    const int64_t L = layout_->L();
    const WeightMemory<double> sums = layout_->make<double>();
    const WeightTable<double>& table = sums.table();
    const Occurrences& states = examples_.states;
    TransitionTable<double> counts(transitions_);
    for (int64_t b = 0; b < examples_.B; ++b) {
        const int64_t first = examples_.offsets[b], last = examples_.offsets[b + 1];
        if (first == last || examples_.partial(b)) continue;
        const double weight = examples_.weight(b);
        for (int64_t n = first; n < last; ++n) {
            const int32_t y = examples_.labels[n];
            for (int64_t k = states.row_offsets[n]; k < states.row_offsets[n + 1]; ++k)
                table.rows[int64_t(states.rows[k]) * table.stride + y] +=
                    weight * (states.row_values ? states.row_values[k] : 1);
            for (int64_t k = states.cell_offsets[n]; k < states.cell_offsets[n + 1]; ++k) {
                WeightCell<double>& cell = table.cells[states.cells[k]];
                if (cell.label == y) cell.value += weight * (states.cell_values ? states.cell_values[k] : 1);
            }
            if (n == first) continue;
            const int64_t pair = examples_.labels[n - 1] * L + y;
            counts.transitions[size_t(pair)] += weight;
            if (transitions_.second_order() && n > first + 1)
                add_triple(transitions_, examples_.labels + n, weight, counts);
            for (int64_t k = examples_.edges.offsets ? examples_.edges.offsets[n] : 0;
                 examples_.edges.offsets && k < examples_.edges.offsets[n + 1]; ++k) {
                const size_t a = size_t(examples_.edges.ids[k]);
                const double value = examples_.edges.values ? examples_.edges.values[k] : 1;
                for (int64_t q = transitions_.edge_offsets[a]; q < transitions_.edge_offsets[a + 1]; ++q)
                    if (transitions_.edge_pairs[size_t(q)] == pair) counts.edges[size_t(q)] += weight * value;
            }
        }
        counts.start[size_t(examples_.labels[first])] += weight;
        counts.end[size_t(examples_.labels[last - 1])] += weight;
    }
    observed_.resize(size_t(size()));
    layout_->each(table, 0, layout_->attributes(), [&](int64_t k, double value) { observed_[size_t(k)] = value; });
    counts.add_to(transitions_, observed_.data() + layout_->size());
}

template <class Real>
void Likelihood<Real>::run_lane(int64_t k, const TransitionTable<Real>& scores, const Prepared& prepared,
                                const Variant& variant, const Occurrences& states, bool curvature, double* losses,
                                const int* stop) {
    const int64_t L = layout_->L();
    Lane& lane = *lanes_[size_t(k)];
    if (!lane.is_clear) lane.clear();
    lane.is_clear = false;
    Expectations<Real> expectations(transitions_, examples_, variant, stop);
    expectations.use(scores, prepared, lane.transitions);
    int64_t unflushed = 0, recent = 0;
    const auto add = [&](int count, const int64_t* members) {
        if (!expectations.compute(weights_.table(), 1, count, members)) return false;
        for (int g = 0; g < count; ++g) {
            const auto& sentence = expectations[g];
            if (sentence.dead) {
                lane.dead = lane.dead < 0 ? sentence.index : std::min(lane.dead, sentence.index);
                continue;
            }
            losses[sentence.index] = sentence.log_z;
            if (!examples_.partial(sentence.index))
                losses[sentence.index] -= expectations.path_score(g, examples_.labels + sentence.first);
            for (int64_t cell = 0; curvature && cell < sentence.T * L; ++cell)
                sentence.nodes[cell] *= 1 - sentence.nodes[cell];
            const double weight = examples_.weight(sentence.index);
            kernels_of<Real>(variant).absorb(lane.sums.table(), states, sentence.first,
                                             sentence.first + sentence.T, Real(weight), sentence.nodes);
            expectations.add_counts(sentence, weight);
            unflushed += sentence.T;
            recent += sentence.T;
        }
        if (recent >= kTokensBetweenShortFlushes) {
            const bool all = unflushed >= kTokensBetweenFlushes;
            lane.flush(hot_rows_, all ? hot_rows_.size() : hottest_);
            unflushed = all ? 0 : unflushed;
            recent = 0;
        }
        return true;
    };
    const int64_t last = lane_offsets_[size_t(k) + 1];
    for (int64_t begin = lane_offsets_[size_t(k)]; begin < last && !*stop; begin += kWindow)
        for_groups(examples_.offsets, begin, std::min(begin + kWindow, last), add);
    lane.flush(hot_rows_, hot_rows_.size());
}

namespace {

std::vector<float> squares(const float* values, int64_t count) {
    std::vector<float> out(values ? size_t(count) : 0);
    for (size_t k = 0; k < out.size(); ++k) out[k] = values[k] * values[k];
    return out;
}

}  // namespace

template <class Real>
Outcome Likelihood<Real>::evaluate(const double* weights, bool curvature, double& value, double* gradient,
                                   const Interrupted& interrupted) {
    const int64_t A = layout_->attributes();
    layout_->load(weights, weights_.table());
    transition_weights_.assign(weights + layout_->size(), weights + size());
    TransitionTable<Real> scores(transitions_);
    scores.load(transitions_, weights + layout_->size());
    scores.forbid(transitions_);
    const bool per_position = examples_.edges.offsets != nullptr;
    const Variant& variant = active_variant();
    const Prepared prepared = Prepared::sums(kernels_of<Real>(variant), scores.common(per_position));
    std::vector<double> losses(size_t(examples_.B), 0.0);
    Occurrences states = examples_.states;
    const int64_t N = examples_.offsets[examples_.B];
    std::vector<float> row_squares, cell_squares;
    if (curvature && states.row_values) {
        row_squares = squares(states.row_values, states.row_offsets[N]);
        states.row_values = row_squares.data();
    }
    if (curvature && states.cell_values) {
        cell_squares = squares(states.cell_values, states.cell_offsets[N]);
        states.cell_values = cell_squares.data();
    }

    Outcome outcome;
    int stop = 0;
    const int64_t lanes = int64_t(lanes_.size());
    outcome.finished = run(lanes, lanes == 1 && N < 64, stop, interrupted, [&](long k) {
        run_lane(k, scores, prepared, variant, states, curvature, losses.data(), &stop);
    });
    if (!outcome.finished) return outcome;
    for (const auto& lane : lanes_)
        if (outcome.sentence < 0) outcome.sentence = lane->dead;

    // Σ over lanes, less what is observed.
    const auto less_observed = [&](int64_t k) { return curvature ? 0 : -observed_[size_t(k)]; };
    for (int64_t k = layout_->size(); k < size(); ++k) gradient[k] = less_observed(k);
    const auto never = [] { return false; };
    run(kParts, layout_->size() < 50'000, stop, never, [&](long part) {
        for (const auto& lane : lanes_)
            layout_->each(lane->sums.table(), A * part / kParts, A * (part + 1) / kParts,
                          [&](int64_t k, Real& sum) {
                              gradient[k] = (lane == lanes_.front() ? less_observed(k) : gradient[k]) + double(sum);
                              sum = 0;
                          });
    });
    layout_->each_row(hot_rows_, [&](size_t hot, int64_t k, int32_t label) {
        for (const auto& lane : lanes_) gradient[k] += lane->hot[hot * size_t(layout_->stride()) + size_t(label)];
    });
    for (const auto& lane : lanes_) lane->transitions.add_to(transitions_, gradient + layout_->size());
    for (const auto& lane : lanes_) lane->clear_small();

    // A sentence's loss is log Z less the score of its labels. Both come from the same emissions, rounded to Real, whose
    // errors so cancel: where the score is added up by weights in float64, float32 noise on CoNLL-2003 is 10 times larger.
    value = 0;
    for (int64_t b = 0; b < examples_.B; ++b) value += examples_.weight(b) * losses[size_t(b)];
    return outcome;
}

template class Likelihood<float>;
template class Likelihood<double>;

}  // namespace tagline
