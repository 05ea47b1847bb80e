// Methods that are asked for: what they take, what they refuse and why, and how far a value that is not finite reaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/program.hpp"

namespace tessera {
namespace {

const char* const gaussians =
    "table float g[k = -4..4] = exp(-k*k/8.0) * 0.2; table float h[k = -4..4] = exp(-k*k/3.0) * 0.3; stencil "
    "f(vector#2 "
    "float X) { return sum(i = -4..4, j = -4..4) ((g[i+4]*g[j+4] - h[i+4]*h[j+4]) * X@[i,j]); } parameter M, N; "
    "vector#2 float a[M,N]; return f(a:clamped);";
const char* const random_weights =
    "table float k[i = 0..8, j = 0..8] = (i * 7 + j * j * 3 + i * i * j * 5) % 13 * 0.02f; stencil f(vector#2 float X) "
    "{ "
    "return sum(i = 0..8, j = 0..8) (k[i,j] * X@[i-4,j-4]); } parameter M, N; vector#2 float a[M,N]; return "
    "f(a:clamped);";
const char* const random_cube =
    "table float k[t = 0..6, i = 0..6, j = 0..6] = (i * 7 + j * j * 3 + i * i * j * 5 + t * t * (i + 3) * j) % 13 * "
    "0.02f + 0.01f; stencil f(vector#3 float X) { return sum(t = 0..6, i = 0..6, j = 0..6) (k[t,i,j] * "
    "X@[t-3,i-3,j-3]); } "
    "parameter T, M, N; vector#3 float a[T,M,N]; return f(a:clamped);";
const char* const row =
    "stencil f(vector#2 float X) { return X@[0,-2] + 2*X@[0,-1] + 3*X + 2*X@[0,1] + X@[0,2]; } parameter M, N; "
    "vector#2 float a[M,N]; return f(a:clamped);";
const char* const point =
    "stencil f(vector#2 float X) { return X + 1; } parameter M, N; vector#2 float a[M,N]; return f(a);";

Array zeros(ElementType type, const Shape& shape) {
  Array a(type, shape);
  std::memset(a.data(), 0, static_cast<std::size_t>(a.count()) * a.format().size());
  return a;
}

RunOptions asking(Method method, Numbers numbers = Numbers::fast) {
  RunOptions options;
  options.method = method;
  options.numbers = numbers;
  return options;
}

std::string refusal(const char* text, const RunOptions& options) {
  const Program program = Program::from_text(text);
  const Array image = zeros(ElementType::f32, {20, 30});
  try {
    program.run({image}, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    EXPECT_THROW(program.explain({{20, 30}}, options), Error);
    return e.what();
  }
  return "";
}

TEST(Methods, WhatTakesNoSumIsRefusedWithAReason) {
  using ::testing::HasSubstr;
  for (const Method m : {Method::separable, Method::low_rank, Method::transform, Method::whole}) {
    EXPECT_THAT(refusal(point, asking(m)), HasSubstr("takes no sum of the program: it has no weighted sum"));
    EXPECT_THAT(refusal(gaussians, asking(m, Numbers::exact)), HasSubstr("takes no sum"));
  }
  EXPECT_THAT(refusal(row, asking(Method::separable)), HasSubstr("its weights lie along one dimension already"));
  EXPECT_EQ(refusal(point, asking(Method::direct)), "");
  EXPECT_EQ(refusal(point, asking(Method::automatic)), "");
  EXPECT_THAT(refusal(gaussians, asking(Method::separable)), HasSubstr("'f', 9 x 9 weights: its weights are no outer"));
  EXPECT_THAT(refusal(random_weights, asking(Method::low_rank)), HasSubstr("method low-rank takes no sum"));
  EXPECT_EQ(refusal(gaussians, asking(Method::low_rank)), "");
  EXPECT_EQ(refusal(random_weights, asking(Method::whole)), "");
}

TEST(Methods, ExplainTellsThePriceOfEach) {
  const Program program = Program::from_text(gaussians);
  const std::string text = program.explain({{2160, 3840}});
  EXPECT_THAT(text, ::testing::ContainsRegex("'f', 9 x 9: direct [0-9.]+, low-rank [0-9.]+, transform [0-9.]+; taken: "
                                             "low-rank, 2 products"));
  const std::string json = program.explain({{2160, 3840}}, {}, ExplainFormat::json);
  EXPECT_THAT(json, ::testing::HasSubstr("\"method\": \"low-rank\""));
  EXPECT_THAT(program.explain({{2160, 3840}}, asking(Method::direct)), ::testing::HasSubstr("taken: direct"));
  EXPECT_THAT(program.explain({{2160, 3840}}, asking(Method::transform)), ::testing::HasSubstr("taken: transform"));
}

// Seven products of a column and a plane are more terms than weights.
TEST(Methods, LowRankHasFewerTermsInVolumesToo) {
  const Program program = Program::from_text(random_cube);
  EXPECT_THAT(program.explain({{64, 64, 64}}), ::testing::Not(::testing::HasSubstr("low-rank")));
  try {
    (void)program.explain({{64, 64, 64}}, asking(Method::low_rank));
    ADD_FAILURE() << "it has more terms as outer products";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("its weights are no sum of outer products that have fewer terms"));
  }
}

TEST(Methods, EmittedCodeTakesThemToo) {
  const Program program = Program::from_text(gaussians);
  EmitOptions options;
  options.method = Method::low_rank;
  const std::string low = program.emit(options).source;
  options.method = Method::direct;
  EXPECT_NE(low, program.emit(options).source);
  options.method = Method::whole;
  EXPECT_FALSE(program.emit(options).source.empty());
  options.method = Method::separable;
  EXPECT_THROW(program.emit(options), Error);
}

// A value that is not finite reaches the points whose window holds it, whatever way the sum is taken.
TEST(Methods, NotFiniteReachesAsFarAsTheWeights) {
  const char* const box =
      "stencil f(vector#2 float X) { return sum(i = -17..17, j = -15..20) (X@[i,j]); } parameter M, N; vector#2 float "
      "a[M,N]; return f(a:constant(0));";
  struct Reach {
    const char* text;
    Method method;
    i64 up, down, left, right;  // from the value to the results that it reaches
  };
  for (const Reach& r : {Reach{box, Method::automatic, 17, 17, 20, 15}, Reach{gaussians, Method::low_rank, 4, 4, 4, 4},
                         Reach{gaussians, Method::direct, 4, 4, 4, 4}})
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Array image = zeros(ElementType::f32, {80, 100});
      image.as<float>()[40 * 100 + 50] = bad;
      const Array result = Program::from_text(r.text).run({image}, asking(r.method)).at(0);
      for (i64 y = 0; y < 80; ++y)
        for (i64 x = 0; x < 100; ++x) {
          const bool reached = y >= 40 - r.up && y <= 40 + r.down && x >= 50 - r.left && x <= 50 + r.right;
          ASSERT_EQ(std::isfinite(result.as<float>()[y * 100 + x]), !reached) << y << " " << x;
        }
    }
}

}  // namespace
}  // namespace tessera
