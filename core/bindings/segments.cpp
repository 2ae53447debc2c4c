// Segment chains, and the sums of sparse features, as Python sees them.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "chain/segments.h"
#include "training/row_sums.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace tagline::bindings {

namespace {

using Doubles = Result<double>;

SegmentBatch as_segments(const Array& scores, const Array& transitions, const Array& start, const Array& end,
                         const Array& offsets) {
    const double* segments = checked<double>("scores", scores, {-1, -1, -1});
    const int64_t D = int64_t(scores.shape(1)), L = int64_t(scores.shape(2));
    if (D < 1 || L < 1) throw nb::value_error("scores: expected at least one length and one label, got none");
    return {segments,
            checked<double>("transitions", transitions, {L, L}),
            checked<double>("start", start, {L}),
            checked<double>("end", end, {L}),
            as_offsets(offsets, int64_t(scores.shape(0))),
            int64_t(offsets.shape(0)) - 1,
            D,
            L};
}

Doubles segment_log_partition(const Array& scores, const Array& transitions, const Array& start, const Array& end,
                              const Array& offsets, bool allow_no_path) {
    const SegmentBatch batch = as_segments(scores, transitions, start, end, offsets);
    Doubles log_z = make<double>({size_t(batch.B)});
    SegmentAnswers want;
    want.log_z = log_z.data();
    ask([&] { return segment_posterior(batch, want, signalled); }, allow_no_path);
    return log_z;
}

std::tuple<Doubles, Doubles, Doubles, Doubles, Doubles> segment_counts(const Array& scores, const Array& transitions,
                                                                       const Array& start, const Array& end,
                                                                       const Array& offsets,
                                                                       const std::optional<Array>& weights) {
    const SegmentBatch batch = as_segments(scores, transitions, start, end, offsets);
    const size_t L = size_t(batch.L);
    Doubles segments = make<double>({scores.shape(0), scores.shape(1), L}), pairs = make<double>({L, L});
    Doubles first = make<double>({L}), last = make<double>({L}), log_z = make<double>({size_t(batch.B)});
    SegmentAnswers want{log_z.data(), segments.data(), pairs.data(), first.data(), last.data()};
    want.weights = weights ? checked<double>("weights", *weights, {batch.B}) : nullptr;
    ask([&] { return segment_posterior(batch, want, signalled); });
    return {segments, pairs, first, last, log_z};
}

Doubles segment_entropy(const Array& scores, const Array& transitions, const Array& start, const Array& end,
                        const Array& offsets) {
    const SegmentBatch batch = as_segments(scores, transitions, start, end, offsets);
    Doubles entropy = make<double>({size_t(batch.B)});
    SegmentAnswers want;
    want.entropy = entropy.data();
    ask([&] { return segment_posterior(batch, want, signalled); });
    return entropy;
}

std::tuple<Result<int64_t>, Result<bool>, Doubles> segment_viterbi(const Array& scores, const Array& transitions,
                                                                   const Array& start, const Array& end,
                                                                   const Array& offsets) {
    const SegmentBatch batch = as_segments(scores, transitions, start, end, offsets);
    Result<int64_t> labels = make<int64_t>({scores.shape(0)});
    Result<bool> begins = make<bool>({scores.shape(0)});
    Doubles best = make<double>({size_t(batch.B)});
    ask([&] { return tagline::segment_viterbi(batch, labels.data(), begins.data(), best.data(), signalled); });
    return {labels, begins, best};
}

Doubles row_sums(const Array& offsets, const Array& ids, const std::optional<Array>& values, const Array& table) {
    const double* rows = checked<double>("table", table, {-1, -1});
    const int32_t* entries = checked<int32_t>("ids", ids, {-1});
    const int64_t* starts = as_offsets(offsets, int64_t(ids.shape(0)));
    const float* amounts = values ? checked<float>("values", *values, {int64_t(ids.shape(0))}) : nullptr;
    const auto [low, high] = std::minmax_element(entries, entries + ids.shape(0));
    if (ids.shape(0) && (*low < 0 || *high >= int64_t(table.shape(0))))
        throw nb::value_error("ids: expected numbers of rows of the table, got others");
    Doubles out = make<double>({offsets.shape(0) - 1, table.shape(1)});
    ask([&] {
        return Outcome{tagline::row_sums(starts, int64_t(offsets.shape(0)) - 1, entries, amounts, rows,
                                         int64_t(table.shape(1)), out.data(), signalled),
                       -1};
    });
    return out;
}

}  // namespace

#define TAGLINE_SEGMENT_ARGS "scores"_a, "transitions"_a, "start"_a, "end"_a, "offsets"_a

void bind_segments(nb::module_& m) {
    using namespace nb::literals;
    m.def("segment_log_partition", segment_log_partition, TAGLINE_SEGMENT_ARGS, "allow_no_path"_a,
          "Compute log Z [B] of segment chains with scores [N, D, L].");
    m.def("segment_counts", segment_counts, TAGLINE_SEGMENT_ARGS, "weights"_a.none(),
          "Compute (segments [N, D, L], transitions [L, L], start [L], end [L], log Z [B]); all but log Z are weighed by "
          "sentence, where weights [B] are given.");
    m.def("segment_entropy", segment_entropy, TAGLINE_SEGMENT_ARGS, "Compute the entropy [B] in nats.");
    m.def("segment_viterbi", segment_viterbi, TAGLINE_SEGMENT_ARGS,
          "Find the best segmentation: (labels [N], whether a segment begins [N], scores [B]).");
    m.def("row_sums", row_sums, "offsets"_a, "ids"_a, "values"_a.none(), "table"_a,
          "Sum the rows of a table [A, K] that ids name, times values, in each of the rows that offsets [R + 1] make.");
}

}  // namespace tagline::bindings
