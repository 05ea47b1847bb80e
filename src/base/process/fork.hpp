// Locks in the child of a fork. A thread that held one when the process was forked does not exist in the child, so that
// nobody would ever unlock it, and what it guards may be half done. There the lock is made anew, and what it guards as
// well, without touching what was there.
//
//   base::Mutex mutex;
//   std::map<...> known;
//   const base::Lock lock(mutex, known);  // known is empty where the thread that held the lock is gone
#pragma once

#include <atomic>
#include <mutex>
#include <new>

namespace tessera::base {

// How many forks lie between this process and the one that loaded this code.
unsigned forks();

class Mutex {
 public:
  // True: whoever held it is not in this process.
  [[nodiscard]] bool lock() {
    if (process_.load(std::memory_order_acquire) != forks()) [[unlikely]]
      return lock_in_child();
    mutex_.lock();
    return false;
  }
  void unlock() { mutex_.unlock(); }

 private:
  bool lock_in_child();

  std::mutex mutex_;
  std::atomic<unsigned> process_{0};  // by forks(): in which it is known to work
};

class [[nodiscard]] Lock {
 public:
  // `guarded` are objects that the mutex guards and that may be begun anew.
  template <class... T>
  explicit Lock(Mutex& mutex, T&... guarded) : mutex_(mutex) {
    if (mutex_.lock()) (::new (static_cast<void*>(&guarded)) T(), ...);
  }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

// An object that is made where it is first asked for, and never destroyed. One that a function has as a static variable
// would be waited for in a child, if a thread of its parent was making it.
template <class T>
class Once {
 public:
  template <class Make>
  const T& get(const Make& make) {
    const T* made = made_.load(std::memory_order_acquire);
    if (made != nullptr) [[likely]]
      return *made;
    const Lock lock(mutex_);
    made = made_.load(std::memory_order_relaxed);
    if (made == nullptr) made_.store(made = new T(make()), std::memory_order_release);
    return *made;
  }

 private:
  Mutex mutex_;
  std::atomic<const T*> made_{nullptr};
};

}  // namespace tessera::base
