// Ctrl-C as a flag; see interrupt.hpp. The handler only stores to a lock-free atomic, which is all that a handler may
// do; SA_RESETHAND brings the default action back by itself, so that the second signal ends the process even when the
// program hangs.
#include "base/interrupt.hpp"

namespace tessera::base {
namespace {

std::atomic<bool> interrupted_flag{false};
std::atomic<int> guards{0};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  interrupted_flag.store(true);
}

}  // namespace

InterruptGuard::InterruptGuard() : outermost_(guards.fetch_add(1) == 0), previous_{} {
  if (!outermost_) return;
  interrupted_flag.store(false);
  // A parent that started us with SIGINT ignored (nohup, a shell's background job) meant it.
  ::sigaction(SIGINT, nullptr, &previous_);
  if (previous_.sa_handler == SIG_IGN) return;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  if (outermost_) ::sigaction(SIGINT, &previous_, nullptr);
  guards.fetch_sub(1);
}

const std::atomic<bool>& InterruptGuard::flag() const {
  return interrupted_flag;
}

}  // namespace tessera::base
