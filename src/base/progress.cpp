// Progress for people; see progress.hpp.
#include "base/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/text.hpp"

namespace tessera::base {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void to_standard_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// A line of progress stands on the terminal of standard error.
std::atomic<bool> drawn_line{false};

ProgressOptions standard_error(std::string label, std::string unit = "tiles") {
  ProgressOptions options;
  options.label = std::move(label);
  options.unit = std::move(unit);
  const char* term = std::getenv("TERM");
  options.terminal = ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  struct winsize size{};
  if (options.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    options.columns = size.ws_col;
  return options;
}

std::string short_number(double value) {
  if (value < 1000) return fmt::format("{:.3g}", value);
  if (value < 1e6) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.3g}M", value / 1e6);
}

}  // namespace

ProgressBar::ProgressBar(std::string label, std::int64_t total, std::string unit)
    : ProgressBar(total, standard_error(std::move(label), std::move(unit))) {}

ProgressBar::ProgressBar(std::int64_t total, ProgressOptions options)
    : options_(std::move(options)), total_(std::max<std::int64_t>(total, 0)) {
  if (!options_.clock) options_.clock = steady_seconds;
  if (!options_.write) options_.write = to_standard_error;
  start_ = options_.clock();
  last_draw_ = start_;
}

ProgressBar::~ProgressBar() {
  if (drawn_ && !finished_ && options_.terminal) options_.write("\n");
  drawn_line = false;
}

std::string ProgressBar::line(double elapsed) const {
  const double fraction = total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 0;
  const double rate = elapsed > 0 ? static_cast<double>(done_) / elapsed : 0;
  std::string tail = fmt::format("{:3.0f}%", fraction * 100);
  if (options_.bytes) {
    tail += fmt::format("  {}/{}", format_bytes(static_cast<double>(done_)), format_bytes(static_cast<double>(total_)));
    tail += fmt::format("  {}/s", format_bytes(rate));
  } else {
    tail += fmt::format("  {}/{} {}  {} {}/s", done_, total_, options_.unit, short_number(rate), options_.unit);
  }
  if (finished_) {
    tail += "  " + format_duration(elapsed);
  } else if (done_ > 0) {
    tail += fmt::format("  {} left", format_duration(static_cast<double>(total_ - done_) / rate));
  }
  const std::string head = options_.label.empty() ? "" : options_.label + "  ";
  if (!options_.terminal) return head + tail;

  const int room = options_.columns - 1 - static_cast<int>(head.size() + tail.size()) - 4;
  std::string bar;
  if (room >= 8) {
    const int width = std::min(room, 40);
    const int full = static_cast<int>(fraction * width);
    bar = "[" + std::string(full, '#') + std::string(width - full, '.') + "]  ";
  }
  std::string out = head + bar + tail;
  // A line that wraps cannot be drawn over.
  if (static_cast<int>(out.size()) >= options_.columns) out.resize(std::max(options_.columns - 1, 0));
  return out;
}

void ProgressBar::draw(double now) {
  const std::string text = line(now - start_);
  options_.write(options_.terminal ? "\r" + text + "\x1b[K" : text + "\n");
  if (options_.terminal) drawn_line = true;
  last_draw_ = now;
  drawn_ = true;
}

void ProgressBar::update(std::int64_t done) {
  if (finished_) return;
  done_ = std::clamp<std::int64_t>(done, 0, total_);
  const double now = options_.clock();
  const double first = options_.terminal ? options_.delay : std::max(options_.delay, options_.interval);
  const double between = options_.terminal ? 0.1 : options_.interval;
  if (now - last_draw_ >= (drawn_ ? between : first)) draw(now);
}

void ProgressBar::finish() {
  if (finished_) return;
  finished_ = true;
  if (!drawn_) return;
  draw(options_.clock());
  if (options_.terminal) options_.write("\n");
  drawn_line = false;
}

void clear_progress() {
  if (drawn_line.exchange(false)) to_standard_error("\r\x1b[K");
}

struct PatienceNote::Shared {
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false, shown = false;
  std::function<void(std::string_view)> write;
  std::thread thread;
};

PatienceNote::PatienceNote(std::string text)
    : PatienceNote(std::move(text), [] {
        ProgressOptions options = standard_error("");
        options.delay = 1;
        return options;
      }()) {}

PatienceNote::PatienceNote(std::string text, const ProgressOptions& options) {
  if (!options.terminal) return;
  shared_ = std::make_unique<Shared>();
  shared_->write = options.write ? options.write : to_standard_error;
  shared_->thread = std::thread([s = shared_.get(), note = std::move(text), delay = options.delay] {
    std::unique_lock lock(s->mutex);
    if (s->ended.wait_for(lock, std::chrono::duration<double>(delay), [&] { return s->over; })) return;
    s->shown = true;
    s->write("\r" + note + "\x1b[K");
  });
}

PatienceNote::~PatienceNote() {
  end();
}

void PatienceNote::end() {
  if (!shared_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
  }
  shared_->ended.notify_one();
  shared_->thread.join();
  if (shared_->shown) shared_->write("\r\x1b[K");
  shared_.reset();
}

}  // namespace tessera::base
