// See transform.hpp.
#include "ref/transform.hpp"

#include <cmath>
#include <complex>

#include "base/process/deadline.hpp"

namespace tessera::ref {
namespace {

using Number = std::complex<double>;

constexpr double pi = 3.14159265358979323846;

i64 least_factor(i64 n) {
  for (i64 p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

// Of elements 0, step, 2 step ... of x: n = p m splits into p transforms of m, which come together in p sums each.
// turns[j]: exp(-+ 2 pi i j / N), N a multiple of n.
std::vector<Number> transformed(const Number* x, i64 step, i64 n, const std::vector<Number>& turns) {
  if (n == 1) return {*x};
  const i64 p = least_factor(n), m = n / p, all = static_cast<i64>(turns.size());
  std::vector<std::vector<Number>> parts;
  for (i64 r = 0; r < p; ++r) parts.push_back(transformed(x + r * step, step * p, m, turns));
  std::vector<Number> out(static_cast<std::size_t>(n));
  for (i64 k = 0; k < n; ++k) {
    Number sum = 0;
    for (i64 r = 0; r < p; ++r) {
      base::count_towards_deadline();
      sum += turns[static_cast<std::size_t>(r * k % n * (all / n))] *
             parts[static_cast<std::size_t>(r)][static_cast<std::size_t>(k % m)];
    }
    out[static_cast<std::size_t>(k)] = sum;
  }
  return out;
}

}  // namespace

void transform(Spectrum& s, const Shape& shape, std::size_t dimension, bool inverse) {
  const i64 n = shape[dimension];
  i64 inner = 1;
  for (std::size_t d = dimension + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<Number> turns, line(static_cast<std::size_t>(n));
  for (i64 j = 0; j < n; ++j) {
    const double angle = (inverse ? 2 : -2) * pi * static_cast<double>(j) / static_cast<double>(n);
    turns.emplace_back(std::cos(angle), std::sin(angle));
  }
  const double scale = inverse ? 1 / static_cast<double>(n) : 1;
  const i64 count = static_cast<i64>(s.re.size());
  for (i64 first = 0; first < count; first += n * inner)
    for (i64 i = first; i < first + inner; ++i) {
      const auto at = [&](i64 j) { return static_cast<std::size_t>(i + j * inner); };
      for (i64 j = 0; j < n; ++j) line[static_cast<std::size_t>(j)] = {s.re[at(j)], s.im[at(j)]};
      const std::vector<Number> out = transformed(line.data(), 1, n, turns);
      for (i64 j = 0; j < n; ++j) {
        s.re[at(j)] = out[static_cast<std::size_t>(j)].real() * scale;
        s.im[at(j)] = out[static_cast<std::size_t>(j)].imag() * scale;
      }
    }
}

}  // namespace tessera::ref
