// Fourier transforms on devices beside those of the processor in double: sizes, axes, types, gaps that must stay. On
// the targets that the tests of arrays use; $TESSERA_FFT_SIZES (first:last) asks for all sizes of a range.
#include "engine/fft/fft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "device/common.hpp"
#include "engine/fft/device.hpp"
#include "run/cuda/cuda.hpp"
#include "support/opencl.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

using engine::FftOnDevice;
using fft::Problem;
using fft::Transform;

i64 product(const std::vector<i64>& list) {
  i64 all = 1;
  for (const i64 n : list) all *= n;
  return all;
}

// Numbers of one side, from the first to the last that the strides reach.
i64 numbers_of(const Problem& p, bool from) {
  const bool real = from ? fft::from_real(p) : fft::to_real(p);
  const std::vector<i64>& strides = from ? p.from_strides : p.to_strides;
  i64 last = (from ? fft::row_of_from(p) : fft::row_of_to(p)) - 1;
  for (std::size_t d = 0; d < strides.size(); ++d)
    last += strides[d] * ((d < p.batch.size() ? p.batch[d] : p.extents[d - p.batch.size()]) - 1);
  return (last + 1) * (real ? 1 : 2);
}

class DeviceFft : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool cuda = GetParam() == "cuda";
    if (cannot_run(cuda ? why_none(run::cuda::find()) : no_opencl())) return;
    device_ = cuda ? run::cuda::open(0) : run::opencl::open(0);
  }

  static std::vector<double> numbers(i64 count, std::uint64_t seed) {
    std::vector<double> x(static_cast<std::size_t>(count));
    std::uint64_t state = seed * 2654435761U + 88172645463325252U;
    for (double& v : x) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      v = static_cast<double>(static_cast<float>(state >> 40) / 8388608.0F - 1);
    }
    return x;
  }

  // The same transform on the processor in double, in the same layout; numbers between the rows stay NaN.
  static std::vector<double> expected(Problem p, const std::vector<double>& x) {
    p.type = ElementType::f64;
    std::vector<double> y(static_cast<std::size_t>(numbers_of(p, false)), NAN);
    engine::Fft(p).run(x.data(), y.data(), 1);
    return y;
  }

  template <class T>
  void check_as(Problem p, const fft::DeviceOptions& options, bool in_place) {
    p.type = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;
    p = fft::complete(p);
    const std::vector<double> x = numbers(numbers_of(p, true), static_cast<std::uint64_t>(product(p.extents)));
    const std::vector<double> want = expected(p, x);
    const FftOnDevice transform(p, device_, options);
    SCOPED_TRACE(testing::Message() << transform.description() << ", " << sizeof(T) << " bytes");

    // Some numbers ahead and behind that nobody may change.
    constexpr i64 ahead = 6, behind = 5;
    const std::vector<T> single(x.begin(), x.end());
    std::vector<T> target(static_cast<std::size_t>(ahead + numbers_of(p, false) + behind), T(-77));
    if (in_place) std::copy(single.begin(), single.end(), target.begin() + ahead);
    const auto queue = device_->queue();
    const auto bytes_of = [](const std::vector<T>& v) { return static_cast<i64>(v.size() * sizeof(T)); };
    const auto up = [&](const std::vector<T>& v) {
      std::shared_ptr<run::gpu::Memory> m = device_->allocate(bytes_of(v));
      queue->upload(*m, 0, reinterpret_cast<const std::byte*>(v.data()), {1, bytes_of(v), bytes_of(v), bytes_of(v)});
      return m;
    };
    const auto to = up(target);
    const auto from = in_place ? to : up(single);
    const i64 at = ahead * static_cast<i64>(sizeof(T));
    transform.run(*queue, {from, in_place ? at : 0}, {to, at});
    const i64 n = bytes_of(target);
    queue->download(reinterpret_cast<std::byte*>(target.data()), *to, 0, {1, n, n, n});
    queue->wait();

    long double error = 0, norm = 0;
    for (std::size_t k = 0; k < target.size(); ++k) {
      const auto place = static_cast<i64>(k) - ahead;
      const bool inside = place >= 0 && place < static_cast<i64>(want.size());
      if (!inside || std::isnan(want[static_cast<std::size_t>(place)])) {
        const T stays = inside && in_place ? single[static_cast<std::size_t>(place)] : T(-77);
        ASSERT_EQ(target[k], stays) << "number " << place << " is not of the result";
        continue;
      }
      const long double difference = target[k] - want[static_cast<std::size_t>(place)];
      error += difference * difference;
      norm += static_cast<long double>(want[static_cast<std::size_t>(place)]) * want[static_cast<std::size_t>(place)];
    }
    const double epsilon = sizeof(T) == 4 ? 1.1920929e-7 : 2.220446e-16;
    const double bound = 2 * epsilon * std::max(1.0, std::log2(static_cast<double>(product(p.extents))));
    EXPECT_LT(static_cast<double>(std::sqrt(error / std::max(norm, 1e-300L))), bound);
  }

  void check(const Problem& p, const fft::DeviceOptions& options = {}, bool in_place = false) {
    SCOPED_TRACE(testing::Message() << "transform " << static_cast<int>(p.transform) << " of "
                                    << testing::PrintToString(p.extents) << " times "
                                    << testing::PrintToString(p.batch));
    check_as<float>(p, options, in_place);
    if (device_->limits().doubles && doubles_) check_as<double>(p, options, in_place);
  }

  void check_all(const std::vector<i64>& batch, const std::vector<i64>& extents,
                 const fft::DeviceOptions& options = {}) {
    for (const Transform t :
         {Transform::forward, Transform::inverse, Transform::real_to_complex, Transform::complex_to_real})
      check({.transform = t, .batch = batch, .extents = extents, .scale = t == Transform::inverse ? 0.25 : 1}, options);
  }

  // PoCL takes seconds to compile what the others do in a tenth of one.
  bool slow() const { return GetParam() == "opencl"; }

  std::shared_ptr<run::gpu::Device> device_;
  bool doubles_ = true;
};

