// Weights that are cut into boxes, since no tile of a transform holds them well, against the interpreter.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

struct Case {
  Shape weights, anchor, image;
  std::string border, type, number;  // of the image, of the weights and results
};

Program program_of(const Case& c) {
  std::string extents, ranges, at, from, names, sizes;
  const auto list = [](std::string& to, const std::string& item) { to += (to.empty() ? "" : ",") + item; };
  for (std::size_t d = 0; d < c.weights.size(); ++d) {
    const char v = static_cast<char>('i' + d), n = static_cast<char>('K' + d);
    list(extents, fmt::format("{} = 0..{}", v, c.weights[d] - 1));
    list(at, std::string(1, v));
    list(from, fmt::format("{}-{}", v, c.anchor[d]));
    list(names, std::string(1, n));
  }
  const std::string last(1, static_cast<char>('i' + c.weights.size() - 1));
  const std::string weight = fmt::format("(i * 7 + {0} * {0} * 3 + i * {0}) % 13 * 2 - 13", last);
  return Program::from_text(fmt::format(
      "table {number} k[{extents}] = {weight}; stencil f(vector#{rank} {type} X) {{ return sum({extents}) (k[{at}] * "
      "X@[{from}]); }} parameter {names}; vector#{rank} {type} a[{names}]; return f(a{border});",
      fmt::arg("number", c.number), fmt::arg("extents", extents),
      fmt::arg("weight", c.number == "int" ? weight : "(" + weight + ") * 0.01f"), fmt::arg("rank", c.weights.size()),
      fmt::arg("type", c.type), fmt::arg("at", at), fmt::arg("from", from), fmt::arg("names", names),
      fmt::arg("border", c.border)));
}

Array image_of(const Case& c) {
  if (c.type == "uint8") {
    Array image(ElementType::u8, c.image);
    for (i64 k = 0; k < image.count(); ++k) image.as<std::uint8_t>()[k] = static_cast<std::uint8_t>(k * k % 251);
    return image;
  }
  Array image(ElementType::f32, c.image);
  for (i64 k = 0; k < image.count(); ++k) image.as<float>()[k] = static_cast<float>(k * k % 1009) / 1009;
  return image;
}

RunOptions through_transforms() {
  RunOptions options;
  options.method = Method::transform;
  return options;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{20001}, {9000}, {700}, ":mirror", "float", "float"},
      {{9001}, {8000}, {900}, ":[constant(2)]", "uint8", "int"},
      {{801, 9}, {0, 4}, {41, 77}, ":[wrap,clamped]", "float", "float"},
      {{7, 1901}, {3, 1000}, {19, 60}, "", "float", "float"},
      {{801, 7}, {400, 3}, {23, 90}, ":clamped", "uint8", "int"},
  };
  return all;
}

// What another method is asked for changes nothing of what transforms would cost.
TEST(SumBoxes, EveryMethodTellsTheSamePrice) {
  const Program program = program_of({{20001}, {9000}, {}, ":mirror", "float", "float"});
  const auto prices = [&](Method method) {
    RunOptions options;
    options.method = method;
    const std::string text = program.explain({{4000000}}, options);
    const std::size_t from = text.find("1 x 20001: direct");
    return text.substr(from, text.find("; taken", from) - from);
  };
  const std::string expected = prices(Method::automatic);
  EXPECT_THAT(expected, ::testing::ContainsRegex("direct [0-9.e+]+, transform [0-9.]+"));
  EXPECT_EQ(prices(Method::direct), expected);
  EXPECT_EQ(prices(Method::transform), expected);
}

TEST(SumBoxes, GiveTheInterpretersValues) {
  for (const Case& c : sample_of(cases())) {
    const Program program = program_of(c);
    SCOPED_TRACE(fmt::format("{}, {} {}", to_string(c.weights), c.type, c.border));
    Shape large(c.weights.size(), 4000);
    EXPECT_THAT(program.explain({large}, through_transforms()), ::testing::ContainsRegex("in [0-9]+ boxes"));
    const Array image = image_of(c);
    const Array expected = program.interpret({image}).at(0), found = program.run({image}, through_transforms()).at(0);
    const double weights =
        static_cast<double>(std::accumulate(c.weights.begin(), c.weights.end(), i64{1}, std::multiplies<>()));
    const double allowed = 1e-5 * weights * 0.13;  // of the sum of weights and values, in magnitude
    for (i64 k = 0; k < expected.count(); ++k)
      if (c.number == "int")
        ASSERT_EQ(expected.as<std::int32_t>()[k], found.as<std::int32_t>()[k]) << "point " << k;
      else
        ASSERT_NEAR(expected.as<float>()[k], found.as<float>()[k], allowed) << "point " << k;
  }
}

// It reaches as far as the weights, in every box.
TEST(SumBoxes, WhatIsNotANumberStaysWhereItBelongs) {
  const Case c{{801, 9}, {300, 4}, {1900, 60}, ":clamped", "float", "float"};
  const Program program = program_of(c);
  Array image = image_of(c);
  const i64 row = 900, column = 30;
  image.as<float>()[row * 60 + column] = std::numeric_limits<float>::quiet_NaN();
  const Array found = program.run({image}, through_transforms()).at(0);
  for (i64 y = 0; y < 1900; ++y)
    for (i64 x = 0; x < 60; ++x) {
      const bool reached = row - y >= -300 && row - y < 501 && column - x >= -4 && column - x < 5;
      ASSERT_EQ(reached, std::isnan(found.as<float>()[y * 60 + x])) << y << ", " << x;
    }
}

// Two million weights are found, and cut.
TEST(SumBoxes, MillionsOfWeights) {
  Array weights(ElementType::f32, {1401, 1500});
  for (i64 k = 0; k < weights.count(); ++k) weights.as<float>()[k] = static_cast<float>(k * k % 1013 - 500) * 1e-6f;
  CompileOptions given;
  given.tables["K"] = weights;
  const Program program = Program::from_text(
      "table float K[1401, 1500]; stencil f(vector#2 float X) { return sum(i = 0..1400, j = 0..1499) (K[i,j] * "
      "X@[i,j-700]); } "
      "parameter M, N; vector#2 float a[M,N]; return f(a:[clamped,wrap]);",
      given);
  const std::string said = program.explain({{4000, 4000}});
  EXPECT_THAT(said, ::testing::ContainsRegex("1401 x 1500, is taken in [0-9]+ boxes through Fourier transforms"));
}

}  // namespace
}  // namespace tessera
