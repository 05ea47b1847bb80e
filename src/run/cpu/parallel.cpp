// The loop over tiles on oneTBB arenas. Arenas are kept: making one costs tens of microseconds and lets its workers go
// to sleep, a kept one finds them spinning for a moment after the last run. Each run has one to itself, as a caller of
// an arena that another one's threads fill would wait for that one's end.
#include "run/cpu/parallel.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/process/fork.hpp"
#include "run/cpu/machine.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

constexpr int most_threads = 4096;
std::atomic<int> own_cores{most_threads};

bool is_set(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

[[noreturn]] void throw_cancelled(i64 done, i64 count) {
  throw Error(ErrorClass::cancelled, fmt::format("cancelled after {} of {} tiles", done, count));
}

void run_inline(i64 count, detail::TileFunction fn, const std::atomic<bool>* cancel,
                const std::function<void(const Progress&)>* progress) {
  for (i64 tile = 0; tile < count; ++tile) {
    if (is_set(cancel)) throw_cancelled(tile, count);
    fn.call(fn.object, tile, 0);
    if (progress != nullptr) (*progress)({tile + 1, count});
  }
}

// What the threads of one run share. oneTBB orders the end of a run after its parts; the library is not instrumented,
// and so that ThreadSanitizer sees the same, next_ publishes the run to its threads and left_ their results to the
// caller. On x86-64 that costs nothing.
class Run {
 public:
  Run(i64 count, int threads, detail::TileFunction fn, const std::atomic<bool>* cancel,
      const std::function<void(const Progress&)>* progress)
      : count_(count), threads_(threads), fn_(fn), cancel_(cancel), progress_(progress) {
    next_.store(0, std::memory_order_release);
  }

  void work(int slot) noexcept {
    run_some(slot);
    left_.fetch_add(1, std::memory_order_release);
  }

  void finish() {
    left_.load(std::memory_order_acquire);
    if (error_) std::rethrow_exception(error_);
    const i64 done = done_.load();
    if (done < count_) throw_cancelled(done, count_);
    if (progress_ != nullptr && reported_ < count_) (*progress_)({count_, count_});
  }

 private:
  void run_some(int slot) noexcept {
    try {
      i64 begin = 0, end = 0;
      while (take(begin, end)) {
        for (i64 tile = begin; tile < end; ++tile) {
          if (stop_.load(std::memory_order_relaxed) || is_set(cancel_)) return;
          fn_.call(fn_.object, tile, slot);
          done_.fetch_add(1, std::memory_order_relaxed);
          report();
        }
      }
    } catch (...) {
      stop_.store(true, std::memory_order_relaxed);
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  // An eighth of a thread's share of what is left: few visits to the counter, a fine-grained end.
  bool take(i64& begin, i64& end) {
    i64 at = next_.load(std::memory_order_acquire);
    i64 size = 0;
    do {
      if (at >= count_) return false;
      size = std::max<i64>(1, (count_ - at) / (i64{8} * threads_));
    } while (!next_.compare_exchange_weak(at, at + size, std::memory_order_acquire));
    begin = at;
    end = at + size;
    return true;
  }

  // A thread that finds another one reporting goes on with its work; the last count is reported by finish().
  void report() {
    if (progress_ == nullptr) return;
    const std::unique_lock lock(progress_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    const i64 done = done_.load(std::memory_order_relaxed);
    if (done <= reported_) return;
    reported_ = done;
    (*progress_)({done, count_});
  }

  const i64 count_;
  const int threads_;
  const detail::TileFunction fn_;
  const std::atomic<bool>* const cancel_;
  const std::function<void(const Progress&)>* const progress_;
  alignas(64) std::atomic<i64> next_;
  alignas(64) std::atomic<i64> done_{0};
  std::atomic<int> left_{0};  // threads that have left
  std::atomic<bool> stop_{false};
  std::mutex mutex_, progress_mutex_;
  std::exception_ptr error_;
  i64 reported_ = 0;
};

// A thread's part of a run. The task lies in memory that the library hands over, out of ThreadSanitizer's sight.
struct Part {
  Run* run;
  __attribute__((no_sanitize("thread"))) void operator()() const {
    run->work(oneapi::tbb::this_task_arena::current_thread_index());
  }
};

// An arena of so many threads, for as long as this lives.
class BorrowedArena {
 public:
  explicit BorrowedArena(int threads) : threads_(threads) {
    {
      const base::Lock lock(mutex());
      auto& free = idle()[threads];
      if (!free.empty()) {
        arena_ = std::move(free.back());
        free.pop_back();
      }
    }
    if (!arena_) arena_ = std::make_unique<oneapi::tbb::task_arena>(threads);
  }
  ~BorrowedArena() {
    try {
      const base::Lock lock(mutex());
      idle()[threads_].push_back(std::move(arena_));
    } catch (...) {  // no memory to keep it
    }
  }
  BorrowedArena(const BorrowedArena&) = delete;
  BorrowedArena& operator=(const BorrowedArena&) = delete;

  oneapi::tbb::task_arena& operator*() { return *arena_; }

 private:
  // Never destroyed: at the end of the process the scheduler may be gone before static objects are.
  using Idle = std::map<int, std::vector<std::unique_ptr<oneapi::tbb::task_arena>>>;
  static Idle& idle() {
    static auto& all = *new Idle;
    return all;
  }
  static base::Mutex& mutex() {
    static auto& one = *new base::Mutex;
    return one;
  }

  int threads_;
  std::unique_ptr<oneapi::tbb::task_arena> arena_;
};

// A fork leaves the scheduler's threads behind: its child would wait for them, in an arena that other threads fill. A
// child of before its first use has threads of its own.
bool threads_are_gone() {
  static std::atomic<unsigned> used_in{0};  // the process, from 1 on
  const unsigned here = base::forks() + 1;
  unsigned known = used_in.load(std::memory_order_relaxed);
  if (known == 0 && used_in.compare_exchange_strong(known, here)) return false;
  return known != here;
}

}  // namespace

int thread_count(int requested) {
  if (requested < 0 || requested > most_threads)
    throw Error(ErrorClass::argument, fmt::format("{} threads cannot be used, expected 1 to {}, or 0 for all cores",
                                                  requested, most_threads));
  return requested == 0 ? std::min(machine().cores, own_cores.load()) : requested;
}

void use_cores(int count) {
  own_cores.store(std::max(count, 1));
}

namespace detail {

void run_tiles(i64 count, int threads, TileFunction fn, const std::atomic<bool>* cancel,
               const std::function<void(const Progress&)>* progress) {
  if (count <= 0) return;
  if (count == 1 || threads == 1) return run_inline(count, fn, cancel, progress);
  if (threads_are_gone()) return run_inline(count, fn, cancel, progress);
  // More threads than cores would only take turns (and the scheduler would complain about it).
  const int slots = std::min(thread_count(threads), oneapi::tbb::info::default_concurrency());
  if (slots == 1) return run_inline(count, fn, cancel, progress);
  const i64 wanted = std::min<i64>(slots, count) - 1;
  Run run(count, slots, fn, cancel, progress);
  BorrowedArena arena(slots);
  (*arena).execute([&]() __attribute__((no_sanitize("thread"))) {
    // Isolated: a caller that is itself a task must not pick up foreign work while it waits.
    oneapi::tbb::this_task_arena::isolate([&]() __attribute__((no_sanitize("thread"))) {
      oneapi::tbb::task_group helpers;
      for (i64 i = 0; i < wanted; ++i) helpers.run(Part{&run});
      Part{&run}();
      helpers.wait();
    });
  });
  run.finish();
}

}  // namespace detail
}  // namespace tessera::run::cpu
