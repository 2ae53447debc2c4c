// Second-order chains, as Python sees them: the five arrays of a chain, and scores of triples of labels.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "second_order/questions.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace tagline::bindings {

namespace {

using Doubles = Result<double>;
using Labels = Result<int64_t>;

// rows [L, L] of table [R, L], −1 where no triple has a score.
Triples make_triples(const Array& rows, const Array& table) {
    const double* scores = checked<double>("table", table, {-1, -1});
    const int64_t R = int64_t(table.shape(0)), L = int64_t(table.shape(1));
    const int32_t* numbers = checked<int32_t>("rows", rows, {L, L});
    if (L < 1) throw nb::value_error("table: expected at least one label, got none");
    if (std::any_of(numbers, numbers + L * L, [&](int32_t row) { return row < -1 || row >= R; }))
        throw nb::value_error("rows: expected rows of the table or -1, got others");
    if (std::any_of(scores, scores + R * L, [](double score) { return std::isnan(score) || score == HUGE_VAL; }))
        throw nb::value_error("table: expected finite scores or -inf, got others");
    Triples triples(L, R, std::vector<int32_t>(numbers, numbers + L * L));
    std::vector<double> padded(size_t(R * triples.stride()), 0.0);
    for (int64_t row = 0; row < R; ++row)
        std::copy(scores + row * L, scores + (row + 1) * L, padded.begin() + row * triples.stride());
    triples.load(padded.data());
    return triples;
}

Batch<double> as_pairs(const Triples& triples, const ChainArrays& arrays) {
    const Batch<double> batch = as_batch<double>(arrays);
    if (batch.L != triples.labels()) throw nb::value_error("emissions: expected the labels of the triples, got others");
    return batch;
}

#define TAGLINE_CHAIN                                                                                               \
    const Array &emissions, const Array &transitions, const Array &start, const Array &end, const Array &offsets

Doubles log_partition(const Triples& triples, TAGLINE_CHAIN, bool allow_no_path) {
    const Batch<double> batch = as_pairs(triples, {emissions, transitions, start, end, offsets});
    Doubles log_z = make<double>({size_t(batch.B)});
    BatchAnswers<double> want;
    want.log_z = log_z.data();
    ask([&] { return pair_posterior(batch, triples, want, nullptr, signalled); }, allow_no_path);
    return log_z;
}

std::tuple<Doubles, Doubles> marginals(const Triples& triples, TAGLINE_CHAIN) {
    const Batch<double> batch = as_pairs(triples, {emissions, transitions, start, end, offsets});
    Doubles nodes = make<double>({emissions.shape(0), size_t(batch.L)}), log_z = make<double>({size_t(batch.B)});
    BatchAnswers<double> want;
    want.log_z = log_z.data();
    want.nodes = nodes.data();
    ask([&] { return pair_posterior(batch, triples, want, nullptr, signalled); });
    return {nodes, log_z};
}

Doubles entropy(const Triples& triples, TAGLINE_CHAIN) {
    const Batch<double> batch = as_pairs(triples, {emissions, transitions, start, end, offsets});
    Doubles values = make<double>({size_t(batch.B)});
    BatchAnswers<double> want;
    want.entropy = values.data();
    ask([&] { return pair_posterior(batch, triples, want, nullptr, signalled); });
    return values;
}

std::tuple<Doubles, Doubles, Doubles, Doubles, Doubles, Doubles> counts(const Triples& triples, TAGLINE_CHAIN) {
    const Batch<double> batch = as_pairs(triples, {emissions, transitions, start, end, offsets});
    const size_t L = size_t(batch.L), R = size_t(triples.rows());
    Doubles nodes = make<double>({emissions.shape(0), L}), pairs = make<double>({L, L});
    Doubles first = make<double>({L}), last = make<double>({L}), log_z = make<double>({size_t(batch.B)});
    Doubles table = make<double>({R, L});
    std::vector<double> padded(R * size_t(triples.stride()));
    BatchAnswers<double> want;
    want.log_z = log_z.data();
    want.nodes = nodes.data();
    want.transition_counts = pairs.data();
    want.start_counts = first.data();
    want.end_counts = last.data();
    ask([&] { return pair_posterior(batch, triples, want, padded.data(), signalled); });
    for (size_t row = 0; row < R; ++row)
        std::copy_n(padded.data() + row * size_t(triples.stride()), L, table.data() + row * L);
    return {nodes, pairs, first, last, table, log_z};
}

std::tuple<Labels, Doubles> viterbi(const Triples& triples, TAGLINE_CHAIN) {
    const Batch<double> batch = as_pairs(triples, {emissions, transitions, start, end, offsets});
    Labels labels = make<int64_t>({emissions.shape(0)});
    Doubles scores = make<double>({size_t(batch.B)});
    ask([&] { return pair_viterbi(batch, triples, labels.data(), scores.data(), signalled); });
    return {labels, scores};
}

std::vector<std::tuple<Labels, Doubles>> k_best(const Triples& triples, TAGLINE_CHAIN, int64_t k) {
    const Batch<double> batch = as_pairs(triples, {emissions, transitions, start, end, offsets});
    if (k < 1) throw nb::value_error("k: expected 1 or more, got less");
    std::vector<Ranked> ranked;
    ask([&] { return pair_k_best(batch, triples, k, ranked, signalled); });
    std::vector<std::tuple<Labels, Doubles>> out;
    for (size_t b = 0; b < ranked.size(); ++b) {
        const size_t count = ranked[b].scores.size();
        Labels labels = make<int64_t>({count, size_t(batch.offsets[b + 1] - batch.offsets[b])});
        Doubles scores = make<double>({count});
        std::copy(ranked[b].labels.begin(), ranked[b].labels.end(), labels.data());
        std::copy(ranked[b].scores.begin(), ranked[b].scores.end(), scores.data());
        out.emplace_back(labels, scores);
        ranked[b] = {};
    }
    return out;
}

Labels sample(const Triples& triples, TAGLINE_CHAIN, const Array& uniforms) {
    const Batch<double> batch = as_pairs(triples, {emissions, transitions, start, end, offsets});
    const double* numbers = checked<double>("uniforms", uniforms, {-1, int64_t(emissions.shape(0))});
    Labels labels = make<int64_t>({uniforms.shape(0), emissions.shape(0)});
    const int64_t samples = int64_t(uniforms.shape(0));
    ask([&] { return pair_sample(batch, triples, numbers, samples, labels.data(), signalled); });
    return labels;
}

}  // namespace

