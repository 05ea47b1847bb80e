// What a careful reader takes a program to mean: one rule for NaNs, borders that absolute reads obey, pieces that are
// all kept, and words where something is left out or written as in C.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/border.hpp"
#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::string said(const std::vector<Diagnostic>& all) {
  std::string text;
  for (const Diagnostic& d : all) {
    text += d.message;
    for (const std::string& n : d.notes) text += " | " + n;
    if (!d.help.empty()) text += " | " + d.help;
    text += "\n";
  }
  return text;
}

std::string warnings(const std::string& program) {
  return said(compile_text(program).warnings);
}

// ---- numbers -------------------------------------------------------------------------------------------------------

TEST(Meaning, OfANaNAndANumberTheExtremeIsTheNumber) {
  for (const std::string f : {"min", "max", "fmin", "fmax"}) {
    EXPECT_EQ(value(f + "(a, b)", "float a, float b", {nan, 3}).values, Values{3}) << f;
    EXPECT_EQ(value(f + "(a, b)", "float a, float b", {3, nan}).values, Values{3}) << f;
    EXPECT_EQ(value(f + "(0, a)", "double a", {nan}).values, Values{0}) << f;
    EXPECT_EQ(value(f + "(a, 0)", "double a", {nan}).values, Values{0}) << f;
    EXPECT_EQ(value(f + "(1, 0.0/0)", "double a", {nan}).values, Values{1}) << f << ", folded";
    EXPECT_TRUE(std::isnan(value(f + "(a, b)", "float a, float b", {nan, nan}).values[0])) << f;
  }
  for (const std::string f : {"min", "max"})
    for (const std::string z : {"(a, b)", "(b, a)"})
      EXPECT_EQ(std::signbit(value(f + z, "float a, float b", {-0.0, 0.0}).values[0]), f == "min") << f << z;
  EXPECT_EQ(value("clamp(a, 1, 2)", "float a", {nan}).values, Values{1});
}

TEST(Meaning, WindowsPassOverNaNsAndMediansBecomeThem) {
  const char* text =
      "stencil lo(vector#1 float X) { return min(i = -1..1) ( X@[i] ); }"
      "stencil hi(vector#1 float X) { return max(i = -1..1) ( X@[i] ); }"
      "stencil mid(vector#1 float X) { return median(i = -1..1) ( X@[i] ); }"
      "vector#1 float x[6]; return a = lo(x:clamped), b = hi(x:clamped), c = mid(x:clamped);";
  const auto r = run_all(text, {floats({1, nan, 3, 2, 5, 4})});
  EXPECT_EQ(r[0].values, (Values{1, 1, 2, 2, 2, 4}));
  EXPECT_EQ(r[1].values, (Values{1, 3, 3, 5, 5, 5}));
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(r[2].values[k])) << k;
  EXPECT_EQ(Values(r[2].values.begin() + 3, r[2].values.end()), (Values{3, 4, 4}));
}

TEST(Meaning, EachWayToMakeAFloatWholeHasItsRule) {
  for (const double x : {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5}) {
    EXPECT_EQ(value("round(a)", "float a", {x}).values[0], std::round(x)) << x;
    EXPECT_EQ(value("saturate<int>(a)", "float a", {x}).values[0], std::nearbyint(x) + 0.0) << x;
    EXPECT_EQ(value("cast<int>(a)", "float a", {x}).values[0], std::trunc(x) + 0.0) << x;
    EXPECT_EQ(value("cast<int>(floor(a + 0.5f))", "float a", {x}).values[0], std::floor(x + 0.5) + 0.0) << x;
  }
}

// ---- absolute reads ------------------------------------------------------------------------------------------------

TEST(Meaning, AbsoluteReadsObeyTheBorder) {
  const std::pair<const char*, BorderMode> modes[] = {{"clamped", BorderMode::clamp},
                                                      {"mirror", BorderMode::mirror},
                                                      {"symmetric", BorderMode::symmetric},
                                                      {"wrap", BorderMode::wrap}};
  for (const auto& [word, mode] : modes)
    for (const i64 n : {1, 2, 3, 5, 8})
      for (const bool known : {true, false}) {
        const std::string text =
            std::string("parameter N; stencil f(vector#1 float X) { return X[coord(0) - 20]; } vector#1 float x[") +
            (known ? std::to_string(n) : "N") + "]; y[0..40] = f(x:" + word + "); return y;";
        std::vector<float> x;
        for (i64 k = 0; k < n; ++k) x.push_back(static_cast<float>(10 * k + 1));
        const Result r = run(known ? text.substr(13) : text, {floats(x)});
        ASSERT_EQ(r.values.size(), 41U);
        for (i64 i = 0; i < 41; ++i)
          EXPECT_EQ(r.values[static_cast<std::size_t>(i)],
                    static_cast<double>(x[static_cast<std::size_t>(map_index(mode, i - 20, n))]))
              << word << " " << n << " at " << i - 20;
      }
}

