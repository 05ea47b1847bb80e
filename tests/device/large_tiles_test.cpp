// Weighted sums through Fourier transforms of tiles in three kernels, against the interpreter: weights beyond the tile
// of a block, every border, images of any extents, parts of a run, what is not finite.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "device/common.hpp"
#include "support/opencl.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Sum {
  int down = 64, across = 80, up = 20, left = 31;
  std::string border = ":mirror", type = "float", weight = "((i * 7 + j * 5) % 23 - 9) * 0.01f", result = "{}";

  std::string text() const {
    const std::string sum =
        fmt::format("sum(i = 0..{}, j = 0..{}) (k[i,j] * X@[i-{},j-{}])", down - 1, across - 1, up, left);
    return fmt::format(
        "table {} k[i = 0..{}, j = 0..{}] = {}; stencil f(vector#2 {} X) {{ return {}; }} parameter M, N; vector#2 {} "
        "a[M,N]; return f(a{});",
        number(), down - 1, across - 1, weight, type, fmt::format(fmt::runtime(result), sum), type, border);
  }
  std::string number() const { return type == "double" ? "double" : type == "uint8" ? "int" : "float"; }
};

Array image_of(const Format& format, const Shape& shape) {
  Array image(format, shape);
  std::uint32_t state = 12345;
  for (i64 k = 0; k < image.count(); ++k) {
    state = state * 1664525 + 1013904223;
    const double v = static_cast<double>(state >> 8) * 0x1p-24 - 0.3;
    if (format.scalar == ElementType::f64)
      image.as<double>()[k] = v;
    else if (format.scalar == ElementType::u8)
      image.as<std::uint8_t>()[k] = static_cast<std::uint8_t>(state >> 24);
    else
      image.as<float>()[k] = static_cast<float>(v);
  }
  return image;
}

double number_of(const Array& a, i64 k) {
  switch (a.format().scalar) {
    case ElementType::f64:
      return a.as<double>()[k];
    case ElementType::f32:
      return static_cast<double>(a.as<float>()[k]);
    default:
      return a.as<std::int32_t>()[k];
  }
}

bool same_bits(const Array& a, const Array& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * a.format().size()) == 0;
}

class LargeTiles : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    options_.target = GetParam();
    options_.method = Method::transform;
    if (options_.target == "opencl") cannot_run(no_opencl());
  }

  // Against the interpreter, or, where that takes too long, against direct sums of the processor.
  enum class Oracle : std::uint8_t { interpreter, direct };
  void check(const Program& program, const Array& image, double allowed, Oracle oracle = Oracle::direct) const {
    RunOptions direct;
    direct.method = Method::direct;
    const Array expected =
        oracle == Oracle::interpreter ? program.interpret({image}).at(0) : program.run({image}, direct).at(0);
    const Array found = program.run({image}, options_).at(0);
    ASSERT_EQ(expected.shape(), found.shape());
    for (i64 k = 0; k < expected.count(); ++k) {
      const double e = number_of(expected, k), f = number_of(found, k);
      if (std::isfinite(e))
        ASSERT_NEAR(e, f, allowed) << "point " << k;
      else
        ASSERT_TRUE(std::isnan(e) ? std::isnan(f) : e == f) << "point " << k << ": " << f << " instead of " << e;
    }
  }

  RunOptions options_;
};

TEST_P(LargeTiles, BordersAndExtents) {
  for (const std::string border : {":[extend,constant(0.5f)]", ":[constant(2),wrap]"}) {
    Sum sum;
    sum.border = border;
    const Program program = Program::from_text(sum.text());
    for (const Shape& shape : {Shape{1, 1}, Shape{2, 3}, Shape{23, 20}}) {
      SCOPED_TRACE(fmt::format("{} x {}, border {}", shape[0], shape[1], border));
      check(program, image_of(ElementType::f32, shape), 2e-3, Oracle::interpreter);
    }
    check(program, image_of(ElementType::f32, {63, 40}), 2e-3);
    check(program, image_of(ElementType::f32, {129, 75}), 2e-3);
  }
}

TEST_P(LargeTiles, WeightsThatNoBlockHolds) {
  Sum sum;
  sum.down = 130, sum.across = 90, sum.up = 60, sum.border = ":clamped";
  check(Program::from_text(sum.text()), image_of(ElementType::f32, {150, 170}), 4e-3);
}

TEST_P(LargeTiles, SeveralTilesInSlabs) {
  Sum sum;
  const Program program = Program::from_text(sum.text());
  const Array image = image_of(ElementType::f32, {900, 1100});
  check(program, image, 2e-3);
  const Array whole = program.run({image}, options_).at(0);
  options_.device_memory = 2 * 900 * 1100 * 4;
  EXPECT_TRUE(same_bits(whole, program.run({image}, options_).at(0)));
}

