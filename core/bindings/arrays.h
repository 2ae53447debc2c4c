// Arrays at the door: what comes in is checked here, with errors that name the argument; what goes out owns its memory.
#pragma once

#include "chain/batch.h"
#include "runtime/memory.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tagline::bindings {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T>
using Result = nb::ndarray<nb::numpy, T>;

// The five arrays that make a batch of chains, in the order in which every function takes them.
struct ChainArrays {
    const Array &emissions, &transitions, &start, &end, &offsets;

    bool is_float32() const { return emissions.dtype() == nb::dtype<float>(); }
};

// Throw ValueError unless `array` is C-contiguous, of that type and of that shape (−1: any length).
void check(const char* name, const Array& array, nb::dlpack::dtype type, std::initializer_list<int64_t> shape);

template <class T>
const T* checked(const char* name, const Array& array, std::initializer_list<int64_t> shape) {
    check(name, array, nb::dtype<T>(), shape);
    return static_cast<const T*>(array.data());
}

// Offsets [B + 1] that run from 0 to N and never fall.
const int64_t* as_offsets(const Array& array, int64_t N);

// Numbers [size] from 0 to most − 1.
const int64_t* numbers_below(const char* name, const Array& array, int64_t size, int64_t most);

template <class Real>
Batch<Real> as_batch(const ChainArrays& arrays);

// Labels [N] between 0 and L − 1.
template <class Real>
const int64_t* as_labels(const Array& labels, const Batch<Real>& batch);

// A new array, 64-byte aligned and uninitialised.
template <class T>
Result<T> make(std::initializer_list<size_t> shape) {
    size_t count = 1;
    for (size_t n : shape)
        if (__builtin_mul_overflow(count, n, &count)) throw std::bad_alloc();
    void* memory = aligned_allocate(count, sizeof(T));
    nb::capsule owner(memory, [](void* p) noexcept { aligned_release(p); });
    return Result<T>(memory, shape, owner);
}

// A new array that owns the vector; nothing is copied. `To` is another type of the same size, if not the vector's own.
template <class To = void, class From, class Allocator>
auto adopt(std::vector<From, Allocator>&& values) {
    using T = std::conditional_t<std::is_void_v<To>, From, To>;
    using Vector = std::vector<From, Allocator>;
    static_assert(sizeof(T) == sizeof(From));
    auto vector = std::make_unique<Vector>(std::move(values));
    void* data = vector->data();
    const size_t size = vector->size();
    nb::capsule owner(vector.release(), [](void* p) noexcept { delete static_cast<Vector*>(p); });
    return Result<T>(data, {size}, owner);
}

// Run a question without the GIL, answering Ctrl-C; throws NoPath where a sentence has no legal path.
struct NoPath : std::exception {
    explicit NoPath(int64_t sentence) : text(std::to_string(sentence)) {}
    const char* what() const noexcept override { return text.c_str(); }
    std::string text;
};

// Whether a signal handler raised: takes the GIL for a moment.
bool signalled();

template <class Question>
void ask(const Question& question, bool allow_no_path = false) {
    Outcome outcome;
    {
        const nb::gil_scoped_release release;
        outcome = question();
    }
    if (!outcome.finished) throw nb::python_error();
    if (outcome.sentence >= 0 && !allow_no_path) throw NoPath(outcome.sentence);
}

// Call with the batch in its own type of number.
template <class Call>
auto in_own_type(const ChainArrays& arrays, const Call& call) {
    if (arrays.is_float32()) return call(as_batch<float>(arrays));
    return call(as_batch<double>(arrays));
}

}  // namespace tagline::bindings
