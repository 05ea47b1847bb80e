// The passes of a transform over memory: which rows and columns, where what lies between them is, and who does it.
#pragma once

#include <memory>
#include <string>

#include "fft/problem.hpp"

namespace tessera::engine {

class FftRunner {
 public:
  virtual ~FftRunner() = default;
  virtual void run(const void* from, void* to, int threads) const = 0;
  virtual std::string description() const = 0;
};

template <class T>
std::unique_ptr<FftRunner> make_runner(const fft::Problem&, const std::string& compiler);

}  // namespace tessera::engine
