// Vocabularies at the door: strings and arrays of Python in, arrays out.
#pragma once

#include "bindings/arrays.h"
#include "features/names/vocabulary.h"

#include <tuple>

namespace tagline::bindings {

// bytes uint8 [S], offsets int64 [V + 1], slots uint32 [P], marks uint16 [P].
using VocabularyParts = std::tuple<Array, Array, Array, Array>;
using VocabularyResult = std::tuple<Result<uint8_t>, Result<int64_t>, Result<uint32_t>, Result<uint16_t>>;

// Types and sizes are checked here; what the arrays hold was checked when the Vocabulary was made.
VocabularyView as_vocabulary(const VocabularyParts& parts);

// Arrays that own what was built; nothing is copied.
VocabularyResult as_result(VocabularyArrays&& arrays);

// The UTF-8 of a str, which lives as long as it; anything else is a TypeError that names the place.
std::string_view text_of(nb::handle string, const char* name, int64_t index);

}  // namespace tagline::bindings
