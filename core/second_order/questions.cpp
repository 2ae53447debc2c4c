#include "second_order/questions.h"

#include "chain/blocks.h"
#include "chain/ranking.h"
#include "chain/variants.h"
#include "second_order/posterior.h"
#include "second_order/viterbi.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace tagline {

namespace {

// Spread sentences; a token takes about as long as this many label pairs of a first-order chain for each label squared.
Blocks blocks_of(const Batch<double>& batch) {
    const int64_t like = int64_t(std::ceil(double(batch.L) * std::sqrt(double(batch.L))));
    return Blocks(batch.offsets, batch.B, 2 * like);
}

// Call work(block, sentence, stop) for the sentences with tokens; it says how each ended.
template <class Make>
Outcome for_sentences(const Blocks& blocks, const int64_t* offsets, const Interrupted& interrupted, const Make& make) {
    FirstSentence dead;
    Outcome outcome;
    outcome.finished = for_blocks(blocks, interrupted, [&](int64_t k, int64_t first, int64_t last, const int* stop) {
        auto work = make(k, stop);
        for (int64_t b = first; b < last; ++b) {
            if (offsets[b + 1] == offsets[b]) continue;
            const Status status = work(b);
            if (status == Status::stopped) return;
            if (status == Status::no_path) dead.report(b);
        }
    });
    outcome.sentence = dead.value();
    return outcome;
}

Scores<double> common_part(const Batch<double>& batch) {
    return {nullptr, batch.transitions, batch.start, batch.end, 0, batch.L, batch.per_position};
}

// The lattice of a sentence as `Ranking` walks it: tokens are places 2 … T + 1.
class RankingLattice {
public:
    struct Place {
        int64_t count, begin;
        int64_t pair(int64_t b, int64_t c) const { return begin + b * count + c; }
    };

    RankingLattice(const PairLattice& lattice, const Triples& triples) : lattice_(lattice), triples_(triples) {
        places_ = {{1, 0}, {1, 0}};
        size_ = 1;
        for (int64_t t = 0; t < lattice.T(); ++t) add(lattice.count(t));
        add(1);
    }

    int64_t last() const { return int64_t(places_.size()) - 1; }
    int64_t size() const { return size_; }
    const Place& operator[](int64_t k) const { return places_[size_t(k)]; }
    int32_t state(int64_t k, int64_t c) const { return lattice_.label(k - 2, c); }
    double step(int64_t k, int64_t a, int64_t b, int64_t c) const {
        const int64_t t = k - 2;
        if (t == lattice_.T()) return lattice_.end(b);
        if (t < 2) return lattice_.local(t, b, c);
        return triples_.score(lattice_.label(t - 2, a), lattice_.label(t - 1, b), lattice_.label(t, c)) +
               lattice_.local(t, b, c);
    }

private:
    const PairLattice& lattice_;
    const Triples& triples_;
    std::vector<Place> places_;
    int64_t size_;

    void add(int64_t count) {
        const int64_t before = places_.back().count;
        places_.push_back({count, size_});
        size_ += before * count;
    }
};

}  // namespace

