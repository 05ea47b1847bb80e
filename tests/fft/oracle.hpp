// The oracle of transforms: plain sums in long double, and the comparison with it.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <numbers>
#include <vector>

#include "engine/fft/fft.hpp"

namespace tessera::support {

using Wide = std::complex<long double>;

// exp(-+ 2 pi i k / n) for all k.
inline const std::vector<Wide>& circle(i64 n) {
  static std::map<i64, std::vector<Wide>> circles;
  std::vector<Wide>& c = circles[n];
  if (c.empty())
    for (i64 k = 0; k < n; ++k) {
      const long double a =
          2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
      c.emplace_back(std::cos(a), -std::sin(a));
    }
  return c;
}

// Along one dimension of an array with `outer` times n times `inner` elements.
inline void transform_along(std::vector<Wide>& x, i64 outer, i64 n, i64 inner, bool inverse) {
  const std::vector<Wide>& w = circle(n);
  std::vector<Wide> line(static_cast<std::size_t>(n));
  for (i64 o = 0; o < outer; ++o)
    for (i64 i = 0; i < inner; ++i) {
      Wide* at = x.data() + o * n * inner + i;
      for (i64 j = 0; j < n; ++j) line[static_cast<std::size_t>(j)] = at[j * inner];
      for (i64 k = 0; k < n; ++k) {
        Wide sum = 0;
        i64 turn = 0;
        for (i64 j = 0; j < n; ++j) {
          const Wide& f = w[static_cast<std::size_t>(turn)];
          sum += line[static_cast<std::size_t>(j)] * (inverse ? std::conj(f) : f);
          turn += k;
          if (turn >= n) turn -= n;
        }
        at[k * inner] = sum;
      }
    }
}

// Over the last `extents.size()` dimensions of a contiguous array with `batch` elements ahead of them.
inline void transform(std::vector<Wide>& x, i64 batch, const std::vector<i64>& extents, bool inverse) {
  i64 all = 1;
  for (const i64 n : extents) all *= n;
  i64 outer = batch, inner = all;
  for (const i64 n : extents) {
    inner /= n;
    transform_along(x, outer, n, inner, inverse);
    outer *= n;
  }
}

// Numbers in [-1, 1).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}
  double next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) / 4503599627370496.0 - 1;
  }

 private:
  std::uint64_t state_;
};

}  // namespace tessera::support
