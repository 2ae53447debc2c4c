#include "hmm/baum_welch.h"

#include "chain/blocks.h"
#include "chain/fallback.h"
#include "chain/log_forward_backward.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

namespace tagline {

namespace {

// Each block sums the counts of symbols in a table of its own. Where tables are large there are few blocks, so that
// clearing and adding them up stays below a tenth of the work, and all of them within this memory.
constexpr double kTableShare = 0.04;
constexpr int64_t kTableMemory = int64_t(1) << 28, kFewestBlocks = 2;

// Sentences go abreast where three quarters of the lanes are busy, over the tokens of the longest, and with few labels:
// with AVX-512 that takes 0.6 of the time with 10 labels, 0.75 with 20, 0.9 with 32, and 1.8 with 50.
constexpr int64_t kMostLabelsInLanes = 32;

bool fills_lanes(int64_t tokens, int64_t longest, int64_t lanes) { return 4 * tokens >= 3 * longest * lanes; }

constexpr int64_t kRowsInBlock = 2048, kFewDensities = 50'000;  // where only densities are asked for

int64_t most_blocks(const Batch<double>& batch, const ExpectedCounts& want) {
    if (!want.emissions) return kMostBlocks;
    const double table = double(batch.rows) * double(batch.L);
    const double by_work = kTableShare * double(batch.offsets[batch.B]) * double(batch.L) * double(batch.L) / table;
    const double by_memory = double(kTableMemory) / (8 * table);
    return std::clamp<int64_t>(int64_t(std::min(by_work, by_memory)), kFewestBlocks, kMostBlocks);
}

// Rows of S numbers for the kernels: 64-byte aligned, zeros at first.
class PaddedRows {
public:
    PaddedRows(int64_t rows, int64_t S) : S_(S) {
        memory_.reset(static_cast<double*>(aligned_allocate(size_t(rows * S), sizeof(double))));
        std::fill(memory_.get(), memory_.get() + rows * S, 0.0);
    }
    double* row(int64_t r) const { return memory_.get() + r * S_; }

private:
    int64_t S_;
    AlignedPointer<double> memory_;
};

// The Gaussians as the kernels read them.
struct Densities {
    PaddedRows memory;
    PaddedGaussians padded;

    Densities(const Gaussians& of, int64_t L, int64_t S)
        : memory(2 * of.D + 1, S), padded{memory.row(0), memory.row(of.D), memory.row(2 * of.D), of.D} {
        const double pi = std::acos(-1.0);
        for (int64_t j = 0; j < S; ++j)
            for (int64_t d = 0; d < of.D; ++d) {
                const int64_t place = (j < L ? j : 0) * of.D + d;
                memory.row(d)[j] = of.means[place];
                memory.row(of.D + d)[j] = std::sqrt(0.5 / of.variances[place]);
                memory.row(2 * of.D)[j] -= 0.5 * std::log(2 * pi * of.variances[place]);
            }
    }
};

// The counts of one block.
struct BlockCounts {
    PaddedRows start, products;           // [1, S], [L, S] before they are multiplied by E
    PaddedRows emitted;                   // [rows, S] of symbols, [1 + 2 D, S] moments, or nothing
    std::vector<double> transitions;  // [L, L], of sentences worked out in the log domain

    BlockCounts(int64_t L, int64_t S, int64_t rows)
        : start(1, S), products(L, S), emitted(rows, S), transitions(size_t(L * L), 0.0) {}
};

// Memory that blocks use one after the other: as many as there are blocks at work at a time.
class ScratchPool {
public:
    struct Scratch {
        Arena recursions, rows;  // of the kernels, and rows of scores that are made here
    };

    std::unique_ptr<Scratch> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return std::make_unique<Scratch>();
        std::unique_ptr<Scratch> scratch = std::move(free_.back());
        free_.pop_back();
        return scratch;
    }

    void give_back(std::unique_ptr<Scratch> scratch) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(scratch));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> free_;
};

// The sentences of one block.
class Counter {
public:
    Counter(const Batch<double>& batch, const bool* allowed, const Gaussians* gaussians, const Densities* densities,
            const ExpectedCounts& want, const CountingKernels& kernels, const Prepared& prepared, BlockCounts& counts,
            ScratchPool::Scratch& scratch, const int* stop)
        : batch_(batch), allowed_(allowed), gaussians_(gaussians), densities_(densities), want_(want),
          kernels_(kernels), prepared_(prepared), counts_(counts), scratch_(scratch.recursions), rows_(scratch.rows),
          stop_(stop) {}

