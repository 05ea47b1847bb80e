// An emitted circuit in Verilator: words of frames in, words of frames out, clock by clock, with or without stalls.
//
// Who builds it writes "circuit.hpp", which includes the model and defines
//   TOP                the model's class
//   INPUTS(X) RESULTS(X)   X(name, bytes of an element, points a word, height, width) for each stream: of its own image
//   SCALARS(X)             X(name, value) for each value of a frame
// Frames are in NAME.raw, elements in rows, frames one after the other, and come out in NAME.out. It prints one line of
// numbers with their names: of clocks from taking the first word in to handing out the last one of a result (`clocks`)
// and its first (`latency`), and of everything that must not be: words with a wrong tlast, tuser or tkeep (`marks`),
// words that changed while nobody took them (`changed`), the circuit's own `error`.
//
//   clocked FRAMES STALLS SEED [WORDS]
//
// STALLS: percent of the clocks in which a side pauses. WORDS: feed so many and see what comes out, less than all.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "circuit.hpp"
#include "verilated.h"

namespace {

constexpr long idle_most = 20000;  // clocks without a word on either side

using Bytes = std::vector<unsigned char>;

struct Stream {
  std::string name;
  std::size_t element, lanes, height, width, frames;
  unsigned char *data, *valid, *ready, *last, *user, *keep;
  Bytes bytes = Bytes(frames * height * width * element);
  std::size_t word = 0;  // that is next
  bool held = false;     // of a result: its word was there and was not taken; of an input: it was taken in this clock
  Bytes before = {};
  long first = -1, final = -1;  // clocks of words

  std::size_t word_bytes() const { return element * lanes; }
  std::size_t words() const { return (width + lanes - 1) / lanes; }  // of a row
  std::size_t all() const { return frames * height * words(); }
  bool ends_row() const { return word % words() == words() - 1; }
  bool starts_frame() const { return word % (words() * height) == 0; }
  // Where the word stands among all bytes, and how many of it are of the image.
  std::size_t place() const { return (word / words() * width + word % words() * lanes) * element; }
  std::size_t there() const { return std::min(lanes, width - word % words() * lanes) * element; }
};

template <class T>
unsigned char* at(T& port) {
  return reinterpret_cast<unsigned char*>(&port);
}

void load(Stream& s) {
  std::FILE* const file = std::fopen((s.name + ".raw").c_str(), "rb");
  if (file == nullptr || std::fread(s.bytes.data(), 1, s.bytes.size(), file) != s.bytes.size()) {
    std::fprintf(stderr, "error: %s.raw has less than %zu bytes\n", s.name.c_str(), s.bytes.size());
    std::exit(2);
  }
  std::fclose(file);
}

void store(const Stream& s) {
  std::FILE* const file = std::fopen((s.name + ".out").c_str(), "wb");
  if (file == nullptr || std::fwrite(s.bytes.data(), 1, s.bytes.size(), file) != s.bytes.size() ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "error: %s.out cannot be written\n", s.name.c_str());
    std::exit(2);
  }
}

