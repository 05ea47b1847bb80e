// A limit on the time that making code of a program may take, and a word for what it is busy with, so that the error
// can name it. Everything that a text can make long looks at it: every node of an expression that is made does.
//
//   const base::Deadline deadline(options.compile_limit, options.cancel);
//   ...
//   base::reached_stage(stage.name);
//   base::look_at_deadline();  // throws Error(argument) when it has passed, Error(cancelled)
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

namespace tessera::base {

// Of this thread, while it lives. Within another one the earlier of both counts.
class Deadline {
 public:
  // `seconds` from now, more under sanitizers; 0: no limit. `cancel` may be null.
  explicit Deadline(double seconds, const std::atomic<bool>* cancel = nullptr);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // For work that somebody else does for this thread: seconds that are left, where `seconds` is 0 and there is a limit,
  // a millisecond at least; and the nearest flag, where `cancel` is null.
  static void take_over(double& seconds, const std::atomic<bool>*& cancel);

 private:
  friend void look_at_deadline();
  Deadline* outer_;
  std::chrono::steady_clock::time_point end_;
  double seconds_;
  const std::atomic<bool>* cancel_;
};

// What this thread has come to, as errors tell it: the name of a stage of a program.
void reached_stage(std::string_view name);

void look_at_deadline();

// The same, of every thousandth call: for what is called for every node.
inline thread_local unsigned calls_until_deadline = 0;
inline void count_towards_deadline() {
  if ((++calls_until_deadline & 1023U) == 0) look_at_deadline();
}

}  // namespace tessera::base
