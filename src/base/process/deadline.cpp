// See deadline.hpp.
#include "base/process/deadline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/process/sanitizer.hpp"
#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::base {
namespace {

using Clock = std::chrono::steady_clock;

thread_local Deadline* innermost = nullptr;
thread_local std::string stage;

// What limits say is of code as it is shipped: under sanitizers all of it is slower, by up to this much.
constexpr double slower = under_address_sanitizer || under_thread_sanitizer ? 20 : 1;

}  // namespace

Deadline::Deadline(double seconds, const std::atomic<bool>* cancel)
    : outer_(innermost),
      end_(seconds > 0 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                            std::chrono::duration<double>(std::min(slower * seconds, 1e8)))
                       : Clock::time_point::max()),
      seconds_(seconds),
      cancel_(cancel) {
  if (outer_ == nullptr) stage.clear();
  innermost = this;
}

Deadline::~Deadline() {
  innermost = outer_;
}

void Deadline::take_over(double& seconds, const std::atomic<bool>*& cancel) {
  Clock::time_point end = Clock::time_point::max();
  for (const Deadline* d = innermost; d != nullptr; d = d->outer_) {
    end = std::min(end, d->end_);
    if (cancel == nullptr) cancel = d->cancel_;
  }
  if (seconds == 0 && end != Clock::time_point::max())
    seconds = std::max(1e-3, std::chrono::duration<double>(end - Clock::now()).count());
}

void reached_stage(std::string_view name) {
  if (innermost != nullptr) stage.assign(name);
}

void look_at_deadline() {
  for (const Deadline* d = innermost; d != nullptr; d = d->outer_) {
    if (d->cancel_ != nullptr && d->cancel_->load()) throw Error(ErrorClass::cancelled, "interrupted");
    if (d->end_ == Clock::time_point::max() || Clock::now() < d->end_) continue;
    std::vector<std::string> notes;
    if (!stage.empty()) notes.push_back(fmt::format("it had come to stage {}", quoted(stage)));
    throw Error(ErrorClass::argument, fmt::format("compiling the program takes longer than {} s", d->seconds_),
                std::move(notes),
                "write a smaller program, or allow more with --compile-limit SECONDS (compile_limit of the options)");
  }
}

}  // namespace tessera::base
