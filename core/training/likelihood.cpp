#include "training/likelihood.h"

#include "chain/blocks.h"

#include <algorithm>
#include <bit>

namespace tagline {

namespace {

// Lanes cost memory: so many are held at once, and fewer where they are large. The others wait for their turn.
constexpr int64_t kMostHeld = 8, kLeastHeld = 2, kHeldMemory = int64_t(1) << 29;

// Float32 sums of thousands of marginals lose digits: rows this frequent are moved to float64 every so many tokens. The
// hottest, of which every so many tokens have one, are moved more often: a sum of 4,096 marginals that are nearly 1
// loses what they lack to 1, and on CoNLL-2003 the gradient would be off by 1.7 (‖·‖) near the optimum, not by 0.1.
constexpr int64_t kHotCount = 2'000, kTokensBetweenFlushes = 4'096;
constexpr int64_t kHottestShare = 16, kTokensBetweenShortFlushes = 256;

// Bundles likewise, by their tokens in one lane. A bundle's marginals are most often those of all its attributes, so
// these are moved more often than rows: with the counts of rows the gradient would be worse than without bundles.
constexpr int64_t kHotBundleCount = 128, kHottestBundleShare = 64;

// Sentences of like length are grouped among so many neighbours, whose rarer attributes lie side by side in memory.
constexpr int64_t kWindow = 256;

constexpr int64_t kLeastParts = 64, kPartWeights = 8'192;  // of attributes, for adding up lanes in parallel

// Add up vectors of n numbers, a power of two of them: neighbours first, then neighbouring pairs, and so on. The sum is
// left in the first.
void add_in_pairs(const std::vector<double*>& vectors, int64_t n) {
    for (size_t step = 1; step < vectors.size(); step *= 2)
        for (size_t v = 0; v < vectors.size(); v += 2 * step) {
            double* to = vectors[v];
            const double* from = vectors[v + step];
            for (int64_t k = 0; k < n; ++k) to[k] += from[k];
        }
}

// The same of `count` vectors that follow one another in memory.
void add_in_pairs(double* vectors, int64_t n, int64_t count) {
    std::vector<double*> each;
    for (int64_t v = 0; v < count; ++v) each.push_back(vectors + v * n);
    add_in_pairs(each, n);
}

// Move the sums of attributes from … to − 1 to `out`, in the order of flat weights; zeros stay behind.
template <class Real>
void take_sums(const Layout& layout, const WeightTable<Real>& table, int64_t from, int64_t to, double* out) {
    const int64_t begin = layout.first_weight(from);
    layout.each(table, from, to, [&](int64_t k, Real& sum) {
        out[k - begin] = double(sum);
        sum = 0;
    });
}

}  // namespace

template <class Real>
struct Likelihood<Real>::Lane {
    WeightMemory<Real> sums;
    std::vector<double> hot;          // [hot rows, stride]
    std::vector<double> hot_bundles;  // [the lane's hot bundles, stride]
    TransitionTable<double> transitions;
    int64_t dead = -1;
    bool is_clear = true;

    Lane(const Layout& layout, const TransitionTable<double>& zeros, size_t hot_rows, int64_t spare)
        : sums(layout.make<Real>(spare)), hot(hot_rows * size_t(layout.stride())), transitions(zeros) {}

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

