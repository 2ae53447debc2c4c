// One pool of threads for the whole process. Tasks are numbered; which thread runs which task never matters.
#pragma once

#include "runtime/outcome.h"

#include <functional>

namespace tagline {

// How many threads share the work from now on, and how many do.
void set_threads(int count);
int threads();

// Run task(0) … task(count − 1). A `small` job runs right here. Without `interrupted` the caller works on the job like
// any thread. With it the caller works, too, where the tasks are `brief`, but for a moment only: then it waits and asks
// `interrupted` now and then, and once that says yes, `stop` becomes 1, which the tasks are expected to watch, and run
// returns false when they have ended. The first exception of a task is thrown again here.
bool run(long count, bool small, int& stop, const Interrupted& interrupted, const std::function<void(long)>& task,
         bool brief = false);

// What a task asks about its `stop`.
inline bool stopped(const int* stop) { return __atomic_load_n(stop, __ATOMIC_RELAXED) != 0; }

}  // namespace tagline
