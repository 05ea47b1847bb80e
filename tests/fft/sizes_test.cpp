// Every size: complex and real, both types, forward and inverse.
#include <gtest/gtest.h>

#include <algorithm>

#include "fft/oracle.hpp"
#include "fft/plan.hpp"
#include "support/sample.hpp"

namespace tessera {
namespace {

using engine::Fft;
using fft::Problem;
using fft::Transform;
using support::Wide;

template <class T>
constexpr ElementType type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

// The definition, of all frequencies of short rows and of some of long ones; the others are NaN.
std::vector<Wide> expected_row(const std::vector<Wide>& x) {
  const auto n = static_cast<i64>(x.size());
  const std::vector<Wide>& w = support::circle(n);
  std::vector<Wide> y(x.size(), Wide(NAN, 0));
  for (i64 k = 0; k < n; k += n < 150 ? 1 : std::max<i64>(1, std::min(n - 1 - k, n / 11))) {
    Wide sum = 0;
    i64 turn = 0;
    for (const Wide& v : x) {
      sum += v * w[static_cast<std::size_t>(turn)];
      turn += k;
      if (turn >= n) turn -= n;
    }
    y[static_cast<std::size_t>(k)] = sum;
  }
  return y;
}

double bound(i64 n, double epsilon) {
  return 2 * epsilon * std::max(1.0, std::log2(static_cast<double>(n)));
}

template <class T>
double distance(const T* got, const std::vector<Wide>& expected, std::size_t count) {
  long double error = 0, norm = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (std::isnan(expected[k].real())) continue;
    error += std::norm(Wide(got[2 * k], got[2 * k + 1]) - expected[k]);
    norm += std::norm(expected[k]);
  }
  return static_cast<double>(std::sqrt(error / std::max(norm, 1e-30L)));
}

// Some rows of n, of which the oracle checks the last.
template <class T>
void check_size(i64 n, i64 rows = 3) {
  SCOPED_TRACE(testing::Message() << "n = " << n << ", " << sizeof(T) << " bytes");
  const double epsilon = sizeof(T) == 4 ? 1.1920929e-7 : 2.220446e-16;
  support::Random random(static_cast<std::uint64_t>(n));
  std::vector<T> x(static_cast<std::size_t>(rows * n * 2)), y(x.size()), back(x.size());
  for (T& v : x) v = static_cast<T>(random.next());
  std::vector<Wide> row;
  for (i64 k = 0; k < n; ++k)
    row.emplace_back(x[static_cast<std::size_t>(2 * ((rows - 1) * n + k))],
                     x[static_cast<std::size_t>(2 * ((rows - 1) * n + k) + 1)]);
  const std::vector<Wide> wanted = expected_row(row);
  const Fft forward({.transform = Transform::forward, .type = type_of<T>, .batch = {rows}, .extents = {n}});
  forward.run(x.data(), y.data(), 1);
  EXPECT_LT(distance(y.data() + 2 * (rows - 1) * n, wanted, static_cast<std::size_t>(n)), bound(n, epsilon))
      << forward.description();
  const Fft inverse({.transform = Transform::inverse,
                     .type = type_of<T>,
                     .batch = {rows},
                     .extents = {n},
                     .scale = 1.0 / static_cast<double>(n)});
  inverse.run(y.data(), back.data(), 1);
  EXPECT_LT(distance(back.data() + 2 * (rows - 1) * n, row, static_cast<std::size_t>(n)), 2 * bound(n, epsilon));

  // Real: the same numbers as 2 n values of one row and a bit.
  std::vector<T> real(x.begin(), x.begin() + rows * n), half(static_cast<std::size_t>(rows * (n / 2 + 1) * 2)),
      again(real.size());
  std::vector<Wide> values;
  for (i64 k = 0; k < n; ++k) values.emplace_back(real[static_cast<std::size_t>((rows - 1) * n + k)], 0);
  const std::vector<Wide> spectrum = expected_row(values);
  const Fft split({.transform = Transform::real_to_complex, .type = type_of<T>, .batch = {rows}, .extents = {n}});
  split.run(real.data(), half.data(), 1);
  EXPECT_LT(distance(half.data() + 2 * (rows - 1) * (n / 2 + 1), spectrum, static_cast<std::size_t>(n / 2 + 1)),
            bound(n, epsilon));
  const Fft joined({.transform = Transform::complex_to_real,
                    .type = type_of<T>,
                    .batch = {rows},
                    .extents = {n},
                    .scale = 1.0 / static_cast<double>(n)});
  joined.run(half.data(), again.data(), 1);
  long double error = 0, norm = 0;
  for (std::size_t k = 0; k < real.size(); ++k) {
    error += static_cast<long double>(again[k] - real[k]) * (again[k] - real[k]);
    norm += static_cast<long double>(real[k]) * real[k];
  }
  EXPECT_LT(static_cast<double>(std::sqrt(error / norm)), 2 * bound(n, epsilon));
}

TEST(FftSizes, Small) {
  for (i64 n = 1; n <= 130; ++n) {
    check_size<float>(n);
    check_size<double>(n);
  }
}

// Powers, products, primes with smooth and with awkward neighbours; one row (whose lanes are within it) and more.
TEST(FftSizes, Large) {
  for (const i64 n :
       {4096, 6561, 8191, 10007, 12288, 15625, 16807, 30030, 32768, 44100, 65537, 99999, 100000, 131072}) {
    check_size<float>(n, 1);
    check_size<double>(n, 2);
  }
  check_size<float>(5003, 20);
  check_size<float>(20480, 20);
  check_size<double>(9216, 9);
}

TEST(FftSizes, AllTo2048) {
  for (i64 n = 131; n <= 2048; ++n) {
    if (!in_sample(static_cast<std::size_t>(n))) continue;
    check_size<float>(n);
    check_size<double>(n);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace tessera
