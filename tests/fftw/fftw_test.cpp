// Transforms beside FFTW's in double: every size from 1 to 2048, products of small primes and primes beyond, planes and
// volumes; all frequencies of each, where tests/fft looks at some against the definition.
#include <fftw3.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/fft/fft.hpp"
#include "support/sample.hpp"

namespace tessera {
namespace {

using engine::Fft;
using fft::Problem;
using fft::Transform;

// Numbers in [-1, 1).
std::vector<double> noise(i64 count) {
  std::vector<double> values;
  std::uint64_t state = 88172645463325252u + static_cast<std::uint64_t>(count);
  for (i64 k = 0; k < count; ++k) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    values.push_back(static_cast<double>(state >> 11) / 4503599627370496.0 - 1);
  }
  return values;
}

i64 product(const std::vector<i64>& extents) {
  i64 all = 1;
  for (const i64 n : extents) all *= n;
  return all;
}

// What FFTW makes of it; complex numbers are pairs.
std::vector<double> peer(std::vector<double> x, const std::vector<i64>& extents, Transform transform) {
  const std::vector<int> n(extents.begin(), extents.end());
  const int rank = static_cast<int>(n.size());
  const i64 all = product(extents), row = extents.back();
  std::vector<double> y(
      static_cast<std::size_t>(transform == Transform::real_to_complex ? all / row * (row / 2 + 1) * 2 : all * 2));
  auto* to = reinterpret_cast<fftw_complex*>(y.data());
  fftw_plan plan = transform == Transform::real_to_complex
                       ? fftw_plan_dft_r2c(rank, n.data(), x.data(), to, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT)
                       : fftw_plan_dft(rank, n.data(), reinterpret_cast<fftw_complex*>(x.data()), to,
                                       transform == Transform::forward ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  return y;
}

// T: float or double, the numbers of ours. FFTW errs as well in double.
template <class T>
void compare(const std::vector<i64>& extents, Transform transform) {
  SCOPED_TRACE(testing::Message() << testing::PrintToString(extents) << ", transform " << static_cast<int>(transform)
                                  << ", " << sizeof(T) << " bytes");
  const i64 all = product(extents);
  std::vector<double> x = noise(transform == Transform::real_to_complex ? all : 2 * all);
  std::vector<T> ours(x.begin(), x.end());
  std::copy(ours.begin(), ours.end(), x.begin());  // the same numbers for both
  const std::vector<double> wanted = peer(x, extents, transform);
  std::vector<T> got(wanted.size());
  Problem problem;
  problem.transform = transform;
  problem.type = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;
  problem.extents = extents;
  Fft(problem).run(ours.data(), got.data(), 1);
  double error = 0, norm = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const double difference = static_cast<double>(got[k]) - wanted[k];
    error += difference * difference;
    norm += wanted[k] * wanted[k];
  }
  const double epsilon = sizeof(T) == 4 ? 1.1920929e-7 : 2 * 2.220446e-16;
  EXPECT_LE(std::sqrt(error / norm), 2 * epsilon * std::max(1.0, std::log2(static_cast<double>(all))));
}

TEST(BesideFftw, EverySizeTo2048) {
  for (i64 n = 1; n <= 2048; ++n) {
    if (!in_sample(static_cast<std::size_t>(n))) continue;
    const Transform transform = n % 3 == 0   ? Transform::inverse
                                : n % 3 == 1 ? Transform::forward
                                             : Transform::real_to_complex;
    compare<float>({n}, transform);
    compare<double>({n}, n % 2 == 0 ? Transform::real_to_complex : Transform::forward);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(BesideFftw, LargerSizes) {
  const i64 sizes[] = {4096,  16384, 2187,  6561, 3125, 15625, 2401, 16807, 2 * 3 * 5 * 7 * 64,
                       10125, 44100, 48000, 2053, 7919, 65537};
  for (const i64 n : sizes) {
    compare<float>({n}, Transform::real_to_complex);
    compare<double>({n}, Transform::forward);
  }
}

TEST(BesideFftw, PlanesAndVolumes) {
  const std::vector<std::vector<i64>> shapes = {{108, 192}, {97, 101}, {1, 64}, {64, 1}, {24, 30, 35}, {7, 13, 17}};
  for (const auto& extents : shapes) {
    compare<float>(extents, Transform::real_to_complex);
    compare<float>(extents, Transform::inverse);
    compare<double>(extents, Transform::forward);
  }
}

}  // namespace
}  // namespace tessera