Outcome pair_posterior(const Batch<double>& batch, const Triples& triples, const BatchAnswers<double>& want,
                       double* triple_counts, const Interrupted& interrupted) {
    const Variant& variant = active_variant();
    const Blocks blocks = blocks_of(batch);
    const int64_t L = batch.L, pairs = want.transition_counts ? L * L : 0, ends = want.start_counts ? L : 0;
    const int64_t triple_cells = triple_counts ? triples.rows() * triples.stride() : 0;
    const int64_t size = pairs + 2 * ends + triple_cells;
    std::vector<std::vector<double>> sums(size_t(blocks.count()), std::vector<double>(size_t(size), 0.0));
    if (want.log_z) std::fill(want.log_z, want.log_z + batch.B, 0.0);
    if (want.entropy) std::fill(want.entropy, want.entropy + batch.B, 0.0);
    const Outcome outcome = for_sentences(blocks, batch.offsets, interrupted, [&](int64_t k, const int* stop) {
        auto posterior = std::make_shared<PairPosterior>(variant, stop);
        posterior->use(common_part(batch), triples);
        double* block = sums[size_t(k)].data();
        return [&, posterior, block](int64_t b) {
            const int64_t cell = batch.offsets[b] * L;
            double log_z = 0;
            Answers<double> answers{};
            answers.log_z = &log_z;
            answers.nodes = want.nodes ? want.nodes + cell : nullptr;
            answers.edges = want.edges ? want.edges + cell * L : nullptr;
            answers.entropy = want.entropy ? want.entropy + b : nullptr;
            answers.transition_counts = pairs ? block : nullptr;
            answers.start_counts = ends ? block + pairs : nullptr;
            answers.end_counts = ends ? block + pairs + ends : nullptr;
            double* triple_sums = triple_counts ? block + pairs + 2 * ends : nullptr;
            const Status status = posterior->compute(batch.sentence(b), answers, triple_sums, 1);
            if (want.log_z) want.log_z[b] = status == Status::no_path ? -kInf : log_z;
            return status;
        };
    });
    const auto total = [&](double* out, int64_t first, int64_t count) {
        if (!out) return;
        std::fill(out, out + count, 0.0);
        for (const auto& block : sums)
            for (int64_t n = 0; n < count; ++n) out[n] += block[size_t(first + n)];
    };
    total(want.transition_counts, 0, pairs);
    total(want.start_counts, pairs, ends);
    total(want.end_counts, pairs + ends, ends);
    total(triple_counts, pairs + 2 * ends, triple_cells);
    return outcome;
}

Outcome pair_viterbi(const Batch<double>& batch, const Triples& triples, int64_t* labels, double* scores,
                     const Interrupted& interrupted) {
    std::fill(scores, scores + batch.B, 0.0);
    return for_sentences(blocks_of(batch), batch.offsets, interrupted, [&](int64_t, const int* stop) {
        auto viterbi = std::make_shared<PairViterbi>(active_variant(), triples, stop);
        return [&, viterbi](int64_t b) {
            return viterbi->compute(batch.sentence(b), labels + batch.offsets[b], scores[b]);
        };
    });
}

Outcome pair_k_best(const Batch<double>& batch, const Triples& triples, int64_t k, std::vector<Ranked>& out,
                    const Interrupted& interrupted) {
    out.assign(size_t(batch.B), {});
    for (int64_t b = 0; b < batch.B; ++b)
        if (batch.offsets[b + 1] == batch.offsets[b]) out[size_t(b)].scores.push_back(0);
    Blocks blocks = blocks_of(batch);
    blocks.small = false;
    blocks.take_longer();
    return for_sentences(blocks, batch.offsets, interrupted, [&](int64_t, const int* stop) {
        auto lattice = std::make_shared<PairLattice>();
        return [&, lattice, stop](int64_t b) {
            if (!lattice->enter(batch.sentence(b))) return Status::no_path;
            const RankingLattice places(*lattice, triples);
            const auto is_stopped = [&] { return stopped(stop); };
            const bool ranked = rank_labellings(places, k, lattice->T(), out[size_t(b)], is_stopped);
            return stopped(stop) ? Status::stopped : ranked ? Status::done : Status::no_path;
        };
    });
}

Outcome pair_sample(const Batch<double>& batch, const Triples& triples, const double* uniforms, int64_t samples,
                    int64_t* labels, const Interrupted& interrupted) {
    const Variant& variant = active_variant();
    const int64_t N = batch.offsets[batch.B];
    Blocks blocks = blocks_of(batch);
    blocks.small = false;
    blocks.take_longer();
    return for_sentences(blocks, batch.offsets, interrupted, [&](int64_t, const int* stop) {
        auto posterior = std::make_shared<PairPosterior>(variant, stop);
        posterior->use(common_part(batch), triples);
        return [&, posterior](int64_t b) {
            const int64_t first = batch.offsets[b];
            return posterior->draw(batch.sentence(b), uniforms + first, samples, N, labels + first);
        };
    });
}

}  // namespace tagline
