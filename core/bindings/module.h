// One function a topic; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace tagline::bindings {

void bind_chain(nanobind::module_& m);
void bind_columns(nanobind::module_& m);
void bind_runtime(nanobind::module_& m);

}  // namespace tagline::bindings
