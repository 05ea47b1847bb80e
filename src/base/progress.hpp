// Progress for people: on a terminal one line that is drawn over itself, elsewhere (a log, a pipe) a plain line now and
// then. Nothing appears for work that is over within `delay` seconds: most runs are.
//
//   blur  [##########..........]  50%  512/1024 tiles  1.2k tiles/s  0.4 s left
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::base {

struct ProgressOptions {
  std::string label;
  std::string unit = "tiles";
  bool bytes = false;    // counts are bytes: printed as MiB and MiB/s
  double delay = 0.5;    // seconds before the first drawing
  double interval = 10;  // seconds between plain lines; a terminal is redrawn ten times a second
  bool terminal = false;
  int columns = 80;                             // of the terminal
  std::function<void(std::string_view)> write;  // where the text goes
  std::function<double()> clock;                // seconds, monotonic
};

// Not thread-safe: updates come from one thread at a time.
class ProgressBar {
 public:
  // Writes to standard error, looks whether it is a terminal, and how wide.
  ProgressBar(std::string label, std::int64_t total, std::string unit = "tiles");
  ProgressBar(std::int64_t total, ProgressOptions);
  ~ProgressBar();  // ends the line when something was drawn
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::int64_t done);
  // Leaves the last state and the whole time on the screen.
  void finish();

 private:
  std::string line(double elapsed) const;
  void draw(double now);

  ProgressOptions options_;
  std::int64_t total_, done_ = 0;
  double start_, last_draw_;
  bool drawn_ = false, finished_ = false;
};

// Takes a line of progress away that stands on the terminal of standard error, so that something else can be said
// there; it is drawn again with the next update. Thread-safe.
void clear_progress();

// For work whose length nobody knows, such as a compilation: when it takes longer than a second, a terminal says what
// is being done, until end() or the destructor, which take the line away again. Anything but a terminal says nothing.
class PatienceNote {
 public:
  explicit PatienceNote(std::string text);
  PatienceNote(std::string text, const ProgressOptions&);  // delay, terminal and write are used
  ~PatienceNote();                                         // as end()
  PatienceNote(const PatienceNote&) = delete;
  PatienceNote& operator=(const PatienceNote&) = delete;
  void end();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace tessera::base
