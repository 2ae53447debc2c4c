// Online learning, as Python sees it.
#include "bindings/module.h"
#include "bindings/training/training.h"
#include "training/flat_online.h"
#include "training/library_random.h"
#include "training/online.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

namespace tagline::bindings {

namespace {

template <class Real>
struct OwnOnline {
    std::shared_ptr<TrainingSet<Real>> own;
    Online<Real> online;

    OwnOnline(std::shared_ptr<TrainingSet<Real>> set, const OnlineOptions& options)
        : own(std::move(set)), online(own->likelihood, options) {}
};

OnlineOptions as_options(const std::string& rule, int type, double C, bool error_sensitive, double variance,
                         double gamma) {
    OnlineOptions options{Rule::perceptron, type, C, error_sensitive, variance, gamma};
    if (rule == "pa")
        options.rule = Rule::passive_aggressive;
    else if (rule == "arow")
        options.rule = Rule::arow;
    else if (rule != "ap")
        throw nb::value_error("rule: expected ap, pa or arow");
    return options;
}

template <class Real>
void bind(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using Own = OwnOnline<Real>;
    nb::class_<Own>(m, name, "Learning from mistakes: averaged perceptron, passive-aggressive, AROW.")
        .def("__init__",
             [](Own* self, std::shared_ptr<TrainingSet<Real>> set, const std::string& rule, int type, double C,
                bool error_sensitive, double variance, double gamma) {
                 new (self) Own(std::move(set), as_options(rule, type, C, error_sensitive, variance, gamma));
             },
             "likelihood"_a, "rule"_a, "type"_a = 1, "c"_a = 1.0, "error_sensitive"_a = true, "variance"_a = 1.0,
             "gamma"_a = 1.0)
        .def("set", [](Own& self, const Array& weights) {
            self.online.set(checked<double>("weights", weights, {self.own->likelihood.size()}));
        }, "weights"_a, nb::lock_self(), "Begin at these weights [size].")
        .def("get", [](const Own& self, bool averaged) {
            Result<double> weights = make<double>({size_t(self.own->likelihood.size())});
            self.online.get(weights.data(), averaged);
            return weights;
        }, "averaged"_a, nb::lock_self(), "Return the weights [size] of now, or their average over the sentences so far.")
        .def("keep", [](const Own& self) {
            Result<double> values = make<double>({3, size_t(self.own->likelihood.size())});
            const double seen = self.online.keep(values.data());
            return std::make_tuple(values, seen);
        }, nb::lock_self(), "Return what restore needs to go on from here: (values [3, size], sentences seen).")
        .def("restore", [](Own& self, const Array& values, double seen) {
            self.online.restore(checked<double>("values", values, {3, self.own->likelihood.size()}), seen);
        }, "values"_a, "seen"_a, nb::lock_self(), "Go on from where keep was called, bit for bit.")
        .def("run", [](Own& self, const Array& order) {
            const int64_t* sentences = as_order(order, self.own->likelihood.examples().B);
            double loss = 0;
            int64_t wrong = 0;
            ask([&] {
                const std::lock_guard<std::mutex> one_at_a_time(self.own->busy);
                return self.online.pass(sentences, int64_t(order.size()), loss, wrong, signalled);
            });
            return std::make_tuple(loss, wrong);
        }, "order"_a, "Learn from sentences in this order: (summed loss, wrong labels).");
}

FlatWeights no_weights(int64_t L, const Array& offsets, const Array& labels) {
    const int64_t* begins = checked<int64_t>("offsets", offsets, {-1});
    const int32_t* of = checked<int32_t>("labels", labels, {-1});
    if (L < 1 || offsets.size() < 1) throw nb::value_error("num_labels: expected at least one label");
    rising("offsets", begins, int64_t(offsets.size()), int64_t(labels.size()));
    return FlatWeights(L, int64_t(offsets.size()) - 1, begins, of);
}

std::vector<int32_t> as_pairs(const Array& transitions, int64_t L) {
    const int32_t* labels = checked<int32_t>("transitions", transitions, {-1, 2});
    std::vector<int32_t> pairs(transitions.shape(0));
    for (size_t k = 0; k < pairs.size(); ++k) {
        for (const int32_t label : {labels[2 * k], labels[2 * k + 1]})
            if (label < 0 || label >= L) throw nb::value_error("transitions: expected numbers of labels");
        pairs[k] = int32_t(labels[2 * k] * L + labels[2 * k + 1]);
    }
    return pairs;
}

// The learner and the arrays that it learns from.
struct OwnFlatOnline {
    std::vector<Array> arrays;
    FlatOnline online;

