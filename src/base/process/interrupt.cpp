// Signals as a flag; see interrupt.hpp. The handler only stores to lock-free atomics, which is all that a handler may
// do; SA_RESETHAND brings the default action back by itself, so that the second signal ends the process even when the
// program hangs.
#include "base/process/interrupt.hpp"

namespace tessera::base {
namespace {

std::atomic<bool> interrupted_flag{false};
std::atomic<int> signal_number{0};
std::atomic<int> guards{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

struct Watched {
  int number;
  bool ends;  // the run; else it is only kept from killing the process
};
constexpr std::array<Watched, 6> watched = {
    {{SIGINT, true}, {SIGTERM, true}, {SIGHUP, true}, {SIGXCPU, true}, {SIGPIPE, false}, {SIGXFSZ, false}}};

extern "C" void on_interrupt(int number) {
  signal_number.store(number);
  interrupted_flag.store(true);
}

}  // namespace

InterruptGuard::InterruptGuard() : outermost_(guards.fetch_add(1) == 0), previous_{} {
  if (!outermost_) return;
  interrupted_flag.store(false);
  for (std::size_t k = 0; k < watched.size(); ++k) {
    ::sigaction(watched[k].number, nullptr, &previous_[k]);
    // A parent that started us with a signal ignored (nohup, a shell's background job) meant it; a host that handles
    // broken pipes itself, too.
    if (previous_[k].sa_handler == SIG_IGN || (!watched[k].ends && previous_[k].sa_handler != SIG_DFL)) continue;
    struct sigaction action{};
    if (watched[k].ends)
      action.sa_handler = on_interrupt;
    else
      action.sa_handler = SIG_IGN;
    action.sa_flags = watched[k].ends ? static_cast<int>(SA_RESETHAND | SA_RESTART) : 0;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(watched[k].number, &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  if (outermost_)
    for (std::size_t k = 0; k < watched.size(); ++k) ::sigaction(watched[k].number, &previous_[k], nullptr);
  guards.fetch_sub(1);
}

const std::atomic<bool>& InterruptGuard::flag() const {
  return interrupted_flag;
}

int InterruptGuard::last_signal() {
  return signal_number.load();
}

}  // namespace tessera::base
