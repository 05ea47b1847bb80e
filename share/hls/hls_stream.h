// Streams as HLS tools have them, and what their simulation in C++ lacks.
//
// There a stream is a queue without end and processes run one after the other, so that a FIFO that is too short, a
// deadlock, or a loop that cannot start every clock do not show. Here a stream of a depth holds so many values;
// processes (TESSERA_PROCESS) are fibres that take turns, one tick (TESSERA_TICK) each, in the order in which they were
// made, so that a round is a clock of a circuit whose loops start every clock. When nobody can go on, the simulation
// says who waits for what. Every stream and memory counts how often it is used in one tick, and `hls::report` tells.
//
// Fibres are those of POSIX (ucontext): Linux, with GCC or Clang.
#ifndef TESSERA_HLS_HLS_STREAM_H
#define TESSERA_HLS_HLS_STREAM_H

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#define TESSERA_HLS 1

namespace hls {

// ---- processes -----------------------------------------------------------------------------------------------------

struct fibre {
  static constexpr std::size_t stack_bytes = std::size_t(64) << 20;  // taken when it is touched
  ucontext_t context;
  void* stack;
  std::function<void()> work;
  std::string name, waits_for;
  long long serial, ticks = 0;
  bool done = false;

  fibre(std::string called, std::function<void()> w, long long number)
      : work(std::move(w)), name(std::move(called)), serial(number) {
    stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) {
      std::fprintf(stderr, "error: no memory for the stack of process '%s'\n", name.c_str());
      std::exit(3);
    }
  }
  ~fibre() { munmap(stack, stack_bytes); }
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;
};

class scheduler {
 public:
  static scheduler& get() {
    static scheduler one;
    return one;
  }
  fibre* current() const { return current_; }
  long long clocks() const { return clocks_; }

  std::shared_ptr<fibre> start(const char* call, std::function<void()> work) {
    std::string name(call);
    const std::shared_ptr<fibre> f =
        std::make_shared<fibre>(name.substr(0, name.find_first_of("(<")), std::move(work), ++serial_);
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = fibre::stack_bytes;
    f->context.uc_link = &main_;
    makecontext(&f->context, &scheduler::enter, 0);
    fibres_.push_back(f);
    return f;
  }

  void join(const std::shared_ptr<fibre>& f) {
    while (!f->done) {
      if (current_ == nullptr)
        round();
      else
        wait("the end of process '" + f->name + "'");
    }
  }

  // Gives the turn away until the next round; what it waits for is in its way.
  void wait(const std::string& what) {
    current_->waits_for = what;
    leave();
  }
  void tick() {
    if (current_ == nullptr) return;
    if (current_->ticks++ > 0) {
      progress_ = true;
      leave();
    }
  }
  void moved() { progress_ = true; }

 private:
  static void enter() {
    scheduler& s = get();
    s.current_->work();
    s.current_->done = true;
    s.progress_ = true;
  }
  void leave() {
    fibre* const f = current_;
    swapcontext(&f->context, &main_);
    f->waits_for.clear();
  }
  void round() {
    progress_ = false;
    ++clocks_;
    for (std::size_t k = 0; k < fibres_.size(); ++k) {
      const std::shared_ptr<fibre> f = fibres_[k];
      if (f->done) continue;
      current_ = f.get();
      swapcontext(&main_, &f->context);
      current_ = nullptr;
    }
    if (!progress_) deadlock();
    fibres_.erase(
        std::remove_if(fibres_.begin(), fibres_.end(), [](const std::shared_ptr<fibre>& f) { return f->done; }),
        fibres_.end());
  }
  [[noreturn]] void deadlock() const {
    std::fprintf(stderr, "error: deadlock after %lld clocks\n", clocks_);
    for (const std::shared_ptr<fibre>& f : fibres_)
      std::fprintf(stderr, "note: process '%s' waits for %s\n", f->name.c_str(), f->waits_for.c_str());
    std::exit(3);
  }

  ucontext_t main_;
  fibre* current_ = nullptr;
  std::vector<std::shared_ptr<fibre>> fibres_;
  long long clocks_ = 0, serial_ = 0;
  bool progress_ = false;
};

// Runs beside the others until the end of its scope, which waits for it.
class process {
 public:
  process(const char* call, std::function<void()> work) : fibre_(scheduler::get().start(call, std::move(work))) {}
  ~process() { scheduler::get().join(fibre_); }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

 private:
  std::shared_ptr<fibre> fibre_;
};

inline long long clocks() {
  return scheduler::get().clocks();
}

// ---- counts --------------------------------------------------------------------------------------------------------

// How often something happens, in all and in one tick of a process.
struct uses {
  long long all = 0, most = 0, now = 0, serial = -1, tick = -1;
  void count() {
    ++all;
    const fibre* const f = scheduler::get().current();
    if (f == nullptr || f->ticks == 0) return;
    now = serial == f->serial && tick == f->ticks ? now + 1 : 1;
    serial = f->serial;
    tick = f->ticks;
    most = std::max(most, now);
  }
};

struct counts {
  std::string name;
  bool memory = false;
  long long depth = 0;  // of a stream, 0: without end; elements of a memory
  uses reads, writes;
  long long highest = 0;   // most values that a stream held
  long long declared = 0;  // of a memory: ticks from a write to a read of the same place, at least
  long long distance = -1;
};

inline std::deque<counts>& all_counts() {
  static std::deque<counts> all;
  return all;
}

// Those of a name, which every call of a function adds to.
inline counts& counts_of(const std::string& name, bool memory) {
  for (counts& c : all_counts())
    if (c.name == name && c.memory == memory) return c;
  all_counts().push_back(counts());
  all_counts().back().name = name;
  all_counts().back().memory = memory;
  return all_counts().back();
}

