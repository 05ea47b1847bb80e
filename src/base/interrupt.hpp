// Ctrl-C that ends a run cleanly: the first SIGINT sets a flag that loops look at (RunOptions::cancel), a second one
// kills the process as it would without us.
//
//   base::InterruptGuard interrupt;
//   options.cancel = &interrupt.flag();
#pragma once

#include <signal.h>

#include <atomic>

namespace tessera::base {

// Watches while it lives, then restores what was there before. At most one at a time; a nested one shares the flag.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>& flag() const;
  bool interrupted() const { return flag().load(); }

 private:
  bool outermost_;
  struct sigaction previous_;
};

}  // namespace tessera::base
