// See tables.hpp.
#include "fft/device/tables.hpp"

#include "fft/tables.hpp"

namespace tessera::fft {

namespace {

// exp(-pi i k^2 / n)
Circle::Number chirp_of(const Circle& circle, i64 k, i64 n) {
  return circle(static_cast<i64>(static_cast<__int128>(k) * k % (2 * n)));
}

}  // namespace

template <class Fill>
i64 DeviceTables::once(char kind, i64 a, i64 b, i64 c, Fill fill) {
  const auto [place, fresh] = places_.try_emplace({kind, a, b, c}, static_cast<i64>(pairs_.size() / 2));
  if (fresh)
    fill([&](const Circle::Number& v) {
      pairs_.push_back(v.real());
      pairs_.push_back(v.imag());
    });
  return place->second;
}

i64 DeviceTables::turns(i64 n, i64 step, i64 count) {
  return once('t', n, step, count, [&](const auto& put) {
    const Circle circle(n);
    for (i64 k = 0; k < count; ++k) put(circle(static_cast<i64>(static_cast<__int128>(step) * k % n)));
  });
}

i64 DeviceTables::chirp(i64 n) {
  return once('c', n, 0, 0, [&](const auto& put) {
    const Circle circle(2 * n);
    for (i64 k = 0; k < n; ++k) put(chirp_of(circle, k, n));
  });
}

i64 DeviceTables::filter(i64 n, i64 m) {
  return once('f', n, m, 0, [&](const auto& put) {
    const Circle circle(2 * n);
    std::vector<Circle::Number> x(static_cast<std::size_t>(m));
    for (i64 k = 0; k < n; ++k) {
      const Circle::Number v = std::conj(chirp_of(circle, k, n)) / static_cast<double>(m);
      x[static_cast<std::size_t>(k)] = v;
      if (k > 0) x[static_cast<std::size_t>(m - k)] = v;
    }
    for (const Circle::Number& v : plain_transform(std::move(x), Circle(m))) put(v);
  });
}

}  // namespace tessera::fft