class Bench {
 public:
  Bench(std::size_t frames, unsigned stalls, unsigned seed, std::size_t most)
      : stalls_(stalls), random_(seed), most_(most) {
#define IN(name, element, lanes, height, width)                                                         \
  inputs_.push_back({#name, element, lanes, height, width, frames, at(top_.s_##name##_tdata),           \
                     at(top_.s_##name##_tvalid), at(top_.s_##name##_tready), at(top_.s_##name##_tlast), \
                     at(top_.s_##name##_tuser), nullptr});
    INPUTS(IN)
#define OUT(name, element, lanes, height, width)                                                         \
  results_.push_back({#name, element, lanes, height, width, frames, at(top_.m_##name##_tdata),           \
                      at(top_.m_##name##_tvalid), at(top_.m_##name##_tready), at(top_.m_##name##_tlast), \
                      at(top_.m_##name##_tuser), at(top_.m_##name##_tkeep)});
    RESULTS(OUT)
    for (Stream& s : inputs_) load(s);
  }

  int run() {
    reset();
    long idle = 0;
    // Some clocks more than are needed: nothing else may come.
    for (long after = 0; after < 64 && idle < idle_most; after += done()) {
      for (Stream& s : inputs_) offer(s);
      for (Stream& s : results_) *s.ready = !pauses();
      top_.eval();
      bool moved = false;
      for (Stream& s : results_) moved |= look(s);
      for (Stream& s : inputs_) moved |= taken(s);
      error_ |= top_.error != 0;
      idle = moved ? 0 : idle + 1;
      step();
      for (Stream& s : inputs_)
        if (std::exchange(s.held, false)) *s.valid = 0;
      ++clock_;
    }
    for (const Stream& s : results_) store(s);
    return report();
  }

 private:
  void step() {
    top_.clk = 1;
    top_.eval();
    top_.clk = 0;
    top_.eval();
  }
  bool pauses() { return stalls_ > 0 && random_() % 100 < stalls_; }
  bool done() const {
    return std::all_of(results_.begin(), results_.end(), [&](const Stream& s) { return s.word == s.all(); });
  }

  void reset() {
#define SET(name, value) top_.p_##name = value;
    SCALARS(SET)
    top_.clk = 0;
    top_.rst = 1;
    for (Stream& s : inputs_) *s.valid = 0;
    for (Stream& s : results_) *s.ready = 0;
    for (int k = 0; k < 12; ++k) step();
    top_.rst = 0;
    step();
  }

  // A word that is offered stays until it is taken.
  void offer(Stream& s) {
    if (*s.valid != 0 || s.word == std::min(most_, s.all()) || pauses()) return;
    *s.valid = 1;
    for (std::size_t k = 0; k < s.word_bytes(); ++k)
      s.data[k] = k < s.there() ? s.bytes[s.place() + k] : static_cast<unsigned char>(random_());
    *s.last = s.ends_row();
    *s.user = s.starts_frame();
  }

  bool taken(Stream& s) {
    if (*s.valid == 0 || *s.ready == 0) return false;
    if (begun_ < 0) begun_ = clock_;
    ++s.word;
    s.held = true;
    return true;
  }

  bool look(Stream& s) {
    Bytes now(s.data, s.data + s.word_bytes());
    now.push_back(*s.last);
    now.push_back(*s.user);
    if (s.held && (*s.valid == 0 || now != s.before)) ++changed_;
    s.held = *s.valid != 0 && *s.ready == 0;
    s.before = now;
    if (*s.valid == 0 || *s.ready == 0) return false;
    if (s.word == s.all()) {
      ++marks_;
      return true;
    }
    unsigned long long keep = 0;
    std::memcpy(&keep, s.keep, (s.word_bytes() + 7) / 8);
    const unsigned long long whole = s.there() == 64 ? ~0ULL : (1ULL << s.there()) - 1;
    if ((*s.last != 0) != s.ends_row() || (*s.user != 0) != s.starts_frame() || keep != whole) ++marks_;
    std::memcpy(&s.bytes[s.place()], s.data, s.there());
    if (s.first < 0) s.first = clock_;
    s.final = clock_;
    ++s.word;
    return true;
  }

  int report() {
    for (const Stream& s : results_)
      std::printf("%s words %zu latency %ld clocks %ld\n", s.name.c_str(), s.word, s.first - begun_,
                  s.final - begun_ + 1);
    std::printf("marks %ld changed %ld error %d\n", marks_, changed_, error_ ? 1 : 0);
    const bool all = std::all_of(inputs_.begin(), inputs_.end(), [&](const Stream& s) { return s.word == s.all(); });
    return marks_ == 0 && changed_ == 0 && !error_ && (done() || !all) ? 0 : 1;
  }

  TOP top_;
  unsigned stalls_;
  std::mt19937 random_;
  std::size_t most_;
  std::vector<Stream> inputs_, results_;
  long clock_ = 0, begun_ = -1, marks_ = 0, changed_ = 0;
  bool error_ = false;
};

}  // namespace

// Of Verilator: the time that $time would give.
double sc_time_stamp() {
  return 0;
}

int main(int count, char** given) {
  if (count != 4 && count != 5) {
    std::fprintf(stderr, "usage: %s FRAMES STALLS SEED [WORDS]\n", given[0]);
    return 2;
  }
  const auto number = [&](int k) { return std::strtoul(given[k], nullptr, 10); };
  Bench bench(number(1), static_cast<unsigned>(number(2)), static_cast<unsigned>(number(3)),
              count == 5 ? number(4) : ~std::size_t{0});
  return bench.run();
}
