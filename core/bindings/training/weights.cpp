// Weights of a feature CRF, emissions from them, and the likelihood that they are trained by, as Python sees them.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "bindings/training/training.h"
#include "bindings/training/weights.h"
#include "runtime/pool.h"
#include "training/flat_weights.h"
#include "training/likelihood.h"
#include "training/mistakes.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <bit>

namespace tagline::bindings {

namespace {

// Throw ValueError unless the labels of each attribute ascend and are below L.
void check_rows(int64_t L, const Array& offsets, const Array& labels) {
    const int64_t* begins = checked<int64_t>("offsets", offsets, {-1});
    const int32_t* of = checked<int32_t>("labels", labels, {-1});
    if (L < 1 || offsets.size() < 1) throw nb::value_error("layout: expected at least one label");
    rising("offsets", begins, int64_t(offsets.size()), int64_t(labels.size()));
    for (size_t a = 0; a + 1 < offsets.size(); ++a)
        for (int64_t k = begins[a]; k < begins[a + 1]; ++k)
            if (of[k] < 0 || of[k] >= L || (k > begins[a] && of[k] <= of[k - 1]))
                throw nb::value_error("labels: expected ascending numbers of labels for each attribute");
}

// After check_rows: a Layout or FlatWeights.
template <class Made>
std::shared_ptr<Made> make_rows(int64_t L, const Array& offsets, const Array& labels) {
    check_rows(L, offsets, labels);
    return std::make_shared<Made>(L, int64_t(offsets.size()) - 1, static_cast<const int64_t*>(offsets.data()),
                                  static_cast<const int32_t*>(labels.data()));
}

std::optional<std::tuple<Result<int64_t>, Result<int32_t>>> observed_pairs(const Array& offsets, const Array& ids,
                                                                           const Array& labels, int64_t L, int64_t A) {
    const int64_t N = int64_t(labels.size());
    const AttributeIds tokens = as_attributes(offsets, ids, std::nullopt, A);
    const int32_t* of = checked<int32_t>("labels", labels, {int64_t(offsets.size()) - 1});
    if (std::any_of(of, of + N, [&](int32_t label) { return label >= L; }))
        throw nb::value_error("labels: expected numbers of labels");
    std::vector<int64_t> rows;
    std::vector<int32_t> seen_labels;
    {
        const nb::gil_scoped_release release;
        if (!tagline::observed_pairs(tokens, N, of, L, A, rows, seen_labels)) return std::nullopt;
    }
    return std::make_tuple(adopt(std::move(rows)), adopt(std::move(seen_labels)));
}

using Placed = std::tuple<Result<int64_t>, Result<uint32_t>, std::optional<Result<float>>, Result<int64_t>,
                          Result<uint32_t>, std::optional<Result<float>>>;

Placed place(const Layout& layout, const Array& offsets, const Array& ids, const std::optional<Array>& values) {
    const AttributeIds rows = as_attributes(offsets, ids, values, layout.attributes());
    const int64_t N = int64_t(offsets.size()) - 1;
    OccurrenceLists lists;
    lists.row_offsets.reserve(size_t(N) + 1);
    lists.cell_offsets.reserve(size_t(N) + 1);
    {
        const nb::gil_scoped_release release;
        layout.place(rows, 0, N, lists);
        lists.rows.shrink_to_fit();
        lists.cells.shrink_to_fit();
    }
    const auto optional = [&](std::vector<float>& of) {
        return values ? std::optional(adopt(std::move(of))) : std::nullopt;
    };
    return {adopt(std::move(lists.row_offsets)),  adopt(std::move(lists.rows)),  optional(lists.row_values),
            adopt(std::move(lists.cell_offsets)), adopt(std::move(lists.cells)), optional(lists.cell_values)};
}

using Bundled = std::tuple<Result<int64_t>, Result<uint32_t>, Result<int64_t>, Result<uint32_t>, Result<int64_t>,
                           Result<uint32_t>, Result<int64_t>, Result<uint32_t>, Result<int64_t>>;

std::optional<Bundled> bundle(const Layout& layout, const Array& offsets, const Array& ids, int64_t first_row) {
    const AttributeIds tokens = as_attributes(offsets, ids, std::nullopt, layout.attributes());
    BundledLists lists;
    {
        const nb::gil_scoped_release release;
        if (!tagline::bundle(layout, tokens, int64_t(offsets.size()) - 1, first_row, lists)) return std::nullopt;
        lists.tokens.rows.shrink_to_fit();
        lists.tokens.cells.shrink_to_fit();
    }
    OccurrenceLists &of = lists.tokens, &members = lists.members;
    return Bundled{adopt(std::move(of.row_offsets)),       adopt(std::move(of.rows)),
                   adopt(std::move(of.cell_offsets)),      adopt(std::move(of.cells)),
                   adopt(std::move(members.row_offsets)),  adopt(std::move(members.rows)),
                   adopt(std::move(members.cell_offsets)), adopt(std::move(members.cells)),
                   adopt(std::move(lists.counts))};
}

// Weights of state attributes in float64, added up in the order of a token's attributes.
struct ExactStateWeights {
    std::shared_ptr<FlatWeights> flat;

