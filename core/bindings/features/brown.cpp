// Brown clusters, as Python sees them.
#include "features/brown.h"

#include "bindings/arrays.h"
#include "bindings/module.h"

#include <memory>

namespace tagline::bindings {

namespace {

Bigrams as_bigrams(const Array& counts, const Array& firsts, const Array& seconds, const Array& numbers) {
    const int64_t M = int64_t(firsts.size()), V = int64_t(counts.size());
    const int64_t* count = checked<int64_t>("counts", counts, {-1});
    const int32_t* first = checked<int32_t>("firsts", firsts, {-1});
    const int32_t* second = checked<int32_t>("seconds", seconds, {M});
    const int64_t* number = checked<int64_t>("numbers", numbers, {M});
    for (int64_t word = 0; word < V; ++word)
        if (count[word] < 1 || (word && count[word] > count[word - 1]))
            throw nb::value_error("counts: expected numbers from 1 on that fall, got others");
    for (int64_t k = 0; k < M; ++k)
        if (first[k] < 0 || first[k] >= V || second[k] < 0 || second[k] >= V || number[k] < 1)
            throw nb::value_error("bigrams: expected numbers of words, and how often they occur, got others");
    return {{count, count + V}, {first, first + M}, {second, second + M}, {number, number + M}};
}

}  // namespace

void bind_brown(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Brown>(m, "Brown", "Brown clusters, a word or a merge at a time.")
        .def("__init__",
             [](Brown* self, const Array& counts, const Array& firsts, const Array& seconds, const Array& numbers,
                int64_t num_classes) {
                 if (num_classes < 1) throw nb::value_error("num_classes: expected 1 or more, got less");
                 new (self) Brown(as_bigrams(counts, firsts, seconds, numbers), num_classes);
             },
             "counts"_a, "firsts"_a, "seconds"_a, "numbers"_a, "num_classes"_a,
             "Take words by falling counts [V], and their bigrams [M], each once.")
        .def("run", [](Brown& self, int64_t steps) {
            bool more = true;
            for (int64_t step = 0; more && step < steps; ++step) more = self.step();
            return more;
        }, "steps"_a, nb::lock_self(), "Go so many steps; say whether there are more.")
        .def("merges", [](const Brown& self) {
            std::vector<int32_t> flat;
            for (const auto& [one, other] : self.merges()) flat.insert(flat.end(), {one, other});
            return adopt(std::move(flat));
        }, nb::lock_self(), "Return the merges so far, [2 n], each by the first words of two classes.");
}

}  // namespace tagline::bindings