inline bool starts_every_clock(const counts& c) {
  return c.reads.most <= 1 && c.writes.most <= 1 && (c.distance < 0 || c.distance >= c.declared);
}

// Prints all counts. Could every loop start once a clock: was no stream and no memory read or written twice in a tick,
// and no place of a memory read sooner after a write than declared?
inline bool report(std::FILE* to) {
  bool good = true;
  for (const counts& c : all_counts()) {
    const std::string depth = c.depth == 0 ? "no end" : std::to_string(c.depth);
    std::fprintf(to, "%s %s: %lld reads, %lld writes, at most %lld and %lld in a tick", c.memory ? "memory" : "stream",
                 c.name.c_str(), c.reads.all, c.writes.all, c.reads.most, c.writes.most);
    if (c.memory)
      std::fprintf(to, ", read %lld ticks after a write at least (declared: %lld)", c.distance, c.declared);
    else
      std::fprintf(to, ", held %lld of %s", c.highest, depth.c_str());
    std::fprintf(to, "%s\n", starts_every_clock(c) ? "" : ": cannot start every clock");
    good = good && starts_every_clock(c);
  }
  std::fprintf(to, "%lld clocks\n", clocks());
  return good;
}

// ---- streams -------------------------------------------------------------------------------------------------------

template <class T, int DEPTH = 0>
class stream;

template <class T>
class stream<T, 0> {
 public:
  explicit stream(const char* name = "") : stream(name, 0) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  bool empty() const { return values_.empty(); }
  bool full() const { return depth_ > 0 && values_.size() >= depth_; }
  std::size_t size() const { return values_.size(); }

  T read() {
    while (empty()) wait("a value of stream '");
    counts_.reads.count();
    scheduler::get().moved();
    const T v = values_.front();
    values_.pop_front();
    return v;
  }
  void read(T& v) { v = read(); }
  bool read_nb(T& v) {
    if (empty()) return false;
    v = read();
    return true;
  }
  void write(const T& v) {
    while (full()) wait("room in stream '");
    counts_.writes.count();
    scheduler::get().moved();
    values_.push_back(v);
    counts_.highest = std::max(counts_.highest, static_cast<long long>(values_.size()));
  }
  bool write_nb(const T& v) {
    if (full()) return false;
    write(v);
    return true;
  }
  void operator>>(T& v) { v = read(); }
  void operator<<(const T& v) { write(v); }

 protected:
  stream(const char* name, int depth)
      : depth_(static_cast<std::size_t>(depth)), counts_(counts_of(*name == 0 ? "without a name" : name, false)) {
    counts_.depth = depth;
  }

 private:
  void wait(const char* what) {
    if (scheduler::get().current() == nullptr) {
      std::fprintf(stderr, "error: nothing runs beside the caller, who waits for %s%s'\n", what, counts_.name.c_str());
      std::exit(3);
    }
    scheduler::get().wait(what + counts_.name + "'");
  }

  std::size_t depth_;
  std::deque<T> values_;
  counts& counts_;
};

template <class T, int DEPTH>
class stream : public stream<T, 0> {
 public:
  explicit stream(const char* name = "") : stream<T, 0>(name, DEPTH) {}
};

// ---- memories ------------------------------------------------------------------------------------------------------

template <class T, int SIZE>
class memory {
 public:
  memory(const char* name, int distance) : values_(SIZE), written_(SIZE), counts_(counts_of(name, true)) {
    counts_.depth = SIZE;
    counts_.declared = distance;
  }
  class place {
   public:
    place(memory& of, long long at) : of_(of), at_(at) {}
    operator T() const { return of_.read(at_); }
    place& operator=(const T& v) {
      of_.write(at_, v);
      return *this;
    }

   private:
    memory& of_;
    long long at_;
  };
  place operator[](long long at) {
    if (at < 0 || at >= SIZE) {
      std::fprintf(stderr, "error: place %lld of memory '%s', which has %d\n", at, counts_.name.c_str(), SIZE);
      std::exit(3);
    }
    return place(*this, at);
  }

 private:
  struct stamp {
    long long serial = -1, tick = 0;
  };
  T read(long long at) {
    counts_.reads.count();
    const fibre* const f = scheduler::get().current();
    const stamp& w = written_[static_cast<std::size_t>(at)];
    if (f != nullptr && w.serial == f->serial) {
      const long long distance = f->ticks - w.tick;
      counts_.distance = counts_.distance < 0 ? distance : std::min(counts_.distance, distance);
    }
    return values_[static_cast<std::size_t>(at)];
  }
  void write(long long at, const T& v) {
    counts_.writes.count();
    if (const fibre* const f = scheduler::get().current()) {
      written_[static_cast<std::size_t>(at)].serial = f->serial;
      written_[static_cast<std::size_t>(at)].tick = f->ticks;
    }
    values_[static_cast<std::size_t>(at)] = v;
  }

  std::vector<T> values_;
  std::vector<stamp> written_;
  counts& counts_;
};

}  // namespace hls

#define TESSERA_HLS_JOIN2(a, b) a##b
#define TESSERA_HLS_JOIN(a, b) TESSERA_HLS_JOIN2(a, b)
#define TESSERA_PROCESS(...) \
  const hls::process TESSERA_HLS_JOIN(process_of_line_, __LINE__)(#__VA_ARGS__, [&] { __VA_ARGS__; })
#define TESSERA_TICK() hls::scheduler::get().tick()
#define TESSERA_MEMORY(type, name, size, distance) static hls::memory<type, size> name(#name, distance)
#define TESSERA_STREAM(type, name) hls::stream<type, 2> name(#name)

#endif
