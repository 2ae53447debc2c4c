// Online learning, as Python sees it.
#include "bindings/module.h"
#include "bindings/training.h"
#include "training/online.h"

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
        }, "weights"_a, "Begin at these weights [size].")
        .def("get", [](const Own& self, bool averaged) {
            Result<double> weights = make<double>({size_t(self.own->likelihood.size())});
            self.online.get(weights.data(), averaged);
            return weights;
        }, "averaged"_a, "Return the weights [size] of now, or their average over the sentences so far.")
        .def("keep", [](const Own& self) {
            Result<double> values = make<double>({3, size_t(self.own->likelihood.size())});
            const double seen = self.online.keep(values.data());
            return std::make_tuple(values, seen);
        }, "Return what restore needs to go on from here: (values [3, size], sentences seen).")
        .def("restore", [](Own& self, const Array& values, double seen) {
            self.online.restore(checked<double>("values", values, {3, self.own->likelihood.size()}), seen);
        }, "values"_a, "seen"_a, "Go on from where keep was called, bit for bit.")
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

}  // namespace

void bind_online(nb::module_& m) {
    bind<float>(m, "Online32");
    bind<double>(m, "Online64");
}

}  // namespace tagline::bindings
