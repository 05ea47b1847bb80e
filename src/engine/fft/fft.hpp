// Fourier transforms on this machine's cores: planned, compiled and ready to run on any arrays of one description.
#pragma once

#include <memory>
#include <string>

#include "fft/problem.hpp"
#include "tessera/array.hpp"

namespace tessera::engine {

class Fft {
 public:
  // Plans, makes tables and loads code. Throws Error(argument) when the problem makes no sense, and what
  // run::cpu::load throws. `compiler` as there.
  explicit Fft(const fft::Problem&, const std::string& compiler = {});
  ~Fft();
  Fft(Fft&&) noexcept;

  // Complex numbers are pairs, real part first. `from` and `to` are the addresses of the elements at index 0, aligned
  // to a number; they may be one address when the strides are the same in bytes, and must not overlap otherwise. The
  // input is read only. Thread-safe; threads as in RunOptions (0: all cores). The same bits for any number of threads.
  void run(const void* from, void* to, int threads = 0) const;

  // "rows 8x8 * 8x8, columns ...": how it is done.
  const std::string& description() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Whether the elements lie as transforms want them: side by side, rows whole elements apart.
bool lies_well(const Array&);

}  // namespace tessera::engine
