// Windows as large as numbers say that are known at run time, and have a declared largest value. What is expected is
// counted here, element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

std::string first_error(const std::string& text) {
  for (const Diagnostic& d : check_text(text))
    if (d.severity == Severity::error) return d.message;
  return "";
}

TEST(LargestValues, BoundWindows) {
  const std::vector<float> x = {5, 1, 4, 2, 3, 9, 0};
  const auto at = [&](int p) { return static_cast<double>(x[static_cast<std::size_t>(std::clamp(p, 0, 6))]); };
  const char* text = R"(
stencil total(vector#1 float X, int r <= 3) { return sum(i = -r..r) ( X@[i] ); }
stencil high(vector#1 float X, int r <= 3) { return max(i = 0..r) ( X@[i] ); }
stencil mid(vector#1 float X, int r <= 3) { return median(i = -r..r) ( X@[i] ); }
stencil where(vector#1 float X, int r <= 3) { return min(i = -r..r) ( X@[i] : i ); }
stencil none(vector#1 float X, int r <= 3) { return sum(i = 2..r) ( X@[i] ); }
vector#1 float x[7];
int r <= 3;
return a = total(x:clamped, r), b = high(x:clamped, r), c = mid(x:clamped, r), d = where(x:clamped, r),
       e = none(x:clamped, r);
)";
  for (int r = 0; r <= 3; ++r) {
    const auto results = run_all(text, {floats(x), scalar(r, ElementType::i32)});
    Values total, high, mid, where, none;
    for (int p = 0; p < 7; ++p) {
      Values window;
      int least = -r;
      for (int i = -r; i <= r; ++i) {
        window.push_back(at(p + i));
        if (at(p + i) < at(p + least)) least = i;
      }
      double sum = 0, most = at(p), some = 0;
      for (const double v : window) sum += v;
      for (int i = 0; i <= r; ++i) most = std::max(most, at(p + i));
      for (int i = 2; i <= r; ++i) some += at(p + i);
      total.push_back(sum);
      high.push_back(most);
      where.push_back(least);
      none.push_back(some);
      std::sort(window.begin(), window.end());
      mid.push_back(window[static_cast<std::size_t>(r)]);
    }
    EXPECT_EQ(results[0].values, total) << r;
    EXPECT_EQ(results[1].values, high) << r;
    EXPECT_EQ(results[2].values, mid) << r;
    EXPECT_EQ(results[3].values, where) << r;
    EXPECT_EQ(results[4].values, none) << r;
  }
}

// Whatever an integer can be at most bounds a window: types, minima, tables, remainders of masks.
TEST(LargestValues, AreFoundInExpressions) {
  const char* text = R"(
table int radius[4] = {0, 2, 1, 0};
stencil byte(vector#1 uint8 X) { return sum(i = 0..X) ( 1 ); }
stencil least(vector#1 int X) { r = clamp(X, 0, 2); return sum(i = -r..r) ( 1 ); }
stencil looked(vector#1 int X) { return sum(i = 0..radius[X]) ( 1 ); }
stencil masked(vector#1 int X) { return sum(i = 0..(X & 3)) ( 1 ); }
stencil halved(vector#1 uint8 X) { return sum(i = 1..X / 2) ( 1 ); }
vector#1 uint8 b[4];
vector#1 int x[4];
return a = byte(b), b = least(x), c = looked(x), d = masked(x), e = halved(b);
)";
  const auto r = run_all(text, {array<std::uint8_t>({4}, {0, 3, 7, 255}), array<std::int32_t>({4}, {-5, 1, 2, 900})});
  EXPECT_EQ(r[0].values, (Values{1, 4, 8, 256}));
  EXPECT_EQ(r[1].values, (Values{1, 3, 5, 5}));
  EXPECT_EQ(r[2].values, (Values{1, 3, 2, 1}));  // indices are clamped to the table
  EXPECT_EQ(r[3].values, (Values{4, 2, 3, 1}));
  EXPECT_EQ(r[4].values, (Values{0, 1, 3, 127}));
}

TEST(LargestValues, BoundsOfOneWindowMayBeThoseOfAnother) {
  const auto r =
      run("stencil f(vector#1 float X, int r <= 3) { return sum(i = 0..r) ( sum(j = -i..i) ( X@[j] ) ); }"
          "vector#1 float x[5]; int r <= 3; return f(x:constant(1), r);",
          {floats({1, 1, 1, 1, 1}), scalar(2, ElementType::i32)});
  EXPECT_EQ(r.values, Values(5, 1 + 3 + 5));
}

TEST(LargestValues, GoThroughCalls) {
  const char* text = R"(
function int twice(int r <= 4) { return 2 * r; }
stencil f(vector#1 float X, int r <= 8) { return sum(i = 1..r) ( X@[0] ); }
vector g(vector#1 float X, int r <= 4) { return f(X, twice(r)); }
vector#1 float x[3];
int r <= 4;
return a = g(x, r), b = f(x, 8), c = g(x, min(r, 1)), d = f(x, r + 4);
)";
  const auto r = run_all(text, {floats({1, 2, 3}), scalar(3, ElementType::i32)});
  EXPECT_EQ(r[0].values, (Values{6, 12, 18}));
  EXPECT_EQ(r[1].values, (Values{8, 16, 24}));
  EXPECT_EQ(r[2].values, (Values{2, 4, 6}));
  EXPECT_EQ(r[3].values, (Values{7, 14, 21}));
}

TEST(LargestValues, WhatCannotBe) {
  const auto of = [](const std::string& bounds, const std::string& declared, const std::string& given = "r") {
    return first_error("stencil f(vector#1 float X, " + declared + ") { return sum(i = " + bounds +
                       ") ( X@[i] ); }\nvector#1 float x[9];\nint r <= 4;\nint s;\nreturn f(x:clamped, " + given +
                       ");");
  };
  EXPECT_EQ(of("-r..r", "int r <= 4"), "");
  EXPECT_EQ(of("-r..r", "int r"), "");  // what is given has a largest value
  EXPECT_EQ(of("-r..r", "int r", "s"),
            "the lower bound is not known at compile time: expected a constant, or a number that is declared with its "
            "largest value");
  EXPECT_EQ(of("0..r", "int r", "s"),
            "the upper bound is not known at compile time: expected a constant, or a number that is declared with its "
            "largest value");
  EXPECT_EQ(of("-r..r", "int r <= 3"), "argument 'r' of 'f' is from 0 to 3, but 'r' is not known to be");
  EXPECT_EQ(of("-r..r", "int r <= 4", "s"), "argument 'r' of 'f' is from 0 to 4, but 's' is not known to be");
  EXPECT_EQ(of("-r..r", "int r <= 4", "clamp(s, 0, 4)"), "");
  EXPECT_EQ(of("-r..r", "int r <= 4", "5"), "argument 'r' of 'f' is from 0 to 4, but '5' is 5");
  EXPECT_EQ(of("-r..r", "int r <= 4", "-1"), "argument 'r' of 'f' is from 0 to 4, but '-1' is -1");
  EXPECT_EQ(of("-r..r", "int r <= -1"), "the largest value is -1: expected 0 to 2147483647");
  EXPECT_EQ(of("-r..r", "uint8 r <= 256"), "the largest value is 256: expected 0 to 255");
  EXPECT_EQ(of("0..3", "float r <= 4"), "'r' is float: expected an integer where a largest value is declared");
  EXPECT_EQ(of("r..3", "float r"), "the lower bound is float: expected an integer");
  EXPECT_EQ(of("r..-1", "int r <= 4"), "the window 0..-1 is empty: expected a lower bound that is not above the upper");
  EXPECT_EQ(first_error("stencil f(vector#1 float X <= 3) { return X; } vector#1 float x[9]; return f(x);"),
            "'X' is an image: expected a scalar where a largest value is declared");
}

}  // namespace
}  // namespace tessera::lang::testing
