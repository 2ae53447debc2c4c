// The C library's random numbers (glibc's rand(), Knuth's additive generator x_n = x_(n−3) + x_(n−31)), with a state of
// our own: sentences in the order in which CRFsuite shuffles them.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace tagline {

class LibraryRandom {
public:
    explicit LibraryRandom(uint32_t seed = 1) {
        int64_t x = seed ? int32_t(seed) : 1;
        for (int k = 0; k < 31; ++k) {
            last_[size_t(k)] = uint32_t(x);
            x = 16807 * x % 2147483647;
            if (x < 0) x += 2147483647;
        }
        for (int k = 0; k < 310; ++k) next();
    }

    uint32_t next() {
        uint32_t& oldest = last_[at_];
        oldest += last_[(at_ + 28) % 31];
        at_ = (at_ + 1) % 31;
        return oldest >> 1;
    }

    void shuffle(int64_t* order, int64_t count) {
        for (int64_t k = 0; k < count; ++k) std::swap(order[k], order[int64_t(next()) % count]);
    }

private:
    std::array<uint32_t, 31> last_;
    size_t at_ = 3;  // the oldest
};

}  // namespace tagline
