// Programs with Fourier transforms on devices: arrays of the host and of the device, views, streams, too little memory,
// and what is said of them. On the targets that the tests of arrays use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device/common.hpp"
#include "engine/program_impl.hpp"
#include "run/cuda/cuda.hpp"
#include "support/opencl.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* lowpass_program = R"(
parameter M, N;
stencil gain(vector#2 complex F) { g = 1.0f / (1 + coord(0) + coord(1)); return struct complex(g * F.re, g * F.im); }
vector#2 float a[M,N];
F = fft(a);
b = ifft(gain(F));
return F = F, b = b.re;
)";

class Spectra : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool cuda = GetParam() == "cuda";
    if (cannot_run(cuda ? why_none(run::cuda::find()) : no_opencl())) return;
    device_.emplace(Device::open(GetParam()));
    options_.target = GetParam();
  }

  static Array noise(const Shape& shape) {
    std::mt19937 random(3);
    Array a(ElementType::f32, shape);
    for (i64 i = 0; i < a.count(); ++i) a.as<float>()[i] = static_cast<float>(random() % 2001) / 1000 - 1;
    return a;
  }

  static void expect_close(const Array& got, const Array& expected) {
    ASSERT_EQ(got.shape(), expected.shape());
    const Array here = got.to_host().clone();
    const i64 numbers = expected.count() * static_cast<i64>(expected.format().size() / sizeof(float));
    double error = 0, norm = 0;
    for (i64 i = 0; i < numbers; ++i) {
      const double d = here.as<float>()[i] - expected.as<float>()[i];
      error += d * d, norm += expected.as<float>()[i] * expected.as<float>()[i];
    }
    EXPECT_LE(std::sqrt(error), 3e-6 * std::sqrt(norm));
  }

  std::optional<Device> device_;
  RunOptions options_;
};

TEST_P(Spectra, ArraysOfHostAndDevice) {
  const Program program = Program::from_text(lowpass_program);
  const Array a = noise({12, 10});
  const std::vector<Array> expected = program.interpret({a});
  const std::vector<Array> here = program.run({a}, options_);
  const std::vector<Array> there = program.run({device_->copy_of(a)}, options_);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    EXPECT_FALSE(here[o].on_device());
    EXPECT_TRUE(there[o].on_device());
    expect_close(here[o], expected[o]);
    expect_close(there[o], expected[o]);
  }
}

// In the order of a stream: nothing is waited for before the caller does.
TEST_P(Spectra, StreamsAndViews) {
  const Program program = Program::from_text(lowpass_program);
  const Array a = noise({12, 10});
  const std::vector<Array> expected = program.interpret({a});
  const Array large = device_->copy_of(noise({15, 13}));
  const Array in = large.region(std::vector<i64>{1, 2}, std::vector<i64>{13, 12});
  in.copy_from(a);
  std::vector<Array> whole, out;
  for (const Array& e : expected) {
    whole.push_back(device_->copy_of(Array(e.format(), {15, 13})));
    out.push_back(whole.back().region(std::vector<i64>{2, 1}, std::vector<i64>{14, 11}));
  }
  Stream stream(*device_);
  RunOptions streamed = options_;
  streamed.stream = &stream;
  program.run_into({in}, out, streamed);
  program.run_into({in}, out, streamed);
  stream.wait();
  for (std::size_t o = 0; o < expected.size(); ++o) expect_close(out[o], expected[o]);
}

// What the memory does not hold goes by way of the host, in slabs; what no slab holds is an error.
TEST_P(Spectra, TooLittleMemory) {
  const Program program = Program::from_text(lowpass_program);
  const Array a = noise({64, 48});
  const std::vector<Array> expected = program.interpret({a});
  RunOptions little = options_;
  little.device_memory = 12000;  // of 24576 bytes that a spectrum has
  const std::vector<Array> got = program.run({a}, little);
  for (std::size_t o = 0; o < expected.size(); ++o) expect_close(got[o], expected[o]);
  little.device_memory = 200;
  EXPECT_THROW(program.run({a}, little), Error);
}

TEST_P(Spectra, InLoops) {
  const Program program = Program::from_text(R"(
parameter M, N;
stencil half(vector#2 complex F) { return struct complex(F.re / 2, F.im / 2); }
vector#2 float a[M,N];
u<0> = a;
do t = 1..5
  b<t> = ifft(half(fft(u<t-1>)));
  u<t> = b<t>.re;
while (max(u<t>) > 0.1f);
return u<5>;
)");
  const Array a = noise({8, 6});
  expect_close(program.run({a}, options_).at(0), program.interpret({a}).at(0));
}

TEST_P(Spectra, ExplainShowsKernels) {
  const Program program = Program::from_text(lowpass_program);
  const std::string text = program.explain({{24, 16}}, options_);
  EXPECT_THAT(text, AllOf(HasSubstr("forward real to complex, along dimensions 0, 1, on the device"),
                          HasSubstr("the other half"), HasSubstr("half of a spectrum"), HasSubstr("columns of 24"),
                          Not(HasSubstr("cores of the host"))));
  // Transforms alone are of the device as well.
  const Program alone = Program::from_text("parameter N; vector#1 float a[N]; return fft(a);");
  EXPECT_THAT(alone.explain({{16}}, options_), AllOf(HasSubstr(GetParam() + " 0"), HasSubstr("rows of 8")));
}

INSTANTIATE_TEST_SUITE_P(Targets, Spectra, ::testing::Values(asked_for()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace tessera