    OwnFlatOnline(int64_t L, const Array& offsets, const Array& labels, const Array& transitions, const Array& bounds,
                  const Array& token_offsets, const Array& ids, const std::optional<Array>& values, const Array& gold,
                  const std::optional<Array>& weights, const OnlineOptions& options)
        : arrays{bounds, token_offsets, ids, gold},
          online(no_weights(L, offsets, labels), as_pairs(transitions, L),
                 as_examples(L, int64_t(offsets.size()) - 1, values, weights), options) {}

    FlatExamples as_examples(int64_t L, int64_t A, const std::optional<Array>& values,
                             const std::optional<Array>& weights) {
        if (values) arrays.push_back(*values);
        if (weights) arrays.push_back(*weights);
        const int64_t N = int64_t(arrays[3].size()), B = int64_t(arrays[0].size()) - 1;
        if (int64_t(arrays[1].size()) != N + 1) throw nb::value_error("labels: expected one for each token");
        const int32_t* labels = checked<int32_t>("labels", arrays[3], {N});
        if (std::any_of(labels, labels + N, [&](int32_t label) { return label < 0 || label >= L; }))
            throw nb::value_error("labels: expected numbers of labels");
        const AttributeIds states = as_attributes(arrays[1], arrays[2], std::nullopt, A);
        const int64_t M = int64_t(arrays[2].size());
        return {as_offsets(arrays[0], N), B, states.offsets, states.ids,
                values ? checked<double>("values", *values, {M}) : nullptr, labels,
                weights ? checked<double>("weights", *weights, {B}) : nullptr};
    }
};

void bind_flat(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<OwnFlatOnline>(m, "FlatOnline", "Learning from mistakes as CRFsuite does it, to the last bit.")
        .def("__init__",
             [](OwnFlatOnline* self, int64_t L, const Array& offsets, const Array& labels, const Array& transitions,
                const Array& bounds, const Array& token_offsets, const Array& ids, const std::optional<Array>& values,
                const Array& gold, const std::optional<Array>& weights, const std::string& rule, int type, double C,
                bool error_sensitive, double variance, double gamma) {
                 new (self) OwnFlatOnline(L, offsets, labels, transitions, bounds, token_offsets, ids, values, gold,
                                          weights, as_options(rule, type, C, error_sensitive, variance, gamma));
             },
             "num_labels"_a, "state_offsets"_a, "state_labels"_a, "transitions"_a, "bounds"_a, "offsets"_a, "ids"_a,
             "values"_a.none(), "labels"_a, "weights"_a.none(), "rule"_a, "type"_a = 1, "c"_a = 1.0,
             "error_sensitive"_a = true, "variance"_a = 1.0, "gamma"_a = 1.0)
        .def("get", [](const OwnFlatOnline& self, bool averaged) {
            Result<double> weights = make<double>({size_t(self.online.size())});
            self.online.get(weights.data(), averaged);
            return weights;
        }, "averaged"_a, nb::lock_self(), "Return the weights [size] of now, or their average over the sentences so far.")
        .def("run", [](OwnFlatOnline& self, const Array& order) {
            const int64_t* sentences = as_order(order, int64_t(self.arrays[0].size()) - 1);
            double loss = 0;
            ask([&] { return self.online.pass(sentences, int64_t(order.size()), loss, signalled); });
            return loss;
        }, "order"_a, "Learn from sentences in this order; returns their summed loss.");
    nb::class_<LibraryRandom>(m, "LibraryRandom", "The random numbers of the C library, with a state of their own.")
        .def(nb::init<uint32_t>(), "seed"_a = 1)
        .def("next", &LibraryRandom::next, nb::lock_self(), "Return a number below 2^31.")
        .def("shuffled", [](LibraryRandom& self, const Array& order) {
            const int64_t* from = checked<int64_t>("order", order, {-1});
            std::vector<int64_t> to(from, from + order.size());
            self.shuffle(to.data(), int64_t(to.size()));
            return adopt(std::move(to));
        }, "order"_a, nb::lock_self(), "Return the numbers in another order, as CRFsuite shuffles them.");
}

}  // namespace

void bind_online(nb::module_& m) {
    bind<float>(m, "Online32");
    bind<double>(m, "Online64");
    bind_flat(m);
}

}  // namespace tagline::bindings
