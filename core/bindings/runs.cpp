// Sentences that lie somewhere among rows, such as those of a padded batch: packs their rows and puts them back, and
// looks at what they hold. Rows of no sentence are never read.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "runtime/pool.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

namespace tagline::bindings {

namespace {

using RowArray = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using Filled = nb::ndarray<nb::numpy>;
using Labels = Result<int64_t>;

constexpr int64_t kManyBytes = 1 << 22;  // from here on threads share the copying

enum Flags : int { kBad = 1, kForbidden = 2, kOutOfRange = 4 };  // NaN or +∞, −∞, a label that there is not

template <class Real>
int flags_of(const Real* values, int64_t count) {
    constexpr Real inf = std::numeric_limits<Real>::infinity();
    int bad = 0, forbidden = 0;
    for (int64_t n = 0; n < count; ++n) {
        bad |= !(values[n] < inf);
        forbidden |= values[n] == -inf;
    }
    return (bad ? kBad : 0) | (forbidden ? kForbidden : 0);
}

int flags_of(const Array& array) {
    const int64_t size = int64_t(array.size());
    if (array.dtype() == nb::dtype<float>()) return flags_of(static_cast<const float*>(array.data()), size);
    return flags_of(static_cast<const double*>(array.data()), size);
}

struct Runs {
    std::vector<int64_t> first, offsets;  // [B], [B + 1]
    int64_t rows;
    bool dense = true;  // whether they are all the rows, in their order

    Runs(const Array& given_first, const Array& given_lengths, int64_t given_rows) : rows(given_rows) {
        const int64_t* begins = checked<int64_t>("first", given_first, {-1});
        const int64_t B = int64_t(given_first.size());
        const int64_t* lengths = checked<int64_t>("lengths", given_lengths, {B});
        first.assign(begins, begins + B);
        offsets.push_back(0);
        for (int64_t b = 0; b < B; ++b) {
            if (lengths[b] < 0 || lengths[b] > rows || (lengths[b] && (first[b] < 0 || first[b] > rows - lengths[b])))
                throw nb::value_error("first, lengths: expected rows that there are, got others");
            dense = dense && (first[b] == offsets.back() || !lengths[b]);
            offsets.push_back(offsets.back() + lengths[b]);
        }
        dense = dense && offsets.back() == rows;
    }

    int64_t size() const { return int64_t(first.size()); }
    int64_t length(size_t b) const { return offsets[b + 1] - offsets[b]; }

