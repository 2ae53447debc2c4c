// Which instruction set runs, on how many threads.
#include "bindings/module.h"
#include "chain/pair_lists.h"
#include "chain/variants.h"
#include "runtime/pool.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tagline::bindings {

namespace nb = nanobind;

void bind_runtime(nb::module_& m) {
    using namespace nb::literals;
    active_variant();  // chosen now: a fork while another thread chooses would leave the child waiting for it
    m.def(
        "supported_cpus",
        [] {
            std::vector<std::string> names;
            for (const Variant* variant : supported_variants()) names.emplace_back(variant->name);
            return names;
        },
        "Name the compiled variants that this processor can run, the best last.");
    m.def("cpu", [] { return std::string(active_variant().name); }, "Name the variant in use.");
    m.def(
        "use_cpu",
        [](const std::string& name) {
            if (!use_variant(name)) throw nb::value_error(("cpu: no supported variant is called " + name).c_str());
        },
        "name"_a, "Use another variant from now on.");
    m.def(
        "use_pair_lists",
        [](const std::string& when) {
            if (when != "auto" && when != "never" && when != "always")
                throw nb::value_error(("pair lists: expected auto, never or always, got " + when).c_str());
            PairLists::set_use(when == "auto" ? PairUse::by_work : when == "never" ? PairUse::never : PairUse::always);
        },
        "when"_a,
        "Work on lists of legal label pairs from now on: where they are faster, never, or wherever possible. For tests "
        "and benchmarks; the answers are the same to rounding.");
    m.def("threads", [] { return tagline::threads(); }, "Tell how many threads share the work.");
    m.def(
        "set_threads",
        [](int count) {
            if (count < 1 || count > 1024) throw nb::value_error("threads: expected 1 to 1024");
            tagline::set_threads(count);
        },
        "count"_a, "Share the work between so many threads from now on.");
}

}  // namespace tagline::bindings
