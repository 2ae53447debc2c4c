// Which instruction set's kernels run: the best that the processor has, unless another is asked for.
#pragma once

#include "chain/kernels.h"

#include <string>
#include <vector>

namespace tagline {

// The compiled variants that this processor can run, the best last; where there is none, nothing else here may be asked.
const std::vector<const Variant*>& supported_variants();

const Variant& active_variant();

// False where no supported variant has that name.
bool use_variant(const std::string& name);

template <class Real>
const Kernels<Real>& kernels_of(const Variant& variant);

}  // namespace tagline
