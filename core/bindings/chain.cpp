// The engine's questions, as Python sees them. Every function takes the five arrays of a chain first.
#include "bindings/arrays.h"
#include "bindings/module.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace tagline::bindings {

namespace {

using Doubles = Result<double>;
using Labels = Result<int64_t>;
using Reals = nb::ndarray<nb::numpy>;  // float32 or float64, as the chain is

template <class Real>
size_t tokens(const Batch<Real>& batch) {
    return size_t(batch.offsets[batch.B]);
}

Doubles score(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
              const Array& offsets, const Array& labels) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&](const auto& batch) {
        const int64_t* y = as_labels(labels, batch);
        Doubles scores = make<double>({size_t(batch.B)});
        ask([&] { return tagline::score(batch, y, scores.data(), signalled); });
        return scores;
    });
}

Doubles log_partition(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                      const Array& offsets, bool allow_no_path) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&]<class Real>(const Batch<Real>& batch) {
        Doubles log_z = make<double>({size_t(batch.B)});
        BatchAnswers<Real> want;
        want.log_z = log_z.data();
        ask([&] { return posterior(batch, want, signalled); }, allow_no_path);
        return log_z;
    });
}

Doubles table(const ChainArrays& arrays, double* BatchAnswers<double>::*which) {
    const Batch<double> batch = as_batch<double>(arrays);
    Doubles values = make<double>({tokens(batch), size_t(batch.L)});
    BatchAnswers<double> want;
    want.*which = values.data();
    ask([&] { return posterior(batch, want, signalled); }, true);
    return values;
}

Doubles forward(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                const Array& offsets) {
    return table({emissions, transitions, start, end, offsets}, &BatchAnswers<double>::log_alpha);
}

Doubles backward(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                 const Array& offsets) {
    return table({emissions, transitions, start, end, offsets}, &BatchAnswers<double>::log_beta);
}

std::tuple<Reals, std::optional<Reals>, Doubles> marginals(const Array& emissions, const Array& transitions,
                                                           const Array& start, const Array& end, const Array& offsets,
                                                           bool edges) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&]<class Real>(const Batch<Real>& batch) {
        const size_t N = tokens(batch), L = size_t(batch.L);
        Result<Real> nodes = make<Real>({N, L});
        Result<Real> pairs = edges ? make<Real>({N, L, L}) : make<Real>({0});
        Doubles log_z = make<double>({size_t(batch.B)});
        BatchAnswers<Real> want;
        want.nodes = nodes.data();
        want.edges = edges ? pairs.data() : nullptr;
        want.log_z = log_z.data();
        ask([&] { return posterior(batch, want, signalled); });
        return std::tuple(Reals(nodes), edges ? std::optional(Reals(pairs)) : std::nullopt, log_z);
    });
}

using Sums = std::tuple<Reals, Reals, Doubles, Doubles, Doubles>;

// Room for emissions, transitions, start, end and one number a sentence; then the question that fills it.
template <class Real, class Question>
Sums sums(const Batch<Real>& batch, const Question& question) {
    const size_t N = tokens(batch), L = size_t(batch.L);
    Result<Real> nodes = make<Real>({N, L});
    Result<Real> pairs = batch.per_position ? make<Real>({N, L, L}) : make<Real>({0});
    Doubles counts = batch.per_position ? make<double>({0}) : make<double>({L, L});
    Doubles first = make<double>({L}), last = make<double>({L}), log_z = make<double>({size_t(batch.B)});
    BatchAnswers<Real> want;
    want.nodes = nodes.data();
    want.edges = batch.per_position ? pairs.data() : nullptr;
    want.transition_counts = batch.per_position ? nullptr : counts.data();
    want.start_counts = first.data();
    want.end_counts = last.data();
    want.log_z = log_z.data();
    ask([&] { return question(want); });
    return {Reals(nodes), batch.per_position ? Reals(pairs) : Reals(counts), first, last, log_z};
}

Sums expected_counts(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                     const Array& offsets) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&]<class Real>(const Batch<Real>& batch) {
        return sums(batch, [&](const BatchAnswers<Real>& want) { return posterior(batch, want, signalled); });
    });
}

Sums gradients(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
               const Array& offsets, const Array& labels) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&]<class Real>(const Batch<Real>& batch) {
        const int64_t* y = as_labels(labels, batch);
        return sums(batch,
                    [&](const BatchAnswers<Real>& want) { return tagline::gradients(batch, y, want, signalled); });
    });
}

std::tuple<Labels, Doubles> viterbi(const Array& emissions, const Array& transitions, const Array& start,
                                    const Array& end, const Array& offsets) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&](const auto& batch) {
        Labels labels = make<int64_t>({tokens(batch)});
        Doubles scores = make<double>({size_t(batch.B)});
        ask([&] { return tagline::viterbi(batch, labels.data(), scores.data(), signalled); });
        return std::tuple(labels, scores);
    });
}

