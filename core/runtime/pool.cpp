#include "runtime/pool.h"

#include "runtime/compiler.h"

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tagline {

namespace {

constexpr int kSpins = 2'000;  // some 30 µs: a thread that sleeps is woken no sooner
typedef std::chrono::steady_clock Clock;
constexpr std::chrono::milliseconds kMoment(20);  // that the caller works before it asks whether to go on

void pause() {
#if defined(TAGLINE_X86)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
}

int process_number() {
#if defined(_WIN32)
    return _getpid();
#else
    return int(getpid());
#endif
}

struct Job {
    const std::function<void(long)>& task;
    const long count;
    int& stop;
    const int limit;  // threads that may work on it
    std::atomic<long> next{0};
    int joined = 0;
    std::atomic<int> working{0};
    std::exception_ptr error = nullptr;
};

class Pool {
public:
    // Threads do not survive a fork: a child process makes its own pool and forgets its parent's. No lock is taken to
    // find it: another thread of the parent could hold it at the moment of the fork, and nobody would ever release it
    // in the child.
    static Pool& instance() {
        static std::atomic<Pool*> current{nullptr};
        Pool* pool = current.load();
        while (!pool || pool->process_ != process_number()) {
            Pool* fresh = new Pool;
            if (current.compare_exchange_strong(pool, fresh)) return *fresh;
            delete fresh;  // another thread was first; this one has no workers yet
        }
        return *pool;
    }

    bool run(long count, int& stop, const Interrupted& interrupted, const std::function<void(long)>& task, int limit,
             bool brief) {
        const std::lock_guard one_at_a_time(running_);
        const bool helps = !interrupted, begins = interrupted && brief;
        const int others = limit - (helps || begins);
        grow(others);
        Job job{task, count, stop, limit};
        std::unique_lock lock(mutex_);
        job_ = &job;
        if (others > 0) wake_.notify_all();
        if (helps || begins) {
            take_part(job, lock, begins ? Clock::now() + kMoment : Clock::time_point::max());
            lock.unlock();
            for (int k = 0; k < kSpins && job.working > 0; ++k) pause();
            lock.lock();
        }
        if (begins && job.next < count && !job.error) {  // another thread goes on in the caller's place
            grow(limit);
            --job.joined;
            wake_.notify_all();
        }
        bool interrupt = false;
        const auto finished = [&] { return job.working == 0 && (job.next >= count || job.error || interrupt); };
        while (!done_.wait_for(lock, std::chrono::milliseconds(50), finished)) {
            if (interrupt || helps) continue;
            lock.unlock();
            const bool asked = interrupted();
            lock.lock();
            if (asked) {
                interrupt = true;
                __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
            }
        }
        job_ = nullptr;
        if (job.error) std::rethrow_exception(job.error);
        return !interrupt;
    }

private:
    Pool() : process_(process_number()) {}

    void grow(int count) {
        while (int(workers_.size()) < count) workers_.emplace_back([this] { work(); });
    }

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return job_ && job_->joined < job_->limit && job_->next < job_->count; });
            take_part(*job_, lock, Clock::time_point::max());
        }
    }

    // Run tasks of a job while there are any, and begin none after `end`.
    void take_part(Job& job, std::unique_lock<std::mutex>& lock, Clock::time_point end) {
        ++job.joined;
        ++job.working;
        lock.unlock();
        std::exception_ptr error;
        try {
            const auto goes_on = [&] {
                return !stopped(&job.stop) && (end == Clock::time_point::max() || Clock::now() < end);
            };
            for (long k; goes_on() && (k = job.next++) < job.count;) job.task(k);
        } catch (...) {
            error = std::current_exception();
            __atomic_store_n(&job.stop, 1, __ATOMIC_RELAXED);
        }
        lock.lock();
        if (error && !job.error) job.error = error;
        if (--job.working == 0) done_.notify_all();
    }

    const int process_;
    std::mutex running_, mutex_;
    std::condition_variable wake_, done_;
    Job* job_ = nullptr;
    std::vector<std::thread> workers_;
};

std::atomic<int> thread_count{0};

}  // namespace

void set_threads(int count) { thread_count = count; }

int threads() {
    const int count = thread_count;
    if (count > 0) return count;
    const unsigned cores = std::thread::hardware_concurrency();
    return cores ? int(cores) : 1;
}

bool run(long count, bool small, int& stop, const Interrupted& interrupted, const std::function<void(long)>& task,
         bool brief) {
    const int limit = threads();
    if (small || (!interrupted && (limit == 1 || count == 1))) {
        for (long k = 0; k < count; ++k) task(k);
        return true;
    }
    return Pool::instance().run(count, stop, interrupted, task, limit, brief);
}

}  // namespace tagline
