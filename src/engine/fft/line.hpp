// One complex row whose elements lie side by side, transformed with lanes that are found within it.
#pragma once

#include <memory>
#include <string>

#include "tessera/array.hpp"

namespace tessera::engine {

template <class T>
class FftLine {
 public:
  virtual ~FftLine() = default;
  // In place or between rows that do not overlap. Thread-safe.
  virtual void run(const T* from, T* to, int threads) const = 0;
  virtual std::string description() const = 0;
};

// Shorter rows than this are not worth it.
inline i64 least_line(i64 lanes) {
  return lanes * lanes;
}

// n at least that.
template <class T>
std::unique_ptr<FftLine<T>> make_line(i64 n, bool inverse, double scale, const std::string& compiler);

}  // namespace tessera::engine
