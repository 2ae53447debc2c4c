// Double arrays, as Python sees them.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "features/names/double_array.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>

namespace tagline::bindings {

namespace {

Result<int32_t> build(const nb::bytes& bytes, const Array& offsets, const Array& values) {
    const int64_t K = int64_t(values.size());
    const int64_t* begins = checked<int64_t>("offsets", offsets, {K + 1});
    const int32_t* numbers = checked<int32_t>("values", values, {K});
    if (begins[0] != 0 || begins[K] != int64_t(bytes.size()) || !std::is_sorted(begins, begins + K + 1))
        throw nb::value_error("offsets: expected to rise from 0 to the number of bytes, got something else");
    if (std::any_of(numbers, numbers + K, [](int32_t number) { return number < 0; }))
        throw nb::value_error("values: expected 0 or more, got less");
    const char* text = bytes.c_str();
    const auto key = [&](int64_t k) { return std::string_view(text + begins[k], size_t(begins[k + 1] - begins[k])); };
    for (int64_t k = 1; k < K; ++k)
        if (key(k - 1) >= key(k)) throw nb::value_error("keys: expected each once and in ascending order, got others");
    std::vector<DoubleArrayUnit> units;
    {
        const nb::gil_scoped_release release;
        units = build_double_array(text, begins, K, numbers);
    }
    if (units.size() > size_t(INT32_MAX)) throw nb::value_error("keys: expected fewer, got more than an array holds");
    Result<int32_t> out = make<int32_t>({units.size(), 2});
    std::memcpy(out.data(), units.data(), units.size() * sizeof(DoubleArrayUnit));
    return out;
}

using Keys = std::tuple<nb::bytes, Result<int64_t>, Result<int32_t>>;

std::optional<Keys> read(const Array& units, int64_t most_bytes) {
    const int32_t* numbers = checked<int32_t>("units", units, {-1, 2});
    std::vector<DoubleArrayUnit> copy(units.shape(0));
    std::memcpy(copy.data(), numbers, copy.size() * sizeof(DoubleArrayUnit));
    KeyList keys;
    bool good;
    {
        const nb::gil_scoped_release release;
        good = read_double_array(copy.data(), int64_t(copy.size()), most_bytes, keys);
    }
    if (!good) return std::nullopt;
    nb::bytes bytes(keys.bytes.data(), keys.bytes.size());
    return Keys(std::move(bytes), adopt(std::move(keys.offsets)), adopt(std::move(keys.values)));
}

}  // namespace

void bind_double_array(nb::module_& m) {
    using namespace nb::literals;
    m.def("build_double_array", build, "bytes"_a, "offsets"_a, "values"_a,
          "Make Darts' double array [n, 2] (base, check) of ascending keys: their bytes, offsets [K + 1], values [K].");
    m.def("read_double_array", read, "units"_a, "most_bytes"_a,
          "List the keys of a double array [n, 2]: (bytes, offsets [K + 1], values [K]); None where it is damaged or "
          "the keys have more bytes.");
}

}  // namespace tagline::bindings