TEST(Meaning, AbsoluteReadsBeyondAConstantBorderGiveItsValue) {
  const char* text =
      "stencil f(vector#2 uint8 X) { return X[coord(0) - 1, coord(1) - 1]; } vector#2 uint8 x[2,2];"
      "y[0..3,0..3] = f(x:[constant(7),constant(9)]); z[0..3,0..3] = f(x:[clamped,constant(9)]); return a = y, b = z;";
  const auto r = run_all(text, {array<std::uint8_t>({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(r[0].type, "uint8");
  EXPECT_EQ(r[0].values, (Values{7, 7, 7, 7, 9, 1, 2, 9, 9, 3, 4, 9, 7, 7, 7, 7}));
  EXPECT_EQ(r[1].values, (Values{9, 1, 2, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9, 3, 4, 9}));
}

TEST(Meaning, AnArgumentReadBothWaysHasOneBorder) {
  const char* text =
      "stencil f(vector#1 float X) { return X@[-1] * 100 + X[coord(0) - 1]; } vector#1 float x[4];"
      "return f(x:wrap);";
  EXPECT_EQ(run(text, {floats({1, 2, 3, 4})}).values, (Values{404, 101, 202, 303}));
}

// ---- pieces --------------------------------------------------------------------------------------------------------

const std::string scaled = "parameter M; stencil f(vector#1 float X, int k) { return X * k; } vector#1 float x[M];";

TEST(Meaning, PiecesThatALoopPlacesAreAllKept) {
  const Values all{0, 0, 1, 2, 2, 4, 3, 6};
  for (const std::string loop :
       {"for k = 0..3 y[k..k,..] = f(x, k); endfor", "for k = 3..0 y[k..k,..] = f(x, k); endfor",
        "y[0..0,..] = f(x,0); y[1..1,..] = f(x,1); y[2..2,..] = f(x,2); y[3..3,..] = f(x,3);"}) {
    const Result r = run(scaled + loop + " return y;", {floats({1, 2})});
    EXPECT_EQ(r.shape, (Shape{4, 2})) << loop;
    EXPECT_EQ(r.values, all) << loop;
    EXPECT_EQ(warnings(scaled + loop + " return y;"), "") << loop;
  }
  const std::string by_hand =
      "y = ( [0..0,..] = f(x,0); [1..1,..] = f(x,1); [2..2,..] = f(x,2); [3..3,..] = f(x,3); ); return y;";
  EXPECT_EQ(run(scaled + by_hand, {floats({1, 2})}).values, all);
}

TEST(Meaning, PiecesOfNestedLoopsAndOfVectorFunctionsAreKept) {
  const std::string text =
      "stencil f(vector#1 float X, int k) { return X * k; }"
      "vector g(vector#1 float X) { for i = 0..1 for k = 0..2 y[i..i, k..k, ..] = f(X, 3*i + k); endfor endfor return "
      "y; }"
      "vector#1 float x[1]; return g(x);";
  const Result r = run(text, {floats({2})});
  EXPECT_EQ(r.shape, (Shape{2, 3, 1}));
  EXPECT_EQ(r.values, (Values{0, 2, 4, 6, 8, 10}));
}

TEST(Meaning, PiecesOverlapAndSpreadAsInACompositionByHand) {
  const std::string text = scaled +
                           "for k = 0..1 up@[(k,2)] = f(x, k + 1); endfor"
                           " over[..3] = 9; for k = 0..2 over[k..] = f(x, k + 1); endfor return up = up, over = over;";
  const auto r = run_all(text, {floats({1, 2})});
  EXPECT_EQ(r[0].values, (Values{1, 2, 2, 4}));
  EXPECT_EQ(r[1].values, (Values{1, 2, 3, 6}));
}

TEST(Meaning, APieceGoesOntoAnImageThatNothingHasReadYet) {
  const std::string text = scaled + "y = f(x, 10); for k = 1..2 y[k..k] = f(x[0..0], k); endfor return y;";
  EXPECT_EQ(run(text, {floats({1, 2, 3, 4})}).values, (Values{10, 1, 2, 40}));
}

// A temporary is what it was: each step has its own.
TEST(Meaning, APieceThatWasReadIsATemporary) {
  const std::string text = scaled + "g<0> = x; for i = 1..2 up@[(0,2)] = g<i-1>; g<i> = f(up, 2); endfor return g<2>;";
  EXPECT_EQ(run(text, {floats({1, 2})}).values, (Values{4, 0, 0, 0, 8, 0, 0, 0}));
  EXPECT_EQ(warnings(text), "");
}

TEST(Meaning, PiecesThatAreLostBetweenReadsAreSpokenOf) {
  const std::string text = scaled + "y[0..0,..] = x; z = y; y[1..1,..] = f(x, 2); return a = y, b = z;";
  EXPECT_EQ(run_all(text, {floats({1, 2})})[0].values, (Values{0, 0, 2, 4}));
  EXPECT_NE(warnings(text).find("'y' was read since its last piece"), std::string::npos) << warnings(text);
  EXPECT_NE(warnings(text).find("write"), std::string::npos + 1);
}

TEST(Meaning, PiecesThatDoNotFitAreRefusedOnce) {
  const auto all = check_text(scaled + "y[0..0,..] = x; y[1..1] = x[0..0]; y[2..2] = x[0..0]; return y;");
  ASSERT_EQ(all.size(), 1U) << said(all);
  EXPECT_NE(said(all).find("this piece has 1 dimensions, the first has 2"), std::string::npos) << said(all);
}

// ---- words ---------------------------------------------------------------------------------------------------------

TEST(Meaning, APointThatAStrideLeavesOutIsSpokenOf) {
  const std::string head =
      "parameter N; stencil f(vector#1 float X) { return X@[(0,2)] + X@[(1,2)]; } vector#1 float x[N]; ";
  EXPECT_NE(warnings(head + "return f(x);").find("the last point of 'f' in dimension 0 is left 0"), std::string::npos);
  EXPECT_EQ(warnings(head + "return f(x:clamped);"), "");
  EXPECT_EQ(warnings("parameter N; stencil f(vector#1 float X) { return X@[(-2,2)] + X@[(2,2)]; } vector#1 float x[N]; "
                     "return f(x);"),
            "");
  EXPECT_EQ(warnings("parameter N; stencil f(vector#1 float X) { return X@[-1] + X@[3]; } vector#1 float x[N]; return "
                     "f(x);"),
            "");
  EXPECT_EQ(run(head + "return f(x);", {floats({1, 2, 3, 4})}).values, (Values{3, 0})) << "the published interior";
}

TEST(Meaning, AnIfIsShownTheChoiceOfValues) {
  const std::pair<const char*, const char*> rows[] = {
      {"stencil f(vector#1 float X) { if (X > 1) y = 2; else y = 3; return y; } vector#1 float x[5]; return f(x);",
       "write NAME = X > 1 ? A : B;"},
      {"stencil f(vector#1 float X) { if (max(X, 0) > 1) { y = 2; } else if (X < 0) { y = 1; } else { y = 3; } return "
       "y; } "
       "vector#1 float x[5]; return f(x);",
       "write NAME = max(X, 0) > 1 ? A : B;"},
      {"stencil f(vector#1 float X) { if (X > 1) return 2; else return 3; } vector#1 float x[5]; return f(x);",
       "write NAME = X > 1 ? A : B;"},
      {"stencil f(vector#1 float X) { if (X > 1) return 2; return 3; } vector#1 float x[5]; return f(x);",
       "write NAME = X > 1 ? A : B;"},
      {"function float f(float a) { if (a > 1) { a = 2; } return a; } stencil g(vector#1 float X) { return f(X); } "
       "vector#1 float x[5]; return g(x);",
       "write NAME = a > 1 ? A : B;"},
      {"stencil f(vector#1 float X) { return if (X > 1); } vector#1 float x[5]; return f(x);", "write X > 1 ? A : B"},
      {"stencil f(vector#1 float X) { return X; } vector#1 float x[5]; if (max(x) > 1) y = f(x); else y = x; return y;",
       "return max(x) > 1 ? A : B;"},
      {"stencil f(vector#1 float X) { switch (X) { case 1: y = 2; } return 1; } vector#1 float x[5]; return f(x);",
       "write NAME = CONDITION ? A : B;"},
  };
  for (const auto& [program, help] : rows) {
    const auto all = check_text(program);
    ASSERT_EQ(all.size(), 1U) << program << "\n" << said(all);
    EXPECT_NE(said(all).find(help), std::string::npos) << program << "\n" << said(all);
  }
  // The word remains a name.
  EXPECT_EQ(value("a", "float a", {2}).values, Values{2});
  EXPECT_EQ(
      run("stencil f(vector#1 float X) { if = 2 * X; return if; } vector#1 float x[1]; return f(x);", {floats({3})})
          .values,
      Values{6});
}

}  // namespace
}  // namespace tessera::lang::testing
