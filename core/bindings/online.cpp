#include "module.h"

namespace tagline::bindings {

void bind_online(nanobind::module_&) {}

}  // namespace tagline::bindings
