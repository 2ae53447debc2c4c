#include "chain/variants.h"

#include "runtime/compiler.h"
#include "runtime/processor.h"

#include <atomic>

namespace tagline {

#if defined(TAGLINE_X86) && defined(TAGLINE_WITHOUT_V3)
extern const Variant variant_v2, variant_v4;
static const Variant* const kCompiled[] = {&variant_v2, &variant_v4};
#elif defined(TAGLINE_X86)
extern const Variant variant_v2, variant_v3, variant_v4;
static const Variant* const kCompiled[] = {&variant_v2, &variant_v3, &variant_v4};
#elif defined(TAGLINE_ARM)
extern const Variant variant_neon;
static const Variant* const kCompiled[] = {&variant_neon};
#else
extern const Variant variant_plain;
static const Variant* const kCompiled[] = {&variant_plain};
#endif

const std::vector<const Variant*>& supported_variants() {
    static const std::vector<const Variant*> supported = [] {
        std::vector<const Variant*> usable;
        const int level = processor_level();
        for (const Variant* variant : kCompiled)
            if (variant->level <= level) usable.push_back(variant);
        return usable;
    }();
    return supported;
}

static std::atomic<const Variant*>& active() {
    static std::atomic<const Variant*> variant{supported_variants().back()};
    return variant;
}

const Variant& active_variant() { return *active().load(); }

bool use_variant(const std::string& name) {
    for (const Variant* variant : supported_variants())
        if (name == variant->name) {
            active() = variant;
            return true;
        }
    return false;
}

template <>
const Kernels<float>& kernels_of<float>(const Variant& variant) {
    return variant.float32;
}

template <>
const Kernels<double>& kernels_of<double>(const Variant& variant) {
    return variant.float64;
}

}  // namespace tagline
