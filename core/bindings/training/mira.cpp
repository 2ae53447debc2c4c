// MIRA, as Python sees it.
#include "training/mira.h"

#include "bindings/module.h"
#include "bindings/training/training.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>

namespace tagline::bindings {

namespace {

struct OwnMira {
    std::shared_ptr<TrainingSet<double>> own;
    Mira mira;
    std::vector<float> spent;

    OwnMira(std::shared_ptr<TrainingSet<double>> set, float C)
        : own(std::move(set)), mira(own->likelihood, C), spent(size_t(own->likelihood.examples().B), 0.0f) {
        if (own->likelihood.examples().allowed) throw nb::value_error("likelihood: expected known labels only");
        const std::vector<double> zeros(size_t(own->likelihood.size()), 0.0);
        mira.set(zeros.data());
    }
};

}  // namespace

void bind_mira(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<OwnMira>(m, "Mira", "Learning from mistakes with a limit for each sentence, as CRF++ does; from zeros.")
        .def(nb::init<std::shared_ptr<TrainingSet<double>>, float>(), "likelihood"_a, "c"_a)
        .def("weights", [](const OwnMira& self) {
            Result<double> weights = make<double>({size_t(self.own->likelihood.size())});
            self.mira.get(weights.data(), false);
            return weights;
        }, nb::lock_self(), "Return the weights [size] of now.")
        .def("run", [](OwnMira& self, const Array& order) {
            const int64_t* sentences = as_order(order, self.own->likelihood.examples().B);
            std::vector<int64_t> errors(order.size());
            MiraPass pass;
            ask([&] {
                const std::lock_guard<std::mutex> one_at_a_time(self.own->busy);
                return self.mira.learn(sentences, int64_t(order.size()), self.spent.data(), errors.data(), pass,
                                       signalled);
            });
            return std::make_tuple(adopt(std::move(errors)), pass.wrong_labels, pass.wrong_sentences, pass.limited,
                                   pass.violation);
        }, "order"_a, "Learn from sentences in this order: (wrong labels of each, of all, sentences with any, sentences "
                      "at their limit, the largest violation of the others).");
}

}  // namespace tagline::bindings
