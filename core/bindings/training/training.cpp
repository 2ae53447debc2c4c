#include "bindings/training/training.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <bit>

namespace tagline::bindings {

void rising(const char* name, const int64_t* offsets, int64_t count, int64_t last) {
    bool good = offsets[0] == 0 && offsets[count - 1] == last;
    for (int64_t k = 1; k < count; ++k) good &= offsets[k] >= offsets[k - 1];
    if (!good)
        throw nb::value_error((std::string(name) + ": expected to rise from 0 to " + std::to_string(last)).c_str());
}

AttributeIds as_attributes(const Array& offsets, const Array& ids, const std::optional<Array>& values,
                           int64_t attributes) {
    const int64_t M = int64_t(ids.size());
    AttributeIds rows{checked<int64_t>("offsets", offsets, {-1}), checked<int32_t>("ids", ids, {-1}),
                      values ? checked<float>("values", *values, {M}) : nullptr};
    if (offsets.size() < 1) throw nb::value_error("offsets: expected at least one number");
    rising("offsets", rows.offsets, int64_t(offsets.size()), M);
    uint32_t largest = 0;
    for (int64_t k = 0; k < M; ++k) largest = std::max(largest, uint32_t(rows.ids[k]));
    if (M && int64_t(largest) >= attributes) throw nb::value_error("ids: expected numbers of known attributes");
    return rows;
}

const int64_t* as_order(const Array& order, int64_t B) {
    const int64_t* sentences = checked<int64_t>("order", order, {-1});
    for (size_t k = 0; k < order.size(); ++k)
        if (sentences[k] < 0 || sentences[k] >= B) throw nb::value_error("order: expected numbers of sentences");
    return sentences;
}

Lanes as_lanes(const Array& offsets, int64_t B, const std::optional<Array>& counts, int64_t attributes,
               int64_t tokens) {
    const int64_t* sentences = checked<int64_t>("lanes", offsets, {-1});
    if (offsets.size() < 2) throw nb::value_error("lanes: expected at least one");
    rising("lanes", sentences, int64_t(offsets.size()), B);
    if (!counts && !std::has_single_bit(uint64_t(offsets.size() - 1)))
        throw nb::value_error("lanes: expected a power of two of them");
    return {{sentences, sentences + offsets.size()},
            counts ? checked<int64_t>("counts", *counts, {attributes}) : nullptr, tokens};
}

namespace {

// Whether all of these are below `limit`.
bool below(const uint32_t* numbers, int64_t count, int64_t limit) {
    return std::all_of(numbers, numbers + count, [&](uint32_t number) { return int64_t(number) < limit; });
}

// Rows and cells of N tokens, without values, from parts at, at + 1, …; rows are below the layout's, or some of `bundles`
// from `first_bundle` on.
Occurrences as_occurrences(const nb::tuple& parts, size_t at, int64_t N, const Layout& layout, int64_t first_bundle,
                           int64_t bundles, std::vector<Array>& arrays) {
    for (size_t part = at; part < at + 4; ++part) arrays.push_back(nb::cast<Array>(parts[part]));
    const Array* const own = arrays.data() + arrays.size() - 4;
    const int64_t num_rows = int64_t(own[1].size()), num_cells = int64_t(own[3].size());
    Occurrences lists{};
    lists.row_offsets = checked<int64_t>("row offsets", own[0], {N + 1});
    lists.rows = checked<uint32_t>("rows", own[1], {-1});
    lists.cell_offsets = checked<int64_t>("cell offsets", own[2], {N + 1});
    lists.cells = checked<uint32_t>("cells", own[3], {-1});
    rising("row offsets", lists.row_offsets, N + 1, num_rows);
    rising("cell offsets", lists.cell_offsets, N + 1, num_cells);
    if (!std::all_of(lists.rows, lists.rows + num_rows, [&](uint32_t row) {
            return row < layout.rows() || (row >= first_bundle && row < first_bundle + bundles);
        }))
        throw nb::value_error("rows: expected numbers of rows");
    if (!below(lists.cells, num_cells, layout.cells())) throw nb::value_error("cells: expected numbers of cells");
    return lists;
}

std::vector<int32_t> as_pairs(const char* name, const Array& pairs, int64_t L) {
    const int32_t* numbers = checked<int32_t>(name, pairs, {-1, 2});
    std::vector<int32_t> out;
    for (size_t k = 0; k < pairs.shape(0); ++k) {
        const int64_t from = numbers[2 * k], to = numbers[2 * k + 1];
        if (from < 0 || from >= L || to < 0 || to >= L)
            throw nb::value_error((std::string(name) + ": expected pairs of labels").c_str());
        out.push_back(int32_t(from * L + to));
    }
    return out;
}

std::vector<uint8_t> as_rules(const char* name, const std::optional<Array>& rules,
                              std::initializer_list<int64_t> shape) {
    if (!rules) return {};
    const bool* values = checked<bool>(name, *rules, shape);
    return std::vector<uint8_t>(values, values + rules->size());
}

// Triples of labels that have weights, [W_3, 3], ascending.
void add_triples(const Array& triples, TransitionLayout& layout) {
    const int64_t L = layout.L;
    const int32_t* numbers = checked<int32_t>("triples", triples, {-1, 3});
    layout.contexts.assign(size_t(L * L), -1);
    int64_t before = -1;
    for (size_t k = 0; k < triples.shape(0); ++k, numbers += 3) {
        if (std::any_of(numbers, numbers + 3, [&](int32_t label) { return label < 0 || label >= L; }))
            throw nb::value_error("triples: expected labels");
        const int64_t key = (numbers[0] * L + numbers[1]) * L + numbers[2];
        if (key <= before) throw nb::value_error("triples: expected to ascend");
        before = key;
        int32_t& row = layout.contexts[size_t(numbers[0] * L + numbers[1])];
        if (row < 0) row = int32_t(layout.triple_rows++);
        layout.triples.push_back(layout.triple(numbers[0], numbers[1], numbers[2]));
    }
}

template <class T>
const T* optional_pointer(const char* name, const nb::handle& array, int64_t count) {
    if (array.is_none()) return nullptr;
    return checked<T>(name, nb::cast<Array>(array), {count});
}

}  // namespace

template <class Real>
std::vector<LaneStates> as_lane_states(const nb::list& bundled, const Layout& layout, const Lanes& lanes,
                                       const Examples& examples, std::vector<Array>& arrays) {
    const int64_t count = int64_t(lanes.offsets.size()) - 1;
    if (int64_t(nb::len(bundled)) != count) throw nb::value_error("bundled: expected one entry for each lane");
    if (examples.states.row_values) throw nb::value_error("bundled: expected attributes without values");
    std::vector<LaneStates> states(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        if (bundled[size_t(k)].is_none()) continue;
        const nb::tuple parts = nb::cast<nb::tuple>(bundled[size_t(k)]);
        if (nb::len(parts) != 9) throw nb::value_error("bundled: expected what Layout.bundle gives");
        const Array counts = nb::cast<Array>(parts[8]);
        LaneStates& lane = states[size_t(k)];
        lane.counts = checked<int64_t>("counts", counts, {-1});
        arrays.push_back(counts);
        lane.bundles = int64_t(counts.size());
        if (lane.bundles > kMostBundles) throw nb::value_error("bundled: expected fewer bundles");
        lane.first_row = Likelihood<Real>::first_bundle(layout, count, k);
        const int64_t N = examples.offsets[lanes.offsets[size_t(k) + 1]] - examples.offsets[lanes.offsets[size_t(k)]];
        lane.tokens = as_occurrences(parts, 0, N, layout, lane.first_row, lane.bundles, arrays);
        lane.members = as_occurrences(parts, 4, lane.bundles, layout, 0, 0, arrays);
    }
    const bool any = std::any_of(states.begin(), states.end(), [](const LaneStates& lane) { return lane.bundles > 0; });
    return any ? states : std::vector<LaneStates>{};
}

template std::vector<LaneStates> as_lane_states<float>(const nb::list&, const Layout&, const Lanes&, const Examples&,
                                                       std::vector<Array>&);
template std::vector<LaneStates> as_lane_states<double>(const nb::list&, const Layout&, const Lanes&, const Examples&,
                                                        std::vector<Array>&);

TransitionArrays::TransitionArrays(int64_t L, const Array& transitions, const Array& edge_offsets,
                                   const Array& edge_pairs, bool start, bool end,
                                   const std::optional<Array>& may_follow, const std::optional<Array>& may_start,
                                   const std::optional<Array>& may_end, bool local,
                                   const std::optional<Array>& triples) {
    if (L < 1 || L > 30'000) throw nb::value_error("labels: expected 1 to 30000");
    layout.L = L;
    layout.pairs = as_pairs("transitions", transitions, L);
    layout.edge_pairs = as_pairs("edge_pairs", edge_pairs, L);
    const int64_t* offsets = checked<int64_t>("edge_offsets", edge_offsets, {-1});
    if (edge_offsets.size() < 1) throw nb::value_error("edge_offsets: expected at least one number");
    rising("edge_offsets", offsets, int64_t(edge_offsets.size()), int64_t(layout.edge_pairs.size()));
    layout.edge_offsets.assign(offsets, offsets + edge_offsets.size());
    layout.start = start;
    layout.end = end;
    layout.may_follow = as_rules("may_follow", may_follow, {L, L});
    layout.may_start = as_rules("may_start", may_start, {L});
    layout.may_end = as_rules("may_end", may_end, {L});
    layout.local = local;
    if (triples) add_triples(*triples, layout);
}

ExampleArrays::ExampleArrays(const Layout& layout, const TransitionArrays& transitions, const Array& bounds,
                             const nb::tuple& state_parts, const nb::object& edge_parts, const Array& labels,
                             const std::optional<Array>& allowed, const std::optional<Array>& weights,
                             const std::optional<Array>& kept)
    : states(state_parts), edges(edge_parts) {
    const int64_t L = layout.L();
    if (transitions.layout.L != L) throw nb::value_error("moves: expected the labels of the layout");
    examples.offsets = checked<int64_t>("bounds", bounds, {-1});
    if (bounds.size() < 1) throw nb::value_error("bounds: expected at least one number");
    examples.B = int64_t(bounds.size()) - 1;
    const int64_t N = int64_t(labels.size());
    rising("bounds", examples.offsets, examples.B + 1, N);
    if (nb::len(state_parts) != 6) throw nb::value_error("states: expected what Layout.place gives");
    const Array row_offsets = nb::cast<Array>(state_parts[0]), rows = nb::cast<Array>(state_parts[1]);
    const Array cell_offsets = nb::cast<Array>(state_parts[3]), cells = nb::cast<Array>(state_parts[4]);
    const int64_t num_rows = int64_t(rows.size()), num_cells = int64_t(cells.size());
    Occurrences& of = examples.states;
    of.row_offsets = checked<int64_t>("row offsets", row_offsets, {N + 1});
    of.rows = checked<uint32_t>("rows", rows, {-1});
    of.row_values = optional_pointer<float>("row values", state_parts[2], num_rows);
    of.cell_offsets = checked<int64_t>("cell offsets", cell_offsets, {N + 1});
    of.cells = checked<uint32_t>("cells", cells, {-1});
    of.cell_values = optional_pointer<float>("cell values", state_parts[5], num_cells);
    rising("row offsets", of.row_offsets, N + 1, num_rows);
    rising("cell offsets", of.cell_offsets, N + 1, num_cells);
    if (!below(of.rows, num_rows, layout.rows())) throw nb::value_error("rows: expected numbers of rows");
    if (!below(of.cells, num_cells, layout.cells())) throw nb::value_error("cells: expected numbers of cells");
    if (!edges.is_none()) {
        const nb::tuple parts = nb::cast<nb::tuple>(edges);
        std::optional<Array> values;
        if (!parts[2].is_none()) values = nb::cast<Array>(parts[2]);
        examples.edges = as_attributes(nb::cast<Array>(parts[0]), nb::cast<Array>(parts[1]), values,
                                       int64_t(transitions.layout.edge_offsets.size()) - 1);
        if (int64_t(nb::cast<Array>(parts[0]).size()) != N + 1) throw nb::value_error("edges: expected N tokens");
    }
    examples.labels = checked<int32_t>("labels", labels, {N});
    examples.allowed = allowed ? reinterpret_cast<const uint8_t*>(checked<bool>("allowed", *allowed, {N, L})) : nullptr;
    examples.weights = weights ? checked<double>("weights", *weights, {examples.B}) : nullptr;
    examples.kept = kept ? reinterpret_cast<const uint8_t*>(checked<bool>("kept", *kept, {N, L})) : nullptr;
    for (int64_t n = 0; n < N; ++n)
        if (examples.labels[n] >= L || (examples.labels[n] < 0 && !allowed))
            throw nb::value_error("labels: expected numbers of labels");
    arrays = {bounds, labels};
    if (allowed) arrays.push_back(*allowed);
    if (weights) arrays.push_back(*weights);
    if (kept) arrays.push_back(*kept);
}

}  // namespace tagline::bindings
