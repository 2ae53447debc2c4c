// How a question to the core ends: every function that works through sentences returns an Outcome, or a bool that says
// whether it finished.
#pragma once

#include <cstdint>
#include <functional>

namespace tagline {

// `sentence` names the first sentence without a legal labelling; −1 where all have one.
struct Outcome {
    bool finished = true;
    int64_t sentence = -1;
};

// Asked now and then: whether the caller wants an answer no longer (Ctrl-C).
using Interrupted = std::function<bool()>;

}  // namespace tagline