// Every path of a line: no pass, one, several; even and odd; powers, products, primes within and beyond radices.
TEST_P(DeviceFft, Rows) {
  doubles_ = false;
  for (const i64 n : slow() ? std::vector<i64>{12} : std::vector<i64>{1, 2, 3, 12, 31, 74, 97, 360})
    check_all({5}, {n});
  doubles_ = true;
  if (slow())
    check({.transform = Transform::real_to_complex, .extents = {37}});
  else
    check_all({3}, {105});
}

TEST_P(DeviceFft, Range) {
  const char* range = std::getenv("TESSERA_FFT_SIZES");
  if (range == nullptr) GTEST_SKIP() << "no range is given";
  const std::string text = range;
  doubles_ = std::getenv("TESSERA_FFT_DOUBLES") != nullptr;
  for (i64 n = std::stoll(text); n <= std::stoll(text.substr(text.find(':') + 1)) && !HasFailure(); ++n) {
    check_all({3}, {n});
    check({.transform = Transform::forward, .extents = {n, 5}});
  }
}

TEST_P(DeviceFft, Images) {
  doubles_ = !slow();
  check_all({}, {24, 20});
  if (slow()) return;
  doubles_ = false;
  check_all({2}, {11, 9});
  check({.transform = Transform::forward, .extents = {37, 34}});
}

TEST_P(DeviceFft, Volumes) {
  doubles_ = false;
  if (slow())
    check({.transform = Transform::forward, .batch = {2}, .extents = {4, 6, 5}});
  else
    check_all({2}, {4, 6, 10});
}

// Columns in four steps, whole and in chunks of columns and of planes; a prime, whose convolution goes that way too.
TEST_P(DeviceFft, FourSteps) {
  doubles_ = false;
  const fft::DeviceOptions far{.chunk_bytes = i64{1} << 30, .least_columns = 1024};
  check({.transform = Transform::real_to_complex, .batch = {2}, .extents = {36, 10}}, far);
  if (slow()) return;
  check_all({2}, {36, 50}, far);
  check_all({}, {12, 15, 6}, far);
  check({.transform = Transform::inverse, .extents = {37, 5}}, {.chunk_bytes = 4000, .least_columns = 1024});
  const fft::DeviceOptions short_strips{.strip_bytes = 10000, .least_columns = 1024};
  check({.transform = Transform::forward, .batch = {2}, .extents = {20, 70}}, short_strips);
  doubles_ = true;
  check({.transform = Transform::forward, .batch = {5}, .extents = {20, 8}}, short_strips);
}

// Rows that no block holds.
TEST_P(DeviceFft, Long) {
  doubles_ = false;
  check({.transform = Transform::forward, .batch = {3}, .extents = {16384}}, {.chunk_bytes = 200000});
  if (slow()) return;
  check({.transform = Transform::real_to_complex, .extents = {32768}});
  check({.transform = Transform::complex_to_real, .extents = {25000}});
  check({.transform = Transform::forward, .extents = {8209}});
}

// Gaps between rows on both sides, which stay; one place for both.
TEST_P(DeviceFft, Strides) {
  doubles_ = false;
  check({.transform = Transform::forward,
         .batch = {3},
         .extents = {12, 10},
         .from_strides = {200, 13},
         .to_strides = {150, 11}});
  check({.transform = Transform::real_to_complex,
         .batch = {2},
         .extents = {6, 8},
         .from_strides = {70, 11},
         .to_strides = {40, 6}});
  if (slow()) return;
  check({.transform = Transform::forward, .batch = {4}, .extents = {12, 16}}, {}, true);
  check({.transform = Transform::inverse, .batch = {70}, .extents = {8}}, {}, true);
  check({.transform = Transform::forward, .extents = {20, 70}}, {.strip_bytes = 10000, .least_columns = 1024}, true);
}

