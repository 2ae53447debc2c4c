// The hot loops, compiled once for each instruction set: TAGLINE_VARIANT names the copy (v2, v3, v4, neon or plain). The rest
// of the core reaches them through the tables of chain/kernels.h.
//
// No copy sees another: each has a namespace of its own, internal linkage and no standard templates.
#include "chain/kernels.h"

#include "runtime/arena.h"
#include "runtime/compiler.h"

#include <new>

#if defined(TAGLINE_X86)
#include <immintrin.h>
#elif defined(TAGLINE_ARM)
#include <arm_neon.h>
#endif

namespace tagline {
namespace {
namespace TAGLINE_VARIANT {

#include "chain/kernels/simd.h"
#include "chain/kernels/multiply.h"
#include "chain/kernels/parts.h"
#include "chain/kernels/pairs.h"
#include "chain/kernels/rows.h"
#include "chain/kernels/exp_space.h"
#include "chain/kernels/gaussians.h"
#include "chain/kernels/trellis.h"
#include "chain/kernels/posterior.h"
#include "chain/kernels/forward_backward.h"
#include "chain/kernels/side_by_side.h"
#include "chain/kernels/pair_columns.h"
#include "chain/kernels/pairs_abreast.h"
#include "chain/kernels/abreast.h"
#include "chain/kernels/expected_counts.h"
#include "chain/kernels/gaussians_abreast.h"
#include "chain/kernels/counting_rows.h"
#include "chain/kernels/counts_abreast.h"
#include "chain/kernels/viterbi.h"
#include "chain/kernels/viterbi_abreast.h"
#include "chain/kernels/emissions.h"
#include "chain/kernels/triples.h"

template <class Real>
constexpr Kernels<Real> kernels() {
    return {PairLanes<Real>::width, kPairTile,
            sum_shared_size<Real>, sum_prepare<Real>, posterior<Real>,
            max_shared_size<Real>, max_prepare<Real>, viterbi<Real>,
            emit<Real>,            absorb<Real>,      posterior_abreast<Real>,
            viterbi_abreast<Real>, Lanes<Real>::width};
}

// The level of x86-64 that this copy was compiled for; see runtime/processor.h.
#if defined(TAGLINE_WIDE_64)
constexpr int kLevel = 4;
#elif defined(TAGLINE_WIDE_32)
constexpr int kLevel = 3;
#elif defined(TAGLINE_X86)
constexpr int kLevel = 2;
#else
constexpr int kLevel = 0;
#endif

}  // namespace TAGLINE_VARIANT
}  // namespace

#define TAGLINE_QUOTE(name) #name
#define TAGLINE_NAME(name) TAGLINE_QUOTE(name)
#define TAGLINE_JOIN(a, b) a##b
#define TAGLINE_EXPORT(name) TAGLINE_JOIN(variant_, name)

extern const Variant TAGLINE_EXPORT(TAGLINE_VARIANT);
const Variant TAGLINE_EXPORT(TAGLINE_VARIANT) = {
    TAGLINE_NAME(TAGLINE_VARIANT),
    TAGLINE_VARIANT::kLevel,
    TAGLINE_VARIANT::kernels<float>(),
    TAGLINE_VARIANT::kernels<double>(),
    {TAGLINE_VARIANT::count, TAGLINE_VARIANT::padded<double>, TAGLINE_VARIANT::finish_counts,
     TAGLINE_VARIANT::log_densities, TAGLINE_VARIANT::add_moments, TAGLINE_VARIANT::count_abreast,
     TAGLINE_VARIANT::Lanes<double>::width},
    {TAGLINE_VARIANT::combine, TAGLINE_VARIANT::dots, TAGLINE_VARIANT::multiply, TAGLINE_VARIANT::gather,
     TAGLINE_VARIANT::scatter, TAGLINE_VARIANT::add_products, TAGLINE_VARIANT::best_of, TAGLINE_VARIANT::extremes,
     TAGLINE_VARIANT::scale, TAGLINE_VARIANT::weigh, TAGLINE_VARIANT::share, TAGLINE_VARIANT::exps},
};

}  // namespace tagline
