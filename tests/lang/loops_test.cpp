// Loops with a test: values against loops written out, what is visible after them, and every fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

const char* const stencils =
    "stencil twice(vector#1 float X) { return 2 * X; }\n"
    "stencil add(vector#1 float X, vector#1 float Y) { return X + Y; }\n"
    "stencil plus(vector#1 float X, float k) { return X + k; }\n"
    "stencil smooth(vector#1 float X) { return (X@[-1] + X@[1]) / 2; }\n"
    "stencil gap(vector#1 float X, vector#1 float Y) { return abs(X - Y); }\n";

std::vector<Result> run_loop(const std::string& text, const std::vector<float>& row) {
  return run_all(std::string(stencils) + "vector#1 float x[" + std::to_string(row.size()) + "];\n" + text,
                 {floats(row)});
}

TEST(TestLoops, EndWhereTheTestFails) {
  const std::string loop = "u<0> = x; do t = 1..10 u<t> = twice(u<t-1>); while (max(u<t>) < 20); return u<10>;";
  EXPECT_EQ(run_loop(loop, {1, 3}).at(0).values, (Values{8, 24}));
  EXPECT_EQ(run_loop(loop, {1, 20}).at(0).values, (Values{2, 40}));                // the body runs once at least
  EXPECT_EQ(run_loop(loop, {0, 0.01F}).at(0).values.at(1), 1024 * double{0.01F});  // and ten times at most
}

TEST(TestLoops, FollowALoopWrittenOut) {
  std::vector<float> u = {0, 8, 1, 5, 2};
  const Result r = run_loop(
                       "u<0> = x; do t = 1..100 u<t> = smooth(u<t-1>:clamped); "
                       "while (max(gap(u<t>, u<t-1>)) > 0.25); return u<100>;",
                       u)
                       .at(0);
  for (int t = 1; t <= 100; ++t) {
    std::vector<float> next(u.size());
    float most = 0;
    for (std::size_t k = 0; k < u.size(); ++k) {
      next[k] = (u[k == 0 ? 0 : k - 1] + u[std::min(k + 1, u.size() - 1)]) / 2;
      most = std::max(most, std::abs(next[k] - u[k]));
    }
    u = next;
    if (!(most > 0.25)) break;
  }
  EXPECT_EQ(r.values, Values(u.begin(), u.end()));
}

TEST(TestLoops, CountDownWhereTheFirstBoundIsLarger) {
  EXPECT_EQ(run_loop("u<4> = x; do t = 3..1 u<t> = plus(u<t+1>, t); while (t != 2); return u<1>;", {0}).at(0).values,
            Values{5});
}

TEST(TestLoops, KeepVersionsBefore) {
  // Fibonacci's numbers; the first of two versions before is the second one's.
  EXPECT_EQ(run_loop("u<0> = x; u<-1> = x; do t = 1..6 u<t> = add(u<t-1>, u<t-2>); while (t < 5); return u<6>;", {1})
                .at(0)
                .values,
            Values{13});
  EXPECT_EQ(run_loop("u<0> = x; v<0> = twice(x); do t = 1..3 u<t> = v<t-1>; v<t> = u<t-1>; while (1 > 0);"
                     "return a = u<3>, b = v<3>;",
                     {1})
                .at(1)
                .values,
            Values{1});
}

TEST(TestLoops, CarrySeveralImagesNumbersAndStructs) {
  const auto all = run_loop(
      "u<0> = x; n<0> = max(x); do t = 1..9 n<t> = n<t-1> / 2; u<t> = plus(u<t-1>, n<t>); w<t> = twice(u<t-1>);"
      "while (n<t> > 1 && (t < 8 || min(u<t>) < 0)); return u = u<9>, n = n<9>, w = w<9>;",
      {0, 8});
  EXPECT_EQ(all.at(0).values, (Values{7, 15}));
  EXPECT_EQ(all.at(1).values, Values{1});
  EXPECT_EQ(all.at(2).values, (Values{12, 28}));
  const auto pairs = run_all(
      "struct two { float a; float b; } stencil turn(vector#1 two X) { return struct two(X.b, X.a + 1); }"
      "vector#1 two x[1]; u<0> = x; do t = 1..3 u<t> = turn(u<t-1>); while (max(u<t>.b) < 9); return u<3>.b;",
      {[] {
        const Format format = Format::record("two", {{"a", ElementType::f32}, {"b", ElementType::f32}});
        Array a(format, {1});
        a.as<float>()[0] = 1;
        a.as<float>()[1] = 5;
        return a;
      }()});
  EXPECT_EQ(pairs.at(0).values, Values{3});
}

TEST(TestLoops, StandInFunctionsLoopsAndOneAfterTheOther) {
  EXPECT_EQ(run_all(std::string(stencils) +
                        "vector until(vector#1 float X, float most, int n) { u<0> = X; do t = 1..n"
                        "  for i = 1..2 v<i> = twice(u<t-1>); endfor  y = add(v<1>, v<2>); u<t> = plus(y, 0);"
                        " while (max(u<t>) < most); return u<n>; }\n"
                        "vector#1 float x[1]; g<0> = x; for k = 1..2 g<k> = until(g<k-1>, k * 50, 5); endfor"
                        " return until(g<2>, 1000, 2);",
                    {floats({1})})
                .at(0)
                .values,
            Values{1024});
}