    // Move the first `count` of these rows to totals.
    void flush(const std::vector<uint32_t>& rows, size_t count, std::vector<double>& totals) {
        const int64_t stride = sums.table().stride;
        double* total = totals.data();
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

// What is asked at one point.
template <class Real>
struct Likelihood<Real>::Question {
    const TransitionTable<Real>& scores;
    const Prepared& prepared;
    const Variant& variant;
    Occurrences states;  // with squared values where the curvature is asked for
    bool curvature;
    double* losses;      // [B]
    const Interrupted& interrupted;
};

template <class Real>
Likelihood<Real>::Likelihood(std::shared_ptr<const Layout> layout, TransitionLayout transitions,
                             const Examples& examples, const Lanes& lanes)
    : layout_(std::move(layout)),
      transitions_(std::move(transitions)),
      examples_(examples),
      lane_offsets_(lanes.offsets),
      lane_states_(lanes.states),
      weights_(layout_->make<Real>(lane_states_.empty() ? 0 : held(*layout_, this->lanes()) * kMostBundles)),
      transition_weights_(size_t(transitions_.size()), 0.0) {
    if constexpr (sizeof(Real) == 4) find_hot_rows(lanes);
    if (!lane_states_.empty()) find_hot_bundles();
    TransitionTable<double> zeros(transitions_);
    zeros.transitions.clear();  // made when it is known for which pairs
    zeros.transitions.shrink_to_fit();
    for (int64_t k = 0; k < held(*layout_, this->lanes()); ++k) {
        const int64_t spare = lane_states_.empty() ? 0 : (k + 1) * kMostBundles;
        slots_.push_back(std::make_unique<Lane>(*layout_, zeros, hot_rows_.size(), spare));
    }
    if (lanes.counts) return;
    observed_.resize(size_t(size()));
    observed(0, this->lanes(), observed_.data());
}

template <class Real>
int64_t Likelihood<Real>::held(const Layout& layout, int64_t lanes) {
    const int64_t memory = layout.rows() * layout.stride() * int64_t(sizeof(Real)) +
                           layout.cells() * int64_t(sizeof(WeightCell<Real>)) + 1;
    const int64_t most = std::min(lanes, std::clamp(kHeldMemory / memory, kLeastHeld, kMostHeld));
    return int64_t(std::bit_floor(uint64_t(most)));
}

template <class Real>
int64_t Likelihood<Real>::bundles() const {
    int64_t count = 0;
    for (const LaneStates& lane : lane_states_) count += lane.bundles;
    return count;
}

template <class Real>
void Likelihood<Real>::find_hot_rows(const Lanes& lanes) {
    std::vector<int64_t> counts(size_t(layout_->rows()), 0);
    const int64_t own = examples_.offsets[examples_.B], N = lanes.counts ? lanes.N : own;
    if (lanes.counts) {
        for (int64_t a = 0; a < layout_->attributes(); ++a)
            if (layout_->location(a).is_row) counts[layout_->location(a).first] = lanes.counts[a];
    } else {
        for (int64_t k = 0; k < examples_.states.row_offsets[own]; ++k) ++counts[examples_.states.rows[k]];
    }
    for (size_t row = 0; row < counts.size(); ++row)
        if (counts[row] >= kHotCount) hot_rows_.push_back(uint32_t(row));
    hottest_ = size_t(std::stable_partition(hot_rows_.begin(), hot_rows_.end(),
                                            [&](uint32_t row) { return counts[row] * kHottestShare >= N; }) -
                      hot_rows_.begin());
}

template <class Real>
void Likelihood<Real>::find_hot_bundles() {
    hot_places_.assign(size_t(layout_->rows()), -1);
    for (size_t place = 0; place < hot_rows_.size(); ++place) hot_places_[hot_rows_[place]] = int32_t(place);
    for (int64_t k = 0; k < lanes(); ++k) {
        const LaneStates& lane = lane_states_[size_t(k)];
        HotBundles hot;
        hot.places.assign(size_t(lane.bundles), -1);
        const int64_t N = examples_.offsets[lane_offsets_[size_t(k) + 1]] - examples_.offsets[lane_offsets_[size_t(k)]];
        for (int64_t b = 0; sizeof(Real) == 4 && b < lane.bundles; ++b)
            if (lane.counts[b] >= kHotBundleCount) hot.rows.push_back(uint32_t(lane.first_row + b));
        const auto count = [&](uint32_t row) { return lane.counts[row - lane.first_row]; };
        hot.hottest = size_t(std::stable_partition(hot.rows.begin(), hot.rows.end(), [&](uint32_t row) {
                                 return count(row) * kHottestBundleShare >= N;
                             }) - hot.rows.begin());
        for (size_t place = 0; place < hot.rows.size(); ++place)
            hot.places[hot.rows[place] - lane.first_row] = int32_t(place);
        hot_bundles_.push_back(std::move(hot));
    }
}

template <class Real>
void Likelihood<Real>::observe_lane(int64_t k, double* sums) const {
    const int64_t L = layout_->L();
    const WeightMemory<double> memory = layout_->make<double>();
    const WeightTable<double>& table = memory.table();
    const Occurrences& states = examples_.states;
    TransitionTable<double> counts(transitions_);
    for (int64_t b = lane_offsets_[size_t(k)]; b < lane_offsets_[size_t(k) + 1]; ++b) {
        const int64_t first = examples_.offsets[b], last = examples_.offsets[b + 1];
        if (first == last || examples_.partial(b)) continue;
        const double weight = examples_.weight(b);
        for (int64_t n = first; n < last; ++n) {
            const int32_t y = examples_.labels[n];
            for (int64_t i = states.row_offsets[n]; i < states.row_offsets[n + 1]; ++i)
                table.rows[int64_t(states.rows[i]) * table.stride + y] +=
                    weight * (states.row_values ? states.row_values[i] : 1);
            for (int64_t i = states.cell_offsets[n]; i < states.cell_offsets[n + 1]; ++i) {
                WeightCell<double>& cell = table.cells[states.cells[i]];
                if (cell.label == y) cell.value += weight * (states.cell_values ? states.cell_values[i] : 1);
            }
            if (n == first) continue;
            const int64_t pair = examples_.labels[n - 1] * L + y;
            counts.transitions[size_t(pair)] += weight;
            if (transitions_.second_order() && n > first + 1)
                add_triple(transitions_, examples_.labels + n, weight, counts);
            for (int64_t i = examples_.edges.offsets ? examples_.edges.offsets[n] : 0;
                 examples_.edges.offsets && i < examples_.edges.offsets[n + 1]; ++i) {
                const size_t a = size_t(examples_.edges.ids[i]);
                const double value = examples_.edges.values ? examples_.edges.values[i] : 1;
                for (int64_t q = transitions_.edge_offsets[a]; q < transitions_.edge_offsets[a + 1]; ++q)
                    if (transitions_.edge_pairs[size_t(q)] == pair) counts.edges[size_t(q)] += weight * value;
            }
        }
        counts.start[size_t(examples_.labels[first])] += weight;
        counts.end[size_t(examples_.labels[last - 1])] += weight;
    }
    layout_->each(table, 0, layout_->attributes(), [&](int64_t q, double value) { sums[q] = value; });
    std::fill(sums + layout_->size(), sums + size(), 0.0);
    counts.add_to(transitions_, sums + layout_->size());
}

template <class Real>
void Likelihood<Real>::observed(int64_t first, int64_t count, double* sums) const {
    if (count == 1) return observe_lane(first, sums);
    std::vector<double> other(static_cast<size_t>(size()));
    observed(first, count / 2, sums);
    observed(first + count / 2, count / 2, other.data());
    for (int64_t k = 0; k < size(); ++k) sums[k] += other[size_t(k)];
}

// The weights of a lane's bundles, each the sum of its attributes', and zeros where they will be summed up.
template <class Real>
void Likelihood<Real>::load_bundles(int64_t k, const Variant& variant) const {
    constexpr int64_t kBlock = 256;  // bundles
    const LaneStates& lane = *bundled(k);
    const WeightTable<Real>& table = weights_.table();
    std::vector<Real> block(size_t(kBlock * table.L));
    for (int64_t begin = 0; begin < lane.bundles; begin += kBlock) {
        const int64_t behind = std::min(begin + kBlock, lane.bundles);
        kernels_of<Real>(variant).emit(table, lane.members, begin, behind, 1, false, block.data());
        Real* row = table.rows + (lane.first_row + begin) * table.stride;
        for (int64_t b = begin; b < behind; ++b, row += table.stride) {
            std::copy_n(block.data() + (b - begin) * table.L, table.L, row);
            std::fill(row + table.L, row + table.stride, Real(0));
        }
    }
    std::fill_n(slot(k).sums.table().rows + lane.first_row * table.stride, lane.bundles * table.stride, Real(0));
    slot(k).hot_bundles.assign(hot_bundles_[size_t(k)].rows.size() * size_t(table.stride), 0.0);
}

// Add the sums of a lane's bundles to those of their attributes. Those of hot rows are float64; others are added to
// fewer times than without bundles, so that they lose no more digits.
template <class Real>
void Likelihood<Real>::spread_bundles(int64_t k) const {
    const LaneStates& states = *bundled(k);
    Lane& lane = slot(k);
    const WeightTable<Real>& sums = lane.sums.table();
    const int64_t stride = sums.stride;
    const Occurrences& members = states.members;
    std::vector<double> total(static_cast<size_t>(stride));
    for (int64_t b = 0; b < states.bundles; ++b) {
        const Real* own = sums.rows + (states.first_row + b) * stride;
        const int32_t place = hot_bundles_[size_t(k)].places[size_t(b)];
        for (int64_t j = 0; j < stride; ++j)
            total[size_t(j)] = double(own[j]) + (place < 0 ? 0 : lane.hot_bundles[size_t(place * stride + j)]);
        for (int64_t i = members.row_offsets[b]; i < members.row_offsets[b + 1]; ++i) {
            const int64_t row = members.rows[i];
            const int32_t hot_place = hot_places_[size_t(row)];
            double* const hot = hot_place < 0 ? nullptr : &lane.hot[size_t(hot_place * stride)];
            for (int64_t j = 0; hot && j < stride; ++j) hot[j] += total[size_t(j)];
            for (int64_t j = 0; !hot && j < stride; ++j) sums.rows[row * stride + j] += Real(total[size_t(j)]);
        }
        for (int64_t i = members.cell_offsets[b]; i < members.cell_offsets[b + 1]; ++i) {
            WeightCell<Real>& cell = sums.cells[members.cells[i]];
            cell.value += Real(total[size_t(cell.label)]);
        }
    }
}

template <class Real>
void Likelihood<Real>::run_lane(int64_t k, const Question& question, const int* stop) const {
    const int64_t L = layout_->L();
    Lane& lane = slot(k);
    const Variant& variant = question.variant;
    const bool curvature = question.curvature;
    double* losses = question.losses;
    if (!lane.is_clear) lane.clear();
    lane.is_clear = false;
    Examples examples = examples_;
    Occurrences states = question.states;
    const HotBundles no_bundles, *hot_bundles = &no_bundles;
    if (const LaneStates* own = bundled(k)) {
        load_bundles(k, variant);
        examples.states = states = own->tokens;
        examples.first_token = examples.offsets[lane_offsets_[size_t(k)]];
        hot_bundles = &hot_bundles_[size_t(k)];
    }
    Expectations<Real> expectations(transitions_, examples, variant, stop);
    expectations.use(question.scores, question.prepared, lane.transitions);
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
            const int64_t first = sentence.first - examples.first_token;
            kernels_of<Real>(variant).absorb(lane.sums.table(), states, first, first + sentence.T, Real(weight),
                                             sentence.nodes);
            expectations.add_counts(sentence, weight);
            unflushed += sentence.T;
            recent += sentence.T;
            if (recent < kTokensBetweenShortFlushes) continue;
            const bool all = unflushed >= kTokensBetweenFlushes;
            lane.flush(hot_rows_, all ? hot_rows_.size() : hottest_, lane.hot);
            lane.flush(hot_bundles->rows, all ? hot_bundles->rows.size() : hot_bundles->hottest, lane.hot_bundles);
            unflushed = all ? 0 : unflushed;
            recent = 0;
        }
        return true;
    };
    const int64_t last = lane_offsets_[size_t(k) + 1];
    for (int64_t begin = lane_offsets_[size_t(k)]; begin < last && !*stop; begin += kWindow)
        for_groups(examples_.offsets, begin, std::min(begin + kWindow, last), add, expectations.most());
    lane.flush(hot_rows_, hot_rows_.size(), lane.hot);
    if (bundled(k) && !*stop) spread_bundles(k);
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
    const Outcome outcome = expected(weights, curvature, 0, lanes(), value, gradient, interrupted);
    if (outcome.finished && !curvature)
        for (int64_t k = 0; k < size(); ++k) gradient[k] -= observed_[size_t(k)];
    return outcome;
}

template <class Real>
Outcome Likelihood<Real>::expected(const double* weights, bool curvature, int64_t first, int64_t count, double& value,
                                   double* sums, const Interrupted& interrupted) {
    layout_->load(weights, weights_.table());
    transition_weights_.assign(weights + layout_->size(), weights + size());
    TransitionTable<Real> scores(transitions_);
    scores.load(transitions_, weights + layout_->size());
    scores.forbid(transitions_);
    const bool per_position = examples_.edges.offsets != nullptr;
    const Variant& variant = active_variant();
    const Kernels<Real>& kernels = kernels_of<Real>(variant);
    const Scores<Real> common = scores.common(per_position);
    const bool dense = transitions_.local || transitions_.second_order();
    const Prepared prepared = Prepared::sums(kernels, common, dense ? nullptr : PairLists::choose(common, kernels));
    const TransitionTable<double> zeros(transitions_, prepared.legal());
    for (const auto& lane : slots_) {
        lane->transitions.legal = zeros.legal;
        if (lane->transitions.transitions.size() != zeros.transitions.size())
            lane->transitions.transitions = zeros.transitions;
    }
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
    const Question question{scores, prepared, variant, states, curvature, losses.data(), interrupted};
    Outcome outcome;
    outcome.finished = sum_branch(first, count, question, outcome, value, sums);
    return outcome;
}

// A branch that is larger than what is held at once is two branches, one after the other.
template <class Real>
bool Likelihood<Real>::sum_branch(int64_t first, int64_t count, const Question& question, Outcome& outcome,
                                  double& value, double* sums) {
    if (count <= int64_t(slots_.size())) return sum_held(first, count, question, outcome, value, sums);
    std::vector<double> other(static_cast<size_t>(size()));
    double other_value = 0;
    if (!sum_branch(first, count / 2, question, outcome, value, sums)) return false;
    if (!sum_branch(first + count / 2, count / 2, question, outcome, other_value, other.data())) return false;
    value += other_value;
    for (int64_t k = 0; k < size(); ++k) sums[k] += other[size_t(k)];
    return true;
}

template <class Real>
bool Likelihood<Real>::sum_held(int64_t first, int64_t count, const Question& question, Outcome& outcome,
                                double& value, double* sums) {
    int stop = 0;
    const int64_t begin = examples_.offsets[lane_offsets_[size_t(first)]];
    const int64_t tokens = examples_.offsets[lane_offsets_[size_t(first + count)]] - begin;
    const bool finished = run(count, count == 1 && tokens < 64, stop, question.interrupted,
                              [&](long k) { run_lane(first + k, question, &stop); });
    if (!finished) return false;
    for (int64_t k = 0; k < count; ++k)
        if (outcome.sentence < 0) outcome.sentence = slot(first + k).dead;
    add_up(first, count, sums);
    for (int64_t k = 0; k < count; ++k) slot(first + k).clear_small();

    // A sentence's loss is log Z less the score of its labels. Both come from the same emissions, rounded to Real, whose
    // errors so cancel: where the score is added up by weights in float64, float32 noise on CoNLL-2003 is 10 times larger.
    std::vector<double> values(size_t(count), 0.0);
    for (int64_t k = 0; k < count; ++k)
        for (int64_t b = lane_offsets_[size_t(first + k)]; b < lane_offsets_[size_t(first + k) + 1]; ++b)
            values[size_t(k)] += examples_.weight(b) * question.losses[b];
    add_in_pairs(values.data(), 1, count);
    value = values[0];
    return true;
}

// The sums of `count` lanes from `first` on, which are cleared on the way.
template <class Real>
void Likelihood<Real>::add_up(int64_t first, int64_t count, double* sums) {
    const int64_t A = layout_->attributes(), parts = std::max(kLeastParts, layout_->size() / kPartWeights);
    int stop = 0;
    run(parts, layout_->size() < 50'000, stop, [] { return false; }, [&](long part) {
        const int64_t from = A * part / parts, to = A * (part + 1) / parts;
        const int64_t begin = layout_->first_weight(from), n = layout_->first_weight(to) - begin;
        UnsetVector<double> others(size_t(n * (count - 1)));
        std::vector<double*> vectors{sums + begin};
        for (int64_t lane = 1; lane < count; ++lane) vectors.push_back(others.data() + (lane - 1) * n);
        for (int64_t lane = 0; lane < count; ++lane)
            take_sums(*layout_, slot(first + lane).sums.table(), from, to, vectors[size_t(lane)]);
        add_in_pairs(vectors, n);
    });
    std::vector<double> of_lanes(static_cast<size_t>(count));
    std::vector<double*> each_lane;
    for (double& sum : of_lanes) each_lane.push_back(&sum);
    layout_->each_row(hot_rows_, [&](size_t hot, int64_t k, int32_t label) {
        for (int64_t lane = 0; lane < count; ++lane)
            of_lanes[size_t(lane)] = slot(first + lane).hot[hot * size_t(layout_->stride()) + size_t(label)];
        add_in_pairs(each_lane, 1);
        sums[k] = of_lanes[0];  // the row itself was emptied when the lane ended
    });
    const int64_t n = transitions_.size();
    std::vector<double> between(size_t(n * count), 0.0);
    for (int64_t lane = 0; lane < count; ++lane)
        slot(first + lane).transitions.add_to(transitions_, between.data() + lane * n);
    add_in_pairs(between.data(), n, count);
    std::copy_n(between.data(), n, sums + layout_->size());
}

template class Likelihood<float>;
template class Likelihood<double>;

}  // namespace tagline
