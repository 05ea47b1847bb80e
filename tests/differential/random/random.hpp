// Pseudo-random numbers that are the same on every machine and library: splitmix64.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::differential {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {}

  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Both ends included.
  i64 between(i64 lo, i64 hi) { return lo + static_cast<i64>(bits() % static_cast<std::uint64_t>(hi - lo + 1)); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
  bool chance(int percent) { return between(0, 99) < percent; }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  template <class T, std::size_t N>
  const T& pick(const std::array<T, N>& from) {
    return from[below(N)];
  }

 private:
  std::uint64_t state_;
};

}  // namespace tessera::differential