TEST(TestLoops, LeaveTheirOwnNamesBehind) {
  const std::string program = std::string(stencils) +
                              "vector#1 float x[1]; u<0> = x; do t = 1..2 y = twice(u<t-1>); u<t> = y; "
                              "while (max(y) < 3); return y;";
  const auto found = check_text(program);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].message, "unknown image 'y'");
}

struct Fault {
  const char* body;
  const char* message;
};

TEST(TestLoops, SayWhatIsWrong) {
  const Fault faults[] = {
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t-1>); return u<3>;", "expected 'while', found 'return'"},
      {"u<0> = x; while (max(x) > 1); return x;", "'while' without a 'do' before it"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t-1>); while (max(u<t>) > 1) return u<3>;",
       "expected ';' after the test, found 'return'"},
      {"u<0> = x; do t = 1..n u<t> = twice(u<t-1>); while (max(u<t>) > 1); return u<3>;",
       "the upper bound is 'n', which is not known at compile time"},
      {"u<0> = x; do x = 1..3 u<x> = twice(u<x-1>); while (max(u<x>) > 1); return u<3>;",
       "'x' has a meaning already: expected a new loop variable"},
      {"do t = 1..3 u<t> = twice(u<t-1>); while (max(u<t>) > 1); return u<3>;",
       "'u<0>' has no value before the loop: 'u<t-1>' of the first iteration is it"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t>); while (max(u<t>) > 1); return u<3>;", "'u<t>' is not computed yet"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t+1>); while (max(u<t>) > 1); return u<3>;",
       "'u<t+1>' is not computed yet"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<2*t>); while (max(u<t>) > 1); return u<3>;",
       "the version '2*t' is not known before the program runs: expected 't' or a constant distance from it"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t-20>); while (max(u<t>) > 1); return u<3>;",
       "'u<t-20>' is 20 versions before this one: expected 16 at most"},
      // Where a version before the loop is an error, it is the only one.
      {"u<0> = nix; do t = 1..4 v = u<t-1>; u<t> = x; while (1); return u<4>;", "unknown image 'nix'"},
      {"do t = 1..4 v = u<t-1>; u<t> = x; while (1); return u<4>;",
       "'u<0>' has no value before the loop: 'u<t-1>' of the first iteration is it"},
      {"u<0> = x; do t = 1..3 u<t> = nix; while (max(u<t>) > 1); return u<3>;", "unknown image 'nix'"},
      {"u<0> = x; do t = 1..3 u<t-1> = twice(u<t-1>); while (max(u<t-1>) > 1); return u<3>;",
       "'u<t-1>' is no version of this iteration: expected 'u<t>'"},
      {"u<0> = x; do t = 1..3 v<t> = twice(u<t-1>); while (max(v<t>) > 1); return v<3>;",
       "the loop reads 'u<t-1>', but computes no 'u<t>'"},
      {"u<0> = x; u<2> = x; do t = 1..3 u<t> = twice(u<t-1>); while (max(u<t>) > 1); return u<3>;",
       "'u<2>' already has a value, and the loop computes 'u<t>' for t = 1..3"},
      {"u<0> = x; y = x; do t = 1..3 y = twice(u<t-1>); u<t> = y; while (max(y) > 1); return u<3>;",
       "'y' has a value before the loop: expected a version or another name"},
      {"do t = 1..3 u<t> = twice(x); while (max(u<t>) > 1); return u<3>;",
       "nothing goes from one iteration to the next: expected a version before, as u<t-1>"},
      {"u<0> = x; do t = 1..3 u<t> = u<t-1>[1..]; while (max(u<t>) > 1); return u<3>;",
       "'u<t>' is n-1, but 'u<0>' is n: expected the same extents"},
      {"u<0> = x; do t = 1..3 u<t> = cut(u<t-1>); while (max(u<t>) > 1); return u<3>;",
       "'u<t>' is a vector#1 int32, but 'u<0>' is a vector#1 float: expected one type for all versions"},
      {"u<0> = x; do t = 1..3 u<t> = max(u<t-1>); while (max(u<t-1>) > 1); return u<3>;",
       "'u<t>' is a scalar float, but 'u<0>' is a vector#1 float: expected one type for all versions"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t-1>); while (u<t>); return u<3>;",
       "'u' is a versioned image: expected a scalar"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t-1>); while (u<t> > 1); return u<3>;",
       "'u' is a versioned image: expected a scalar"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t-1>); do s = 1..2 v<s> = twice(v<s-1>); while (1 > 0); "
       "while (max(u<t>) > 1); return u<3>;",
       "a loop with a test stands in another one: expected a loop with fixed bounds"},
      {"u<0> = x; do t = 1..3 u<t> = twice(u<t-1>)[0..t]; while (max(u<t>) > 1); return u<3>;",
       "'t' is not known at compile time: expected a constant"},
      {"return f(x:mirror);", "'u<0>' comes with a boundary mode, which later versions do not have"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.body);
    const auto found =
        check_text(std::string(stencils) +
                   "stencil cut(vector#1 float X) { return cast<int>(X); }\n"
                   "vector f(vector#1 float X) { u<0> = X; do t = 1..3 u<t> = smooth(u<t-1>); while (max(u<t>) > 1); "
                   "return u<3>; }\nparameter n; vector#1 float x[n];\n" +
                   fault.body);
    ASSERT_EQ(found.size(), 1U) << (found.size() > 1 ? found[1].message : "");
    EXPECT_EQ(found[0].message, fault.message);
  }
}

}  // namespace
}  // namespace tessera::lang::testing