Labels max_marginal(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                    const Array& offsets) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&](const auto& batch) {
        Labels labels = make<int64_t>({tokens(batch)});
        ask([&] { return tagline::max_marginal(batch, labels.data(), signalled); });
        return labels;
    });
}

Doubles entropy(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                const Array& offsets) {
    const Batch<double> batch = as_batch<double>({emissions, transitions, start, end, offsets});
    Doubles values = make<double>({size_t(batch.B)});
    BatchAnswers<double> want;
    want.entropy = values.data();
    ask([&] { return posterior(batch, want, signalled); });
    return values;
}

std::vector<std::tuple<Labels, Doubles>> k_best(const Array& emissions, const Array& transitions, const Array& start,
                                                const Array& end, const Array& offsets, int64_t k) {
    const Batch<double> batch = as_batch<double>({emissions, transitions, start, end, offsets});
    std::vector<Ranked> ranked;
    ask([&] { return tagline::k_best(batch, k, ranked, signalled); });
    std::vector<std::tuple<Labels, Doubles>> out;
    for (size_t b = 0; b < ranked.size(); ++b) {
        const size_t K = ranked[b].scores.size();
        Labels labels = make<int64_t>({K, size_t(batch.offsets[b + 1] - batch.offsets[b])});
        Doubles scores = make<double>({K});
        std::copy(ranked[b].labels.begin(), ranked[b].labels.end(), labels.data());
        std::copy(ranked[b].scores.begin(), ranked[b].scores.end(), scores.data());
        out.emplace_back(labels, scores);
        ranked[b] = {};
    }
    return out;
}

Labels sample(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
              const Array& offsets, const Array& uniforms) {
    const Batch<double> batch = as_batch<double>({emissions, transitions, start, end, offsets});
    const double* numbers = checked<double>("uniforms", uniforms, {-1, batch.offsets[batch.B]});
    const size_t samples = uniforms.shape(0);
    Labels labels = make<int64_t>({samples, tokens(batch)});
    ask([&] { return tagline::sample(batch, numbers, int64_t(samples), labels.data(), signalled); });
    return labels;
}

Doubles span_probability(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                         const Array& offsets, const Array& spans, const Array& allowed) {
    const Batch<double> batch = as_batch<double>({emissions, transitions, start, end, offsets});
    const int64_t* rows = checked<int64_t>("spans", spans, {-1, 3});
    const bool* sets = checked<bool>("allowed", allowed, {-1, batch.L});
    std::vector<SpanQuery> queries;
    int64_t row = 0;
    for (size_t m = 0; m < spans.shape(0); ++m) {
        const SpanQuery query{rows[3 * m], rows[3 * m + 1], rows[3 * m + 2], row};
        const bool known = query.sentence >= 0 && query.sentence < batch.B;
        if (!known || query.first < 0 || query.length < 1 ||
            query.length > batch.offsets[query.sentence + 1] - batch.offsets[query.sentence] - query.first ||
            query.length > int64_t(allowed.shape(0)) - row)
            throw nb::value_error(
                ("spans[" + std::to_string(m) + "]: expected tokens within a sentence, got others").c_str());
        row += query.length;
        queries.push_back(query);
    }
    Doubles out = make<double>({queries.size()});
    ask([&] { return tagline::span_probability(batch, queries, sets, out.data(), signalled); });
    return out;
}

Doubles whole_span_probability(const Array& emissions, const Array& transitions, const Array& start, const Array& end,
                               const Array& offsets, const Array& spans, const Array& members, const Array& continues) {
    return in_own_type({emissions, transitions, start, end, offsets}, [&](const auto& batch) {
        const int64_t count = spans.ndim() == 2 ? int64_t(spans.shape(1)) : 0;
        const int64_t* rows = checked<int64_t>("spans", spans, {4, count});
        const PlacedSpans placed{rows, rows + count, rows + 2 * count, rows + 3 * count, count};
        const int64_t* labels = checked<int64_t>("members", members, {-1, -1});
        const SpanReading reading{checked<bool>("continues", continues, {batch.L, batch.L}), labels,
                                  int64_t(members.shape(0)), int64_t(members.shape(1))};
        if (std::any_of(labels, labels + members.size(), [&](int64_t j) { return j < -1 || j >= batch.L; }))
            throw nb::value_error("members: expected numbers of labels, got others");
        for (int64_t m = 0; m < count; ++m) {
            const int64_t b = placed.sentence[m];
            const bool sorted = b >= (m ? placed.sentence[m - 1] : 0) && b < batch.B;
            if (!sorted || placed.start[m] < 0 || placed.start[m] >= placed.end[m] ||
                placed.end[m] > batch.offsets[b + 1] - batch.offsets[b] || placed.type[m] < 0 ||
                placed.type[m] >= reading.types)
                throw nb::value_error("spans: expected tokens within sentences, sorted by sentence, got others");
        }
        Doubles out = make<double>({size_t(count)});
        ask([&] { return tagline::whole_span_probability(batch, placed, reading, out.data(), signalled); });
        return out;
    });
}

