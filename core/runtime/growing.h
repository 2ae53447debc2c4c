// Memory that is used again and only grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tagline {

// Memory of at least so many elements.
template <class T>
T* at_least(std::vector<T>& memory, int64_t count) {
    if (int64_t(memory.size()) < count) memory.resize(size_t(count));
    return memory.data();
}

}  // namespace tagline