// The transform of some extents by its definition, of pairs.
std::vector<double> by_definition(const Problem& p, std::vector<double> x) {
  std::vector<i64> shape = p.batch;
  shape.insert(shape.end(), p.extents.begin(), p.extents.end());
  const double sign = p.transform == Transform::inverse ? 1 : -1;
  for (const int d : p.along) {
    const std::size_t own = p.batch.size() + static_cast<std::size_t>(d);
    i64 inner = 1;
    for (std::size_t k = own + 1; k < shape.size(); ++k) inner *= shape[k];
    const i64 n = shape[own];
    std::vector<double> y(x.size());
    for (i64 at = 0; at < product(shape); ++at) {
      const i64 first = at - at / inner % n * inner;
      for (i64 j = 0; j < n; ++j) {
        const double angle = sign * 2 * M_PI * static_cast<double>(at / inner % n * j % n) / static_cast<double>(n);
        const auto from = static_cast<std::size_t>(2 * (first + j * inner)), to = static_cast<std::size_t>(2 * at);
        y[to] += x[from] * std::cos(angle) - x[from + 1] * std::sin(angle);
        y[to + 1] += x[from] * std::sin(angle) + x[from + 1] * std::cos(angle);
      }
    }
    x = std::move(y);
  }
  for (double& v : x) v *= p.scale;
  return x;
}

class DeviceSpectra : public DeviceFft {
 protected:
  // Whole spectra, of numbers or pairs on either side.
  void check_numbers(Problem p) {
    for (const bool inverse : {false, true})
      for (const bool from : {false, true})
        for (const bool to : {false, true}) {
          if (to && !inverse) continue;
          p.transform = inverse ? Transform::inverse : Transform::forward;
          p.scale = inverse ? 0.5 : 1;
          p.from_numbers = from, p.to_numbers = to;
          check_one(p);
        }
  }

 private:
  void check_one(const Problem& p) {
    SCOPED_TRACE(testing::Message() << testing::PrintToString(p.extents) << " times " << testing::PrintToString(p.batch)
                                    << " along " << testing::PrintToString(p.along) << (p.from_numbers ? ", real" : "")
                                    << (p.to_numbers ? " to real" : "")
                                    << (p.transform == Transform::inverse ? ", inverse" : ""));
    const i64 count = product(p.batch) * product(p.extents);
    const std::vector<double> given = numbers(p.from_numbers ? count : 2 * count, 5);
    std::vector<double> pairs(static_cast<std::size_t>(2 * count));
    for (std::size_t k = 0; k < given.size(); ++k) pairs[p.from_numbers ? 2 * k : k] = given[k];
    std::vector<double> want = by_definition(p, std::move(pairs));
    for (std::size_t k = 0; p.to_numbers && k < want.size() / 2; ++k) want[k] = want[2 * k];
    if (p.to_numbers) want.resize(want.size() / 2);

    const FftOnDevice transform(p, device_);
    const std::vector<float> single(given.begin(), given.end());
    std::vector<float> got(want.size());
    const auto queue = device_->queue();
    const auto bytes_of = [](const std::vector<float>& v) { return static_cast<i64>(v.size() * sizeof(float)); };
    const std::shared_ptr<run::gpu::Memory> from = device_->allocate(bytes_of(single)),
                                            to = device_->allocate(bytes_of(got));
    i64 n = bytes_of(single);
    queue->upload(*from, 0, reinterpret_cast<const std::byte*>(single.data()), {1, n, n, n});
    transform.run(*queue, {from, 0}, {to, 0});
    n = bytes_of(got);
    queue->download(reinterpret_cast<std::byte*>(got.data()), *to, 0, {1, n, n, n});
    queue->wait();
    double error = 0, norm = 0;
    for (std::size_t k = 0; k < want.size(); ++k)
      error += (got[k] - want[k]) * (got[k] - want[k]), norm += want[k] * want[k];
    EXPECT_LE(std::sqrt(error), 2e-6 * std::sqrt(norm) + 1e-6) << transform.description();
  }
};

TEST_P(DeviceSpectra, AlongSomeExtents) {
  check_numbers({.extents = {4, 6}, .along = {0}});
  if (slow()) return;
  check_numbers({.batch = {3}, .extents = {5, 7}, .along = {0, 1}});
  check_numbers({.extents = {37, 4}, .along = {0}});
  check_numbers({.extents = {4, 3, 6}, .along = {0, 2}});
  check_numbers({.extents = {3, 4, 2, 6}, .along = {0, 1, 2, 3}});
  check_numbers({.extents = {3, 4, 5}, .along = {0, 1}});
  check_numbers({.batch = {5}, .extents = {1}, .along = {0}});
  check_numbers({.batch = {5}, .extents = {2}, .along = {0}});
  check_numbers({.batch = {2}, .extents = {3, 600}, .along = {0, 1}});
}

TEST_P(DeviceFft, Nothing) {
  const FftOnDevice transform({.batch = {0}, .extents = {8}}, device_);
  const auto queue = device_->queue();
  transform.run(*queue, {}, {});
  queue->wait();
  EXPECT_THROW(FftOnDevice({.extents = {-1}}, device_), Error);
}

INSTANTIATE_TEST_SUITE_P(Targets, DeviceSpectra, ::testing::Values(asked_for()),
                         [](const auto& target) { return target.param; });
INSTANTIATE_TEST_SUITE_P(Targets, DeviceFft, ::testing::Values(asked_for()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace tessera
