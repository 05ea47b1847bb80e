// See fork.hpp.
#include "base/process/fork.hpp"

#include <pthread.h>
#include <sched.h>

namespace tessera::base {
namespace {

constinit std::atomic<unsigned> count{0};
constinit std::atomic<bool> turn{false};  // of threads of a child that find a lock of before

// Before any other thread of this process can hold a lock.
const int watching = ::pthread_atfork(nullptr, nullptr, [] {
  count.fetch_add(1);
  turn.store(false);
});

}  // namespace

unsigned forks() {
  return count.load(std::memory_order_relaxed);
}

bool Mutex::lock_in_child() {
  while (turn.exchange(true, std::memory_order_acquire)) ::sched_yield();
  bool held = false, orphaned = false;
  if (process_.load(std::memory_order_relaxed) != forks()) {
    held = mutex_.try_lock();
    if (!held) {
      ::new (static_cast<void*>(&mutex_)) std::mutex;
      mutex_.lock();
      held = orphaned = true;
    }
    process_.store(forks(), std::memory_order_release);
  }
  turn.store(false, std::memory_order_release);
  if (!held) mutex_.lock();
  return orphaned;
}

}  // namespace tessera::base