Result<int64_t> whole_spans(const Array& labels, const Array& offsets, const Array& members, const Array& continues) {
    const int64_t N = int64_t(labels.size()), L = continues.ndim() == 2 ? int64_t(continues.shape(0)) : 0, B = int64_t(offsets.size()) - 1;
    const bool* goes_on = checked<bool>("continues", continues, {L, L});
    const int64_t* label = numbers_below("labels", labels, N, L);
    const int64_t* begins = as_offsets(offsets, N);
    const int64_t* member = checked<int64_t>("members", members, {-1, -1});
    const int64_t width = int64_t(members.shape(1));
    std::vector<int64_t> type_of(size_t(L), -1);  // none for labels outside of spans
    for (int64_t k = 0; k < int64_t(members.size()); ++k) {
        if (member[k] < -1 || member[k] >= L) throw nb::value_error("members: expected numbers of labels, got others");
        if (member[k] >= 0) type_of[size_t(member[k])] = k / width;
    }
    std::vector<int64_t> rows[4];  // sentence, start, end, type
    for (int64_t b = 0; b < B; ++b) {
        const int64_t first = begins[b], last = begins[b + 1];
        for (int64_t n = first; n < last;) {
            const int64_t start = n++;
            if (type_of[size_t(label[start])] < 0) continue;
            while (n < last && goes_on[label[n - 1] * L + label[n]]) ++n;
            const int64_t span[] = {b, start - first, n - first, type_of[size_t(label[start])]};
            for (int k = 0; k < 4; ++k) rows[k].push_back(span[k]);
        }
    }
    const size_t count = rows[0].size();
    Result<int64_t> out = make<int64_t>({4, count});
    for (size_t k = 0; k < 4; ++k) std::copy(rows[k].begin(), rows[k].end(), out.data() + k * count);
    return out;
}

}  // namespace

#define TAGLINE_CHAIN_ARGS "emissions"_a, "transitions"_a, "start"_a, "end"_a, "offsets"_a

void bind_chain(nb::module_& m) {
    using namespace nb::literals;
    nb::exception<NoPath>(m, "NoPath", PyExc_ValueError).doc() =
        "A sentence has no legal labelling; the text is its index.";
    m.def("score", score, TAGLINE_CHAIN_ARGS, "labels"_a, "Sum the scores along labels [N]; returns [B].");
    m.def("log_partition", log_partition, TAGLINE_CHAIN_ARGS, "allow_no_path"_a,
          "Compute log Z [B]; -inf for a sentence without a legal path where that is allowed.");
    m.def("forward", forward, TAGLINE_CHAIN_ARGS, "Compute log alpha [N, L] of a float64 chain.");
    m.def("backward", backward, TAGLINE_CHAIN_ARGS, "Compute log beta [N, L] of a float64 chain.");
    m.def("marginals", marginals, TAGLINE_CHAIN_ARGS, "edges"_a,
          "Compute (nodes [N, L], edges [N, L, L] or None, log Z [B]).");
    m.def("expected_counts", expected_counts, TAGLINE_CHAIN_ARGS,
          "Compute (nodes [N, L], transitions [L, L] or [N, L, L], start [L], end [L], log Z [B]).");
    m.def("gradients", gradients, TAGLINE_CHAIN_ARGS, "labels"_a,
          "Compute the gradient of the sum of log p(labels): (emissions, transitions, start, end, log p [B]).");
    m.def("viterbi", viterbi, TAGLINE_CHAIN_ARGS, "Find the best labelling: (labels [N], scores [B]).");
    m.def("max_marginal", max_marginal, TAGLINE_CHAIN_ARGS, "Find the most probable label of each token [N].");
    m.def("entropy", entropy, TAGLINE_CHAIN_ARGS, "Compute the entropy [B] of a float64 chain in nats.");
    m.def("k_best", k_best, TAGLINE_CHAIN_ARGS, "k"_a,
          "Find the k best labellings of each sentence of a float64 chain: [(labels [K, T], scores [K])].");
    m.def("sample", sample, TAGLINE_CHAIN_ARGS, "uniforms"_a,
          "Draw labels [S, N] from a float64 chain by uniform numbers [S, N].");
    m.def("span_probability", span_probability, TAGLINE_CHAIN_ARGS, "spans"_a, "allowed"_a,
          "Compute P(labels in sets) for spans [M, 3] (sentence, first, length), sets stacked in allowed [., L].");
    m.def("whole_spans", whole_spans, "labels"_a, "offsets"_a, "members"_a, "continues"_a,
          "Find the spans of labels [N]: [4, M] (sentence, start, end, type), sorted; the rest as whole_span_probability.");
    m.def("whole_span_probability", whole_span_probability, TAGLINE_CHAIN_ARGS, "spans"_a, "members"_a, "continues"_a,
          "Compute P(a labelling has exactly this span) for spans [4, M] (sentence, start, end, type), sorted by "
          "sentence; members [types, width] are labels, continues [L, L] tells which pairs go on with a span.");
}

}  // namespace tagline::bindings
