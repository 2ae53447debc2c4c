#include "bindings/arrays.h"

#include <algorithm>

namespace tagline::bindings {

namespace {

std::string describe(const Array& array) {
    std::string text = "[";
    for (size_t k = 0; k < array.ndim(); ++k) text += (k ? ", " : "") + std::to_string(array.shape(k));
    const nb::dlpack::dtype type = array.dtype();
    const char* kind = type.code == uint8_t(nb::dlpack::dtype_code::Float) ? "float"
                       : type.code == uint8_t(nb::dlpack::dtype_code::Int) ? "int"
                       : type.code == uint8_t(nb::dlpack::dtype_code::Bool) ? "bool"
                                                                            : "other";
    return kind + std::to_string(type.bits) + " " + text + "]";
}

std::string wanted(nb::dlpack::dtype type, std::initializer_list<int64_t> shape) {
    std::string text = type.code == uint8_t(nb::dlpack::dtype_code::Float) ? "float"
                       : type.code == uint8_t(nb::dlpack::dtype_code::Int) ? "int"
                                                                           : "bool";
    text += std::to_string(type.bits) + " [";
    for (auto n = shape.begin(); n != shape.end(); ++n)
        text += (n != shape.begin() ? ", " : "") + (*n < 0 ? std::string("any") : std::to_string(*n));
    return text + "]";
}

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

bool contiguous(const Array& array) {
    if (array.size() == 0) return true;  // NumPy gives empty arrays any strides
    int64_t step = 1;
    for (size_t k = array.ndim(); k-- > 0;) {
        if (array.shape(k) > 1 && array.stride(k) != step) return false;
        step *= int64_t(array.shape(k));
    }
    return true;
}

}  // namespace

void check(const char* name, const Array& array, nb::dlpack::dtype type, std::initializer_list<int64_t> shape) {
    bool fits = array.dtype() == type && array.ndim() == shape.size();
    size_t k = 0;
    for (int64_t n : shape) {
        if (!fits) break;
        fits = n < 0 || int64_t(array.shape(k)) == n;
        ++k;
    }
    if (!fits) refuse(std::string(name) + ": expected " + wanted(type, shape) + ", got " + describe(array));
    if (!contiguous(array))
        refuse(std::string(name) + ": expected a C-contiguous array, got strides; pass numpy.ascontiguousarray(" +
               name + ")");
}

const int64_t* as_offsets(const Array& array, int64_t N) {
    const int64_t* offsets = checked<int64_t>("offsets", array, {-1});
    const int64_t B = int64_t(array.shape(0)) - 1;
    if (B < 0 || offsets[0] != 0 || offsets[B] != N)
        refuse("offsets: expected to run from 0 to " + std::to_string(N) + ", got something else");
    for (int64_t b = 0; b < B; ++b)
        if (offsets[b + 1] < offsets[b]) refuse("offsets[" + std::to_string(b + 1) + "]: expected no fall, got one");
    return offsets;
}

const int64_t* numbers_below(const char* name, const Array& array, int64_t size, int64_t most) {
    const int64_t* numbers = checked<int64_t>(name, array, {size});
    if (std::any_of(numbers, numbers + array.size(), [&](int64_t n) { return n < 0 || n >= most; }))
        refuse(std::string(name) + ": expected numbers from 0 to " + std::to_string(most - 1) + ", got others");
    return numbers;
}

template <class Real>
Batch<Real> as_batch(const ChainArrays& arrays) {
    Batch<Real> batch{};
    batch.emissions = checked<Real>("emissions", arrays.emissions, {-1, -1});
    const int64_t N = int64_t(arrays.emissions.shape(0)), L = int64_t(arrays.emissions.shape(1));
    if (L < 1) refuse("emissions: expected at least one label, got none");
    batch.L = L;
    batch.per_position = arrays.transitions.ndim() == 3;
    batch.transitions = batch.per_position ? checked<Real>("transitions", arrays.transitions, {N, L, L})
                                           : checked<Real>("transitions", arrays.transitions, {L, L});
    batch.start = checked<Real>("start", arrays.start, {L});
    batch.end = checked<Real>("end", arrays.end, {L});
    batch.offsets = as_offsets(arrays.offsets, N);
    batch.B = int64_t(arrays.offsets.shape(0)) - 1;
    return batch;
}

template Batch<float> as_batch(const ChainArrays&);
template Batch<double> as_batch(const ChainArrays&);

template <class Real>
const int64_t* as_labels(const Array& labels, const Batch<Real>& batch) {
    const int64_t N = batch.offsets[batch.B];
    const int64_t* y = checked<int64_t>("labels", labels, {N});
    uint64_t signs = 0;  // negative where a label is, or L − 1 less a label: without branches, so that vectors do it
    for (int64_t n = 0; n < N; ++n) signs |= uint64_t(y[n]) | (uint64_t(batch.L - 1) - uint64_t(y[n]));
    for (int64_t n = 0; int64_t(signs) < 0 && n < N; ++n)
        if (y[n] < 0 || y[n] >= batch.L)
            refuse("labels[" + std::to_string(n) + "]: expected 0 to " + std::to_string(batch.L - 1) + ", got " +
                   std::to_string(y[n]));
    return y;
}

template const int64_t* as_labels(const Array&, const Batch<float>&);
template const int64_t* as_labels(const Array&, const Batch<double>&);

bool signalled() {
    const nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

}  // namespace tagline::bindings
