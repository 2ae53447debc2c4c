// Lists at the door. With Python's global lock nobody changes a list while it is read here. On a Python without it another
// thread may, at any moment, and a string that is taken out of a list may be gone: there a copy is read, which holds what
// it has.
#pragma once

#include <nanobind/nanobind.h>

namespace tagline::bindings {

namespace nb = nanobind;

#if defined(NB_FREE_THREADED)
constexpr bool kLocked = false;
#else
constexpr bool kLocked = true;
#endif

// A list or tuple that stays as it is until it is let go.
inline nb::object steady(nb::handle row) {
    if (kLocked || !PyList_Check(row.ptr())) return nb::borrow(row);
    PyObject* copy = PyList_AsTuple(row.ptr());
    if (!copy) throw nb::python_error();
    return nb::steal(copy);
}

// The same for a list or tuple of them; anything else in it stays what it is.
inline nb::object steady_rows(nb::handle rows) {
    const nb::object outer = steady(rows);
    if (kLocked || !PyTuple_Check(outer.ptr())) return outer;
    const Py_ssize_t count = PyTuple_GET_SIZE(outer.ptr());
    PyObject* copy = PyTuple_New(count);
    if (!copy) throw nb::python_error();
    const nb::object owner = nb::steal(copy);
    for (Py_ssize_t b = 0; b < count; ++b)
        PyTuple_SET_ITEM(copy, b, steady(PyTuple_GET_ITEM(outer.ptr(), b)).release().ptr());
    return owner;
}

}  // namespace tagline::bindings
