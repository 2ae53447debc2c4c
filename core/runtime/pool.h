// One pool of threads for the whole process. Tasks are numbered; which thread runs which task never matters.
#pragma once

#include <functional>

namespace tagline {

// How many threads share the work from now on, and how many do.
void set_threads(int count);
int threads();

// Run task(0) … task(count − 1). A `small` job runs right here, and of a job without `interrupted` the caller does its
// share. Otherwise the caller waits and asks `interrupted` now and then; once that says yes, `stop` becomes 1, which the
// tasks are expected to watch, and run returns false when they have ended. The first exception of a task is thrown again
// here.
bool run(long count, bool small, int& stop, const std::function<bool()>& interrupted,
         const std::function<void(long)>& task);

}  // namespace tagline