    // Call work(b) for all sentences, where each row takes so many bytes.
    template <class Work>
    void each(size_t bytes, const Work& work) const {
        const nb::gil_scoped_release release;
        const long tasks = offsets.back() * int64_t(bytes) < kManyBytes ? 1 : 16;
        int stop = 0;
        run(tasks, tasks == 1, stop, {}, [&](long task) {
            for (int64_t b = size() * task / tasks; b < size() * (task + 1) / tasks; ++b) work(size_t(b));
        });
    }
};

// Values [M or N, …] of which each row takes so many bytes.
size_t row_bytes(const RowArray& values, int64_t rows) {
    if (values.ndim() < 1 || int64_t(values.shape(0)) != rows)
        throw nb::value_error("values: expected one row each, got others");
    return rows ? values.nbytes() / size_t(rows) : 0;
}

// Room for values of the same type and width in so many rows.
Filled like(const RowArray& values, int64_t rows) {
    std::vector<size_t> shape(values.shape_ptr(), values.shape_ptr() + values.ndim());
    shape[0] = size_t(rows);
    size_t bytes = values.itemsize();
    for (size_t n : shape)
        if (__builtin_mul_overflow(bytes, n, &bytes)) throw std::bad_alloc();
    void* memory = aligned_allocate(bytes, 1);
    nb::capsule owner(memory, [](void* p) noexcept { aligned_release(p); });
    return Filled(memory, shape.size(), shape.data(), owner, nullptr, values.dtype());
}

Filled pack(const Runs& runs, const RowArray& values) {
    const size_t bytes = row_bytes(values, runs.rows);
    Filled out = like(values, runs.offsets.back());
    const auto* from = static_cast<const char*>(values.data());
    auto* to = static_cast<char*>(out.data());
    runs.each(bytes, [&](size_t b) {
        std::memcpy(to + size_t(runs.offsets[b]) * bytes, from + size_t(runs.first[b]) * bytes,
                    size_t(runs.length(b)) * bytes);
    });
    return out;
}

// Values of tokens [M, …] times the factor of their sentence, in rows [N, …]; `fill` elsewhere.
template <class T>
Filled put(const Runs& runs, const RowArray& values, const double* factors, T fill) {
    const size_t bytes = row_bytes(values, runs.offsets.back()), width = bytes / sizeof(T);
    Filled out = like(values, runs.rows);
    const T* from = static_cast<const T*>(values.data());
    T* to = static_cast<T*>(out.data());
    if (!runs.dense) std::fill(to, to + out.size(), fill);
    runs.each(bytes, [&](size_t b) {
        const T* tokens = from + size_t(runs.offsets[b]) * width;
        const size_t count = size_t(runs.length(b)) * width;
        T* rows = to + size_t(runs.first[b]) * width;
        const T factor = factors ? T(factors[b]) : T(1);
        if (!factors) std::memcpy(rows, tokens, count * sizeof(T));
        for (size_t n = 0; factors && n < count; ++n) rows[n] = tokens[n] * factor;
    });
    return out;
}

Filled put_filled(const Runs& runs, const RowArray& values, double fill) {
    if (values.dtype() == nb::dtype<float>()) return put<float>(runs, values, nullptr, float(fill));
    if (values.dtype() == nb::dtype<double>()) return put<double>(runs, values, nullptr, fill);
    if (values.dtype() == nb::dtype<int64_t>()) return put<int64_t>(runs, values, nullptr, int64_t(fill));
    throw nb::value_error("values: expected float32, float64 or int64, got others");
}

Filled spread(const Runs& runs, const RowArray& values, const Array& factors) {
    const double* each = checked<double>("factors", factors, {runs.size()});
    if (values.dtype() == nb::dtype<float>()) return put<float>(runs, values, each, 0);
    if (values.dtype() == nb::dtype<double>()) return put<double>(runs, values, each, 0);
    throw nb::value_error("values: expected float32 or float64, got others");
}

// What the scores that are read hold, and the labels of tokens.
template <class Real>
int look(const Runs& runs, const Array& emissions, const Array& transitions, const Array& start, const Array& end,
         const std::optional<Array>& labels) {
    const Real* rows = checked<Real>("emissions", emissions, {runs.rows, -1});
    const int64_t L = int64_t(emissions.shape(1));
    const bool per_position = transitions.ndim() == 3;
    const Real* scores = per_position ? checked<Real>("transitions", transitions, {runs.rows, L, L})
                                     : checked<Real>("transitions", transitions, {L, L});
    checked<Real>("start", start, {L});
    checked<Real>("end", end, {L});
    const int64_t* y = labels ? checked<int64_t>("labels", *labels, {runs.rows}) : nullptr;
    int flags = flags_of(start) | flags_of(end) | (per_position ? 0 : flags_of(transitions));
    for (size_t b = 0; b < runs.first.size(); ++b) {
        const int64_t first = runs.first[b], T = runs.length(b);
        flags |= flags_of(rows + first * L, T * L);
        if (per_position && T > 1) flags |= flags_of(scores + (first + 1) * L * L, (T - 1) * L * L);
        const auto is_label = [&](int64_t label) { return label >= 0 && label < L; };
        if (y && !std::all_of(y + first, y + first + T, is_label)) flags |= kOutOfRange;
    }
    return flags;
}

int look_at(const Runs& runs, const Array& emissions, const Array& transitions, const Array& start, const Array& end,
            const std::optional<Array>& labels) {
    if (emissions.dtype() == nb::dtype<float>()) return look<float>(runs, emissions, transitions, start, end, labels);
    return look<double>(runs, emissions, transitions, start, end, labels);
}

// Labels [N] as lists of Python's numbers, each of which is made once.
nb::list lists(const Runs& runs, const Array& labels, int64_t num_labels) {
    const int64_t* y = checked<int64_t>("labels", labels, {runs.rows});
    const auto list_of = [](int64_t size) {
        PyObject* list = PyList_New(Py_ssize_t(size));
        if (!list) throw nb::python_error();
        return nb::steal<nb::list>(list);
    };
    nb::list numbers, out = list_of(runs.size());
    for (int64_t label = 0; label < num_labels; ++label) numbers.append(label);
    for (size_t b = 0; b < runs.first.size(); ++b) {
        nb::list sentence = list_of(runs.length(b));
        for (int64_t t = 0; t < runs.length(b); ++t) {
            const int64_t label = y[runs.first[b] + t];
            if (label < 0 || label >= num_labels) throw nb::value_error("labels: expected those there are, got others");
            PyObject* number = PyList_GET_ITEM(numbers.ptr(), Py_ssize_t(label));
            PyList_SET_ITEM(sentence.ptr(), Py_ssize_t(t), Py_NewRef(number));
        }
        PyList_SET_ITEM(out.ptr(), Py_ssize_t(b), sentence.release().ptr());
    }
    return out;
}

Labels offsets_of(const Runs& runs) {
    Labels out = make<int64_t>({runs.offsets.size()});
    std::copy(runs.offsets.begin(), runs.offsets.end(), out.data());
    return out;
}

// First token and length [B] of the kept tokens of each sentence of a padded batch; none where some have a gap.
std::optional<std::tuple<Labels, Labels>> runs_of(const Array& kept) {
    const bool* on = checked<bool>("kept", kept, {-1, -1});
    const size_t B = kept.shape(0), T = kept.shape(1);
    std::tuple<Labels, Labels> out{make<int64_t>({B}), make<int64_t>({B})};
    for (size_t b = 0; b < B; ++b, on += T) {
        const bool* begin = std::find(on, on + T, true);
        const bool* end = std::find(begin, on + T, false);
        if (std::find(end, on + T, true) != on + T) return std::nullopt;
        std::get<0>(out).data()[b] = int64_t(b * T) + (begin == end ? 0 : begin - on);
        std::get<1>(out).data()[b] = end - begin;
    }
    return out;
}

}  // namespace

void bind_runs(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Runs>(m, "Runs", "Sentences [B] that lie among rows [N], each in rows one after the other; M tokens.")
        .def(nb::init<const Array&, const Array&, int64_t>(), "first"_a, "lengths"_a, "num_rows"_a)
        .def_ro("dense", &Runs::dense, "Whether they are all the rows, in their order.")
        .def_prop_ro("offsets", offsets_of, nb::rv_policy::automatic,
                     "Where they would begin and end without other rows, [B + 1].")
        .def("pack", pack, "values"_a, "Copy values of rows [N, ...] together: [M, ...].")
        .def("put", put_filled, "values"_a, "fill"_a, "Put values of tokens [M, ...] into rows [N, ...].")
        .def("spread", spread, "values"_a, "factors"_a,
             "Put values of tokens [M, ...] times the factor [B] of their sentence into rows [N, ...], 0 elsewhere.")
        .def("look", look_at, "emissions"_a, "transitions"_a, "start"_a, "end"_a, "labels"_a.none(),
             "Look at scores and labels: 1 for a NaN or +inf, 2 for a -inf, 4 for a label out of range, and sums.")
        .def("lists", lists, "labels"_a, "num_labels"_a, "Cut labels [N]: a list for each sentence.");
    m.def("runs_of", runs_of, "kept"_a,
          "Find (first token b T + t, length) of the kept tokens [B, T] of each sentence; None where one has a gap.");
}

}  // namespace tagline::bindings