    // Count up to kMostAbreast sentences, longest first; the status of one whose emissions are no scores is
    // Status::guard.
    void count(int count, const int64_t* members, Status* status) {
        rows_.reset();
        for (int g = 0; g < count; ++g) {
            const int64_t b = members[g];
            scores_[g] = sentence(b);
            sentence_counts_[g] = {want_.log_z + b,
                                   want_.nodes ? want_.nodes + batch_.offsets[b] * batch_.L : nullptr,
                                   want_.emissions ? counts_.emitted.row(0) : nullptr,
                                   batch_.symbols ? batch_.symbols + batch_.offsets[b] : nullptr,
                                   want_.moments ? counts_.emitted.row(0) : nullptr,
                                   counts_.start.row(0),
                                   counts_.products.row(0)};
        }
        if (!count_abreast(count, status)) std::fill(status, status + count, Status::guard);
        int waiting[kMostAbreast], number = 0;
        for (int g = 0; g < count; ++g)
            if (status[g] == Status::guard) waiting[number++] = g;
        for (int k = 0; k < number; k += kGroup) count_group(std::min(number - k, kGroup), waiting + k, status);
        for (int g = 0; g < count; ++g)
            if (status[g] == Status::guard)
                status[g] = in_log_domain(scores_[g], members[g], sentence_counts_[g].nodes);
    }

private:
    const Batch<double>& batch_;
    const bool* allowed_;
    const Gaussians* gaussians_;
    const Densities* densities_;
    const ExpectedCounts& want_;
    const CountingKernels& kernels_;
    const Prepared& prepared_;
    BlockCounts& counts_;
    Arena &scratch_, &rows_;
    const int* stop_;
    Scores<double> scores_[kMostAbreast];
    SentenceCounts sentence_counts_[kMostAbreast];

    // Sentences a lane each; false where that cannot be, or is slower.
    bool count_abreast(int count, Status* status) {
        if (allowed_ || batch_.L > kMostLabelsInLanes) return false;
        int64_t tokens = 0;
        for (int g = 0; g < count; ++g) tokens += scores_[g].T;
        if (!fills_lanes(tokens, scores_[0].T, kernels_.abreast)) return false;
        scratch_.reset();
        return kernels_.count_abreast(count, scores_, prepared_.get(), sentence_counts_, status, scratch_, stop_);
    }

    // Up to kGroup of the sentences, labels across lanes.
    void count_group(int count, const int* places, Status* status) {
        Scores<double> scores[kGroup];
        SentenceCounts sentence_counts[kGroup];
        Status ended[kGroup];
        for (int g = 0; g < count; ++g) {
            scores[g] = scores_[places[g]];
            sentence_counts[g] = sentence_counts_[places[g]];
        }
        scratch_.reset();
        kernels_.count(count, scores, prepared_.get(), sentence_counts, ended, scratch_, stop_);
        for (int g = 0; g < count; ++g) status[places[g]] = ended[g];
    }

    double* take(int64_t count) { return static_cast<double*>(rows_.take(size_t(count), sizeof(double))); }

    Scores<double> sentence(int64_t b) {
        const int64_t token = batch_.offsets[b], T = batch_.offsets[b + 1] - token, L = batch_.L;
        if (gaussians_) {
            const double* x = gaussians_->x + token * gaussians_->D;
            return {x, batch_.transitions, batch_.start, batch_.end, T, L, false, nullptr, 0, &densities_->padded};
        }
        const Scores<double> s = batch_.sentence(b);
        if (!allowed_) return s;
        const bool *first = allowed_ + token * L, *last = first + T * L;
        return std::find(first, last, false) == last ? s : narrowed(s, first);
    }

    // The sentence with −∞ written where a label is not allowed.
    Scores<double> narrowed(const Scores<double>& s, const bool* allowed) {
        double* rows = take(s.T * s.L);
        for (int64_t t = 0; t < s.T; ++t) {
            const double* row = s.emissions + row_at(s, t) * s.L;
            for (int64_t j = 0; j < s.L; ++j) rows[t * s.L + j] = allowed[t * s.L + j] ? row[j] : -kInf;
        }
        return {rows, s.transitions, s.start, s.end, s.T, s.L, s.per_position};
    }

    // The sentence with a row of scores for each token.
    Scores<double> plain(const Scores<double>& s) {
        if (!s.gaussians) return expand(s, rows_);
        double* rows = take(s.T * s.L);
        kernels_.log_densities(*s.gaussians, s.emissions, s.T, s.L, rows, rows_);
        return {rows, s.transitions, s.start, s.end, s.T, s.L, s.per_position};
    }

    Status in_log_domain(const Scores<double>& scores, int64_t b, double* nodes) {
        const Scores<double> s = plain(scores);
        const auto is_score = [](double value) { return value < kInf; };
        if (!std::all_of(s.emissions, s.emissions + s.T * s.L, is_score)) return Status::guard;
        Answers<double> answers{};
        answers.log_z = want_.log_z + b;
        answers.nodes = nodes ? nodes : take(s.T * s.L);
        answers.start_counts = counts_.start.row(0);
        answers.transition_counts = counts_.transitions.data();
        scratch_.reset();
        const Status status = log_posterior(s, answers, scratch_, stop_);
        if (status == Status::done && want_.emissions) add_symbols(b, s.T, answers.nodes);
        if (status == Status::done && want_.moments) add_moments(scores, answers.nodes);
        return status;
    }

