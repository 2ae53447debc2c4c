// What is looked up together while templates are expanded. The key of a context names the words at some places around a
// token; the bodies of its parts look at these words and at no others, so that all their attributes follow from the key.
#pragma once

#include "features/expansion/expansion.h"

#include <cstdint>
#include <vector>

namespace tagline {

struct Contexts {
    struct Part {
        size_t body;
        std::vector<size_t> fields;  // of the key, one for each macro of the body
    };
    std::vector<Body> keys;                // by context; their skeletons are in the order of the parts
    std::vector<std::vector<Part>> parts;  // by context
    std::vector<size_t> of_skeleton;       // which context
    std::vector<int> rows;                 // by skeleton: where its context's first place is
};

// Each body by itself.
Contexts single_contexts(const Expansion& expansion);

// Bodies that look at the same places, and tell most words apart, together: the pair of a word and its neighbour as they
// are and in lower case is found at once. The key then has the words themselves, from the plain source of the column;
// without one, and for bodies of coarser sources, such as shapes, of which few keys come up, each is by itself.
Contexts joint_contexts(const Expansion& expansion);

// The codes of a part's macros, given those of its key; 0 where a word gives no attribute.
void part_codes(const std::vector<Source>& sources, const Body& key, const Contexts::Part& part, const Body& body,
                const uint32_t* key_codes, uint32_t* codes);

}  // namespace tagline
