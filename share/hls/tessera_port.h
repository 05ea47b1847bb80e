// A memory outside of the chip behind a port, for programs that read it at any place: how many clocks that takes.
//
// A port serves so many accesses a clock. A process that asks for more in one tick waits for the next, as a pipelined
// loop does whose body has more accesses than the port: its iterations cannot start every clock. Latency and bursts are
// not modelled, so a real memory is slower, never faster. With the headers of a tool TESSERA_PORT is a pointer.
#ifndef TESSERA_HLS_TESSERA_PORT_H
#define TESSERA_HLS_TESSERA_PORT_H

#include <hls_stream.h>

#ifdef TESSERA_HLS
#define TESSERA_PORT(type) hls::port<type>&

namespace hls {

template <class T>
class port {
 public:
  // `elements` outlive the port; `accesses`: a clock.
  port(const char* name, T* elements, long long size, int accesses)
      : elements_(elements), size_(size), accesses_(accesses), counts_(counts_of(name, true)) {
    counts_.depth = size;
  }
  class place {
   public:
    place(port& of, long long at) : of_(of), at_(at) {}
    operator T() const { return of_.read(at_); }
    place& operator=(const T& v) {
      of_.write(at_, v);
      return *this;
    }

   private:
    port& of_;
    long long at_;
  };
  place operator[](long long at) { return place(*this, at); }
  long long reads() const { return counts_.reads.all; }
  long long writes() const { return counts_.writes.all; }

 private:
  void take(long long at) {
    if (at < 0 || at >= size_) {
      std::fprintf(stderr, "error: place %lld behind port '%s', which has %lld\n", at, counts_.name.c_str(), size_);
      std::exit(3);
    }
    const fibre* const f = scheduler::get().current();
    if (f == nullptr) return;
    if (tick_ != f->ticks) tick_ = f->ticks, now_ = 0;
    if (now_ == accesses_) {
      scheduler::get().tick();
      tick_ = f->ticks, now_ = 0;
    }
    ++now_;
  }
  T read(long long at) {
    take(at);
    counts_.reads.count();
    return elements_[at];
  }
  void write(long long at, const T& v) {
    take(at);
    counts_.writes.count();
    elements_[at] = v;
  }

  T* elements_;
  long long size_;
  int accesses_, now_ = 0;
  long long tick_ = -1;
  counts& counts_;
};

}  // namespace hls
#else
#define TESSERA_PORT(type) type*
#endif

#endif