    void add_symbols(int64_t b, int64_t T, const double* nodes) {
        const int64_t L = batch_.L, *symbols = batch_.symbols + batch_.offsets[b];
        for (int64_t t = 0; t < T; ++t)
            for (int64_t j = 0; symbols[t] >= 0 && j < L; ++j) counts_.emitted.row(symbols[t])[j] += nodes[t * L + j];
    }

    void add_moments(const Scores<double>& s, const double* nodes) {
        const PaddedRows rows(s.T, kernels_.padded(s.L));
        for (int64_t t = 0; t < s.T; ++t) std::copy(nodes + t * s.L, nodes + (t + 1) * s.L, rows.row(t));
        kernels_.add_moments(*s.gaussians, s.emissions, rows.row(0), s.T, s.L, counts_.emitted.row(0));
    }
};

// Add up what the blocks have, in their order.
void add_up(const std::vector<BlockCounts>& by_block, int64_t L, int64_t rows, const CountingKernels& kernels,
            const Prepared& prepared, const ExpectedCounts& want) {
    double* emitted = want.emissions ? want.emissions : want.moments;
    std::fill(want.start, want.start + L, 0.0);
    std::fill(want.transitions, want.transitions + L * L, 0.0);
    std::fill(emitted, emitted + rows * L, 0.0);
    for (const BlockCounts& block : by_block) {
        kernels.finish(prepared.get(), block.products.row(0), L, want.transitions);
        for (int64_t k = 0; k < L * L; ++k) want.transitions[k] += block.transitions[size_t(k)];
        for (int64_t j = 0; j < L; ++j) want.start[j] += block.start.row(0)[j];
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t j = 0; j < L; ++j) emitted[r * L + j] += block.emitted.row(r)[j];
    }
}

}  // namespace

CountsOutcome expected_counts(const Batch<double>& batch, const bool* allowed, const Gaussians* gaussians,
                              const ExpectedCounts& want, const Interrupted& interrupted) {
    const Variant& variant = active_variant();
    const int64_t L = batch.L, S = variant.counting.padded(L);
    const int64_t rows = want.emissions ? batch.rows - 1 : want.moments ? 1 + 2 * gaussians->D : 0;
    const Scores<double> common{batch.emissions, batch.transitions, batch.start, batch.end, 0, L, false, nullptr,
                                batch.rows};
    const Prepared prepared = Prepared::sums(variant.float64, common);
    std::unique_ptr<const Densities> densities;
    if (gaussians) densities = std::make_unique<const Densities>(*gaussians, L, S);
    const ByLength sorted(batch.offsets, batch.B);
    const Blocks blocks(sorted.token_offsets.data(), batch.B, L, most_blocks(batch, want), L <= kMostLabelsInLanes);
    std::vector<BlockCounts> by_block;
    for (int64_t k = 0; k < blocks.count(); ++k) by_block.emplace_back(L, S, rows);
    std::fill(want.log_z, want.log_z + batch.B, 0.0);  // an empty sentence: one labelling, score 0
    FirstSentence dead, bad;
    ScratchPool scratch_pool;
    CountsOutcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t k, int64_t first, int64_t last, const int* stop) {
        std::unique_ptr<ScratchPool::Scratch> scratch = scratch_pool.take();
        Counter counter(batch, allowed, gaussians, densities.get(), want, variant.counting, prepared,
                        by_block[size_t(k)], *scratch, stop);
        while (first < last && sorted.is_empty(last - 1)) --last;
        for (int64_t n = first; n < last && !stopped(stop); n += variant.counting.abreast) {
            Status status[kMostAbreast];
            const int64_t* members = sorted.order.data() + n;
            const int count = int(std::min<int64_t>(variant.counting.abreast, last - n));
            counter.count(count, members, status);
            for (int g = 0; g < count; ++g) {
                if (status[g] == Status::guard) bad.report(members[g]);
                if (status[g] == Status::no_path) dead.report(members[g]);
            }
        }
        scratch_pool.give_back(std::move(scratch));
    });
    add_up(by_block, L, rows, variant.counting, prepared, want);
    outcome.sentence = dead.value();
    outcome.bad = bad.value();
    return outcome;
}

bool log_densities(const Gaussians& gaussians, int64_t N, int64_t L, double* out, const Interrupted& interrupted) {
    const CountingKernels& kernels = active_variant().counting;
    const Densities densities(gaussians, L, kernels.padded(L));
    int stop = 0;
    return run((N + kRowsInBlock - 1) / kRowsInBlock, N * L < kFewDensities, stop, interrupted, [&](long block) {
        const int64_t first = block * kRowsInBlock, count = std::min(N - first, kRowsInBlock);
        Arena scratch;
        kernels.log_densities(densities.padded, gaussians.x + first * gaussians.D, count, L, out + first * L, scratch);
    });
}

}  // namespace tagline