// As far as the weights reach.
TEST_P(LargeTiles, WhatIsNotFinite) {
  Sum sum;
  sum.weight = "((i * 7 + j * 5) % 22 + 1) * 0.001f";
  const Program program = Program::from_text(sum.text());
  for (const float strange : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Array image = image_of(ElementType::f32, {90, 81});
    image.as<float>()[70 * 81 + 5] = strange;
    check(program, image, 1e-3);
  }
}

// A point errs by what its own window holds, not by what its tile does; a window of zeros gives 0.
TEST_P(LargeTiles, NumbersFarApart) {
  constexpr int rows = 120, columns = 150;
  for (const auto& [down, across] : {std::pair(15, 15), std::pair(5, 41), std::pair(60, 64)}) {
    Sum sum;
    sum.down = down, sum.across = across, sum.up = down / 2, sum.left = across / 2, sum.border = ":clamped";
    const Program program = Program::from_text(sum.text());
    for (const float huge : {9.97e36F, -1e20F, 65535.0F}) {
      SCOPED_TRACE(fmt::format("{} x {} weights, beside {}", down, across, huge));
      Array image = image_of(ElementType::f32, {rows, columns});
      float* const x = image.as<float>();
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
          if (j >= 70) x[i * columns + j] = i < 60 ? 0 : 1e-6F * x[i * columns + j];
      x[33 * columns + 20] = x[34 * columns + 21] = huge;
      const Array found = program.run({image}, options_).at(0);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
          double expected = 0, most = 0, weights = 0;
          for (int k = 0; k < down; ++k)
            for (int l = 0; l < across; ++l) {
              const int y = std::clamp(i + k - sum.up, 0, rows - 1), at = std::clamp(j + l - sum.left, 0, columns - 1);
              const auto v = static_cast<double>(x[y * columns + at]);
              const auto w = static_cast<double>(static_cast<float>((k * 7 + l * 5) % 23 - 9) * 0.01F);
              expected += w * v, weights += std::abs(w), most = std::max(most, std::abs(v));
            }
          ASSERT_NEAR(expected, static_cast<double>(found.as<float>()[i * columns + j]), 1e-5 * weights * most)
              << "point " << i << ", " << j;
        }
    }
  }
}

TEST_P(LargeTiles, TypesOfNumbers) {
  Sum sum;
  sum.type = "double", sum.weight = "((i * 7 + j * 5) % 23 - 9) * 0.01";
  sum.down = sum.across = 40;
  check(Program::from_text(sum.text()), image_of(ElementType::f64, {70, 65}), 1e-11);
  sum.type = "uint8", sum.weight = "(i * 7 + j * 5) % 23 - 9";
  sum.border = "";  // zeros at the sides
  check(Program::from_text(sum.text()), image_of(ElementType::u8, {120, 100}), 0);
}

TEST_P(LargeTiles, FieldsOfPlanesInAnExpression) {
  const Program program = Program::from_text(
      "struct two { uint8 a; float b; } table float k[i = 0..65, j = 0..79] = ((i * 7 + j * 5) % 23 - 9) * 0.01f; "
      "stencil f(vector#3 two X) { return 2 * sum(i = 0..65, j = 0..79) (k[i,j] * X@[0,i-33,j-30].b) + X.a; } "
      "parameter K, M, N; vector#3 two a[K,M,N]; return f(a:[clamped,mirror,wrap]);");
  Array image(program.inputs()[0].format, {3, 50, 71});
  const Format& format = image.format();
  std::memset(image.data(), 0, static_cast<std::size_t>(image.count()) * format.size());
  for (i64 k = 0; k < image.count(); ++k) {
    const float v = static_cast<float>(k % 17) * 0.1f;
    std::memcpy(
        static_cast<std::byte*>(image.data()) + static_cast<std::size_t>(k) * format.size() + format.fields[1].offset,
        &v, sizeof(v));
  }
  check(program, image, 4e-3);
  const Array whole = program.run({image}, options_).at(0);
  options_.device_memory = 3 << 20;  // a plane at a time
  EXPECT_TRUE(same_bits(whole, program.run({image}, options_).at(0)));
}

TEST_P(LargeTiles, AreChosenForLargeWeights) {
  Sum sum;
  options_.method = Method::automatic;
  const std::string text = Program::from_text(sum.text()).explain({{8192, 8192}}, options_);
  EXPECT_THAT(text, AllOf(HasSubstr("is taken through Fourier transforms"), HasSubstr("tsr_g0_rows"),
                          HasSubstr("tsr_g0_columns"), HasSubstr("tsr_g0_back")));
  sum.down = sum.across = 5;
  EXPECT_THAT(Program::from_text(sum.text()).explain({{8192, 8192}}, options_), Not(HasSubstr("tsr_g0_back")));
}

INSTANTIATE_TEST_SUITE_P(Targets, LargeTiles, ::testing::Values(asked_for()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace tessera
