// Ctrl-C and its kin as a flag: the first SIGINT, SIGTERM, SIGHUP or SIGXCPU (a soft limit on processor time) sets it,
// and loops look at it (RunOptions::cancel), so that a run ends cleanly; a second one kills the process as it would
// without us. A reader that goes away (SIGPIPE) and a limit on the size of files (SIGXFSZ) become errors of the write
// that met them.
//
//   base::InterruptGuard interrupt;
//   options.cancel = &interrupt.flag();
#pragma once

#include <signal.h>

#include <array>
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
  // The last signal that any guard saw, 0 before: a process that ends for it has status 128 more.
  static int last_signal();

 private:
  bool outermost_;
  std::array<struct sigaction, 6> previous_;
};

}  // namespace tessera::base