#define TAGLINE_CHAIN_ARGS "emissions"_a, "transitions"_a, "start"_a, "end"_a, "offsets"_a

void bind_second_order(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Triples>(m, "Triples", "Scores of triples of labels, table[rows[a, b], c], and questions about chains.")
        .def(nb::new_(&make_triples), "rows"_a, "table"_a)
        .def("log_partition", log_partition, TAGLINE_CHAIN_ARGS, "allow_no_path"_a, "Compute log Z [B].")
        .def("marginals", marginals, TAGLINE_CHAIN_ARGS, "Compute (probabilities of labels [N, L], log Z [B]).")
        .def("entropy", entropy, TAGLINE_CHAIN_ARGS, "Compute the entropy [B] in nats.")
        .def("counts", counts, TAGLINE_CHAIN_ARGS,
             "Compute (nodes [N, L], transitions [L, L], start [L], end [L], triples [R, L], log Z [B]).")
        .def("viterbi", viterbi, TAGLINE_CHAIN_ARGS, "Find the best labels [N] and their scores [B].")
        .def("k_best", k_best, TAGLINE_CHAIN_ARGS, "k"_a,
             "Find the k best labellings of each sentence: [(labels [K, T], scores [K])].")
        .def("sample", sample, TAGLINE_CHAIN_ARGS, "uniforms"_a, "Draw labels [n, N] by uniform numbers [n, N].");
}

}  // namespace tagline::bindings