    ExactStateWeights(int64_t L, const Array& offsets, const Array& labels, const Array& weights)
        : flat(make_rows<FlatWeights>(L, offsets, labels)) {
        const double* values = checked<double>("weights", weights, {int64_t(labels.size())});
        for (size_t k = 0; k < flat->cells.size(); ++k) flat->cells[k].value = values[k];
    }

    Result<double> emissions(const Array& offsets, const Array& ids, const std::optional<Array>& values) const {
        const AttributeIds tokens = as_attributes(offsets, ids, values, int64_t(flat->offsets.size()) - 1);
        const int64_t N = int64_t(offsets.size()) - 1, L = flat->L;
        Result<double> out = make<double>({size_t(N), size_t(L)});
        double* to = out.data();
        ask([&] {
            constexpr int64_t kBlock = 256;  // tokens
            const int64_t blocks = (N + kBlock - 1) / kBlock;
            Outcome outcome;
            int stop = 0;
            outcome.finished = run(blocks, blocks < 4, stop, signalled, [&](long block) {
                const int64_t first = block * kBlock, last = std::min(N, first + kBlock);
                const int64_t begin = tokens.offsets[first], end = tokens.offsets[last];
                std::vector<double> wide;
                if (tokens.values) wide.assign(tokens.values + begin, tokens.values + end);
                flat->emit(last - first, tokens.offsets + first, tokens.ids + begin,
                          tokens.values ? wide.data() : nullptr, to + first * L);
            });
            return outcome;
        });
        return out;
    }
};

template <class Real>
const Likelihood<Real>& whole(const TrainingSet<Real>& own) {
    if (own.likelihood.observed().empty() && own.likelihood.size())
        throw nb::value_error("likelihood: expected that of a whole corpus, got a part of one");
    return own.likelihood;
}

// Lanes first … first + count − 1 exist, and are a power of two.
template <class Real>
void check_branch(const TrainingSet<Real>& own, int64_t first, int64_t count) {
    const int64_t lanes = own.likelihood.lanes();
    if (first < 0 || count < 1 || count > lanes || first > lanes - count || !std::has_single_bit(uint64_t(count)))
        throw nb::value_error("lanes: expected a power of two of those that there are");
}

template <class Real>
void bind_likelihood(nb::module_& m, const char* name, const char* descent) {
    using namespace nb::literals;
    using Own = TrainingSet<Real>;
    nb::class_<Own>(m, name, "The likelihood of labels by flat weights, and its gradient.")
        .def(nb::init<std::shared_ptr<const Layout>, const TransitionArrays&, const ExampleArrays&, const Array&,
                      const std::optional<Array>&, int64_t, const std::optional<nb::list>&>(),
             "layout"_a, "moves"_a, "examples"_a, "lanes"_a, "counts"_a.none() = nb::none(), "tokens"_a = 0,
             "bundled"_a.none() = nb::none())
        .def_prop_ro("size", [](const Own& own) { return own.likelihood.size(); })
        .def_prop_ro("bundles", [](const Own& own) { return own.likelihood.bundles(); })
        .def_static("first_bundle", [](const Layout& layout, int64_t lanes, int64_t lane) {
            if (lanes < 1 || lane < 0 || lane >= lanes) throw nb::value_error("lane: expected one of the lanes");
            return Likelihood<Real>::first_bundle(layout, lanes, lane);
        }, "layout"_a, "lanes"_a, "lane"_a, "Return the row that the first bundle of a lane has.")
        .def("observed", [](const Own& own) { return adopt(std::vector<double>(whole(own).observed())); },
             "Count how often the known labels use each weight [size].")
        .def(
            "observed_by",
            [](const Own& own, int64_t first, int64_t count) {
                check_branch(own, first, count);
                Result<double> sums = make<double>({size_t(own.likelihood.size())});
                own.likelihood.observed(first, count, sums.data());
                return sums;
            },
            "first"_a, "count"_a, "Count how often the known labels of a branch of lanes use each weight [size].")
        .def(
            "expected",
            [](Own& own, const Array& weights, bool curvature, int64_t first, int64_t count) {
                check_branch(own, first, count);
                const double* w = checked<double>("weights", weights, {own.likelihood.size()});
                Result<double> sums = make<double>({size_t(own.likelihood.size())});
                double value = 0;
                ask([&] {
                    const std::lock_guard<std::mutex> one_at_a_time(own.busy);
                    return own.likelihood.expected(w, curvature, first, count, value, sums.data(), signalled);
                });
                return std::make_tuple(value, sums);
            },
            "weights"_a, "curvature"_a, "first"_a, "count"_a,
            "Compute the negative log-likelihood of a branch of lanes and what the model expects of each weight "
            "[size].")
        .def(
            "evaluate",
            [](Own& own, const Array& weights, bool curvature) {
                whole(own);
                const double* w = checked<double>("weights", weights, {own.likelihood.size()});
                Result<double> gradient = make<double>({size_t(own.likelihood.size())});
                double value = 0;
                ask([&] {
                    const std::lock_guard<std::mutex> one_at_a_time(own.busy);
                    return own.likelihood.evaluate(w, curvature, value, gradient.data(), signalled);
                });
                return std::make_tuple(value, gradient);
            },
            "weights"_a, "curvature"_a = false,
            "Compute the negative log-likelihood and its gradient [size]; or a diagonal that bounds its Hessian's.")
        .def(
            "mistakes",
            [](Own& own) {
                Mistakes mistakes;
                if (own.likelihood.examples().allowed) throw nb::value_error("labels: expected all to be known");
                ask([&] {
                    const std::lock_guard<std::mutex> one_at_a_time(own.busy);
                    return count_mistakes(own.likelihood, mistakes, signalled);
                });
                return std::make_tuple(mistakes.labels, mistakes.sentences);
            },
            "Count wrong labels, and sentences with any, under the weights that were evaluated last.");
    using Way = OwnDescent<Real>;
    nb::class_<Way>(m, descent, "Stochastic gradient descent on a likelihood with penalties c1 |w| + c2 |w|^2.")
        .def(nb::init<std::shared_ptr<Own>, double, double, int64_t>(), "likelihood"_a, "c1"_a, "c2"_a,
             "sentences"_a = 0)
        .def("set", [](Way& way, const Array& weights) {
            way.descent.set(checked<double>("weights", weights, {way.own->likelihood.size()}));
        }, "weights"_a, nb::lock_self(), "Begin at these weights [size].")
        .def("get", [](Way& way) {
            Result<double> weights = make<double>({size_t(way.own->likelihood.size())});
            way.descent.get(weights.data());
            return weights;
        }, nb::lock_self(), "Return the weights [size] as they are now.")
        .def("keep", [](Way& way) {
            Result<double> values = make<double>({size_t(way.own->likelihood.size())});
            const double scale = way.descent.keep(values.data());
            return std::make_tuple(values, scale);
        }, nb::lock_self(), "Return what restore needs to go on from here, besides seen: (values [size], their scale).")
        .def("restore", [](Way& way, const Array& values, double scale) {
            way.descent.restore(checked<double>("values", values, {way.own->likelihood.size()}), scale);
        }, "values"_a, "scale"_a, nb::lock_self(), "Go on from where keep was called, bit for bit.")
        .def_prop_rw("seen", [](const Way& way) { return way.descent.steps(); },
                     [](Way& way, double seen) { way.descent.set_steps(seen); }, nb::lock_self())
        .def("run", [](Way& way, const Array& order, int64_t batch, double rate, double decay, bool learn,
                      bool shrink_first) {
            const int64_t* sentences = as_order(order, way.own->likelihood.examples().B);
            if (batch < 1) throw nb::value_error("batch: expected at least 1");
            double loss = 0;
            ask([&] {
                const std::lock_guard<std::mutex> one_at_a_time(way.own->busy);
                return way.descent.pass(sentences, int64_t(order.size()), batch, rate, decay, learn, loss, signalled,
                                        shrink_first);
            });
            return loss;
        }, "order"_a, "batch"_a, "rate"_a, "decay"_a, "learn"_a = true,
             "shrink_first"_a = false,
             "Take a step for every few sentences of the order; returns their summed loss, each before its step.");
}

}  // namespace

StateWeights::StateWeights(std::shared_ptr<const Layout> of, const Array& flat)
    : layout(std::move(of)), memory(layout->make<float>()) {
    if (flat.dtype() == nb::dtype<double>())
        layout->load(checked<double>("weights", flat, {layout->size()}), memory.table());
    else
        layout->load(checked<float>("weights", flat, {layout->size()}), memory.table());
}

Result<float> StateWeights::emissions(const Array& offsets, const Array& ids, const std::optional<Array>& values) const {
    const AttributeIds tokens = as_attributes(offsets, ids, values, layout->attributes());
    const int64_t N = int64_t(offsets.size()) - 1, L = layout->L();
    Result<float> out = make<float>({size_t(N), size_t(L)});
    float* to = out.data();
    ask([&] {
        constexpr int64_t kBlock = 256;  // tokens
        const Kernels<float>& kernels = active_variant().float32;
        const int64_t blocks = (N + kBlock - 1) / kBlock, parts = std::min<int64_t>(blocks, 32);
        Outcome outcome;
        int stop = 0;
        outcome.finished = run(parts, blocks < 4, stop, signalled, [&](long part) {
            OccurrenceLists lists;
            for (int64_t c = blocks * part / parts; c < blocks * (part + 1) / parts && !stop; ++c) {
                const int64_t first = c * kBlock, last = std::min(N, first + kBlock);
                lists.clear();
                layout->place(tokens, first, last, lists);
                kernels.emit(memory.table(), lists.view(), 0, last - first, 1.0f, false, to + first * L);
            }
        });
        return outcome;
    });
    return out;
}

void bind_weights(nb::module_& m) {
    using namespace nb::literals;
    m.def("observed_pairs", observed_pairs, "offsets"_a, "ids"_a, "labels"_a, "num_labels"_a, "num_attributes"_a,
          "Find the labels seen with each attribute: (offsets [A + 1], labels); None where that takes too much "
          "memory.");
    nb::class_<Layout>(m, "Layout", "Where each weight of the state attributes lives while it is used.")
        .def(nb::new_(&make_rows<Layout>), "num_labels"_a, "offsets"_a, "labels"_a)
        .def_prop_ro("rows", &Layout::rows)
        .def_prop_ro("cells", &Layout::cells)
        .def("place", place, "offsets"_a, "ids"_a, "values"_a.none(),
             "Turn attribute ids into (row offsets, rows, their values, cell offsets, cells, their values).")
        .def("bundle", bundle, "offsets"_a, "ids"_a, "first_row"_a,
             "Turn the attribute ids of a lane into (row offsets, rows, cell offsets, cells), the same of its bundles, "
             "and how often each occurs; rows from first_row on are bundles. None where they would save little.");
    nb::class_<StateWeights>(m, "StateWeights", "Weights of state attributes, ready for scoring.")
        .def(nb::init<std::shared_ptr<const Layout>, const Array&>(), "layout"_a, "weights"_a)
        .def("emissions", &StateWeights::emissions, "offsets"_a, "ids"_a, "values"_a.none(),
             "Sum the weights of each token's attributes: [N, L] float32.");
    nb::class_<ExactStateWeights>(m, "ExactStateWeights", "Weights of state attributes in float64, summed in order.")
        .def(nb::init<int64_t, const Array&, const Array&, const Array&>(), "num_labels"_a, "offsets"_a, "labels"_a,
             "weights"_a)
        .def("emissions", &ExactStateWeights::emissions, "offsets"_a, "ids"_a, "values"_a.none(),
             "Sum the weights of each token's attributes, in their order: [N, L] float64.");
    nb::class_<TransitionArrays>(m, "Moves", "Weights between labels and at the ends, and what is forbidden.")
        .def(nb::init<int64_t, const Array&, const Array&, const Array&, bool, bool, const std::optional<Array>&,
                      const std::optional<Array>&, const std::optional<Array>&, bool, const std::optional<Array>&>(),
             "num_labels"_a, "transitions"_a, "edge_offsets"_a, "edge_pairs"_a, "start"_a, "end"_a,
             "may_follow"_a.none(), "may_start"_a.none(), "may_end"_a.none(), "local"_a = false,
             "triples"_a.none() = nb::none());
    nb::class_<ExampleArrays>(m, "Examples", "Labelled sentences, placed in a layout.")
        .def(nb::init<const Layout&, const TransitionArrays&, const Array&, const nb::tuple&, const nb::object&,
                      const Array&, const std::optional<Array>&, const std::optional<Array>&,
                      const std::optional<Array>&>(),
             "layout"_a, "moves"_a, "bounds"_a, "states"_a, "edges"_a.none(), "labels"_a, "allowed"_a.none(),
             "weights"_a.none(), "kept"_a.none() = nb::none());
    bind_likelihood<float>(m, "Likelihood32", "Descent32");
    bind_likelihood<double>(m, "Likelihood64", "Descent64");
}

}  // namespace tagline::bindings
