// Reductions that choose: ranks, tests of windows, what goes along with an extreme, places of extremes. What is
// expected is counted here, element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

const double nan = std::numeric_limits<double>::quiet_NaN();
const float nanf = std::numeric_limits<float>::quiet_NaN();

// As equal as NaNs are.
void expect_same(const Values& got, const Values& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t k = 0; k < got.size(); ++k)
    EXPECT_TRUE(got[k] == expected[k] || (std::isnan(got[k]) && std::isnan(expected[k])))
        << k << ": " << got[k] << ", expected " << expected[k];
}

Array row_of_bytes(const std::vector<std::uint8_t>& values) {
  return array<std::uint8_t>({static_cast<i64>(values.size())}, values);
}

TEST(Choosing, RanksGoFromTheLeastToTheGreatest) {
  const std::vector<float> x = {5, 1, 4, 2, 3, 9, 0};
  for (int k = 0; k < 3; ++k) {
    const auto r = run("stencil f(vector#1 float X) { return rank(" + std::to_string(k) +
                           "; i = -1..1) ( X@[i] ); } vector#1 float x[7]; return f(x:wrap);",
                       {floats(x)});
    Values expected;
    for (int p = 0; p < 7; ++p) {
      Values w = {x[static_cast<std::size_t>((p + 6) % 7)], x[static_cast<std::size_t>(p)],
                  x[static_cast<std::size_t>((p + 1) % 7)]};
      std::sort(w.begin(), w.end());
      expected.push_back(w[static_cast<std::size_t>(k)]);
    }
    EXPECT_EQ(r.values, expected) << k;
  }
}

TEST(Choosing, ARankKeepsTheTypeAndMayBeKnownAtThePointAlone) {
  const auto r = run_all(
      "stencil f(vector#1 uint8 X) { return rank(1; i = 0..2) ( X@[i] ); }"
      "stencil g(vector#1 uint8 X) { return rank(X; i = 0..2) ( X@[i] ); }"
      "vector#1 uint8 x[5]; return a = f(x:clamped), b = g(x:clamped);",
      {row_of_bytes({2, 0, 7, 1, 3})});
  EXPECT_EQ(r[0].type, "uint8");
  EXPECT_EQ(r[0].values, (Values{2, 1, 3, 3, 3}));
  // Ranks 2 0 7 1 3: of three elements there is no rank 3 or 7, which give the last value of the type.
  EXPECT_EQ(r[1].values, (Values{7, 0, 255, 3, 255}));
}

TEST(Choosing, TestsLeaveElementsOut) {
  const char* text = R"(
table int comb[5] = {1, 0, 1, 0, 1};
stencil a(vector#1 float X) { return sum(i = 0..4; comb[i]) ( X@[i-2] ); }
stencil b(vector#1 float X) { return prod(i = -1..1; i != 0) ( X@[i] ); }
stencil c(vector#1 float X) { return min(i = -1..1; X@[i] > 2) ( X@[i] ); }
stencil d(vector#1 float X) { return any(i = -1..1; i > 0) ( X@[i] > 3 ); }
stencil e(vector#1 float X) { return all(i = -1..1; X@[i] > 2) ( X@[i] > 3 ); }
stencil f(vector#1 float X) { return median(i = -2..2; i*i != 1) ( X@[i] ); }
stencil g(vector#1 float X) { return median(i = -1..1; X@[i] > 2) ( X@[i] ); }
stencil h(vector#1 float X) { return rank(1; i = -1..1; X@[i] > 2) ( X@[i] ); }
vector#1 float x[5];
return a = a(x:clamped), b = b(x:clamped), c = c(x:clamped), d = d(x:clamped), e = e(x:clamped), f = f(x:clamped),
       g = g(x:clamped), h = h(x:clamped);
)";
  const auto r = run_all(text, {floats({5, 1, 4, 2, 3})});
  EXPECT_EQ(r[0].values, (Values{5 + 5 + 4, 5 + 1 + 2, 5 + 4 + 3, 1 + 2 + 3, 4 + 3 + 3}));
  EXPECT_EQ(r[1].values, (Values{5, 20, 2, 12, 6}));
  EXPECT_EQ(r[2].values, (Values{5, 4, 4, 3, 3}));
  EXPECT_EQ(r[3].values, (Values{0, 1, 0, 0, 0}));
  EXPECT_EQ(r[4].values, (Values{1, 1, 1, 0, 0}));
  EXPECT_EQ(r[5].values, (Values{5, 2, 4, 2, 3}));  // of three: the ends and the middle
  EXPECT_EQ(r[6].values, (Values{5, 4, 4, 3, 3}));
  expect_same(r[7].values, {5, 5, nan, 4, 3});
}

TEST(Choosing, WindowsWithoutElements) {
  const char* text = R"(
struct all { float a; float b; float c; float d; float e; uint8 f; uint8 g; uint8 h; int i; int j; float k; float l; }
stencil none(vector#1 float X, vector#1 uint8 Y) {
  p = min(i = -1..1; X@[i] > 9) ( X@[i] : i, X@[i] );
  return struct all(sum(i = -1..1; X@[i] > 9) ( X@[i] ), prod(i = -1..1; X@[i] > 9) ( X@[i] ),
                    min(i = -1..1; X@[i] > 9) ( X@[i] ), max(i = -1..1; X@[i] > 9) ( X@[i] ),
                    median(i = -1..1; X@[i] > 9) ( X@[i] ), min(i = -1..1; Y@[i] > 9) ( Y@[i] ),
                    max(i = -1..1; Y@[i] > 9) ( Y@[i] ), median(i = -1..1; Y@[i] > 9) ( Y@[i] ),
                    any(i = -1..1; X@[i] > 9) ( 1 ), all(i = -1..1; X@[i] > 9) ( 0 ), p.0, p.1);
}
vector#1 float x[1];
vector#1 uint8 y[1];
return none(x:clamped, y:clamped);
)";
  expect_same(run(text, {floats({1}), row_of_bytes({1})}).values, {0, 1, nan, nan, nan, 255, 0, 255, 0, 1, 0, 0});
}

TEST(Choosing, OfEqualElementsTheFirstOneWins) {
  const char* text = R"(
stencil least(vector#2 int X) { k = min(i = 0..1, j = 0..2) ( X@[i,j] : i, j ); return 10*k.0 + k.1; }
stencil most(vector#2 int X) { k = max(i = 0..1, j = 0..2) ( X@[i,j] : i, j ); return 10*k.0 + k.1; }
vector#2 int x[2,3];
return a = least(x:clamped), b = most(x:clamped);
)";
  const auto r = run_all(text, {array<std::int32_t>({2, 3}, {4, 1, 4, 1, 4, 1})});
  EXPECT_EQ(r[0].values[0], 1);  // the first 1 stands in row 0, column 1
  EXPECT_EQ(r[1].values[0], 0);  // the first 4 is the very first element
  EXPECT_EQ(r[0].values[3], 0);  // of 1 4 1 in both rows
  EXPECT_EQ(r[1].values[3], 1);
}

TEST(Choosing, ExtremesOfATypeAreKeysLikeOthers) {
  const char* text = R"(
stencil f(vector#1 int X) { return max(i = -1..1) ( X@[i] : i ); }
stencil g(vector#1 int X) { return min(i = -1..1; i != 0) ( X@[i] : X@[i] ); }
vector#1 int x[4];
return a = f(x:clamped), b = g(x:clamped);
)";
  constexpr std::int32_t lo = std::numeric_limits<std::int32_t>::min(), hi = std::numeric_limits<std::int32_t>::max();
  const auto r = run_all(text, {array<std::int32_t>({4}, {lo, hi, hi, lo})});
  EXPECT_EQ(r[0].values, (Values{1, 0, -1, -1}));
  EXPECT_EQ(r[1].values, (Values{lo, lo, lo, lo}));
  const auto s = run_all(text, {array<std::int32_t>({4}, {hi, lo, hi, hi})});
  EXPECT_EQ(s[1].values, (Values{lo, hi, lo, hi}));
}

TEST(Choosing, NaNsComeBehindAllNumbers) {
  const char* text = R"(
stencil f(vector#1 float X) { return min(i = -1..1) ( X@[i] : i ); }
stencil g(vector#1 float X) { return max(i = -1..1) ( X@[i] : i ); }
vector#1 float x[7];
return a = f(x:wrap), b = g(x:wrap);
)";
  const float inf = std::numeric_limits<float>::infinity();
  const auto r = run_all(text, {floats({nanf, nanf, nanf, inf, 2, -inf, 1})});
  EXPECT_EQ(r[0].values, (Values{-1, -1, 1, 1, 1, 0, -1}));
  EXPECT_EQ(r[1].values, (Values{-1, -1, 1, 0, -1, -1, 0}));
}

TEST(Choosing, AStructGoesAlongAndTypesAreKept) {
  const char* text = R"(
struct found { uint8 value; int at; }
stencil f(vector#1 uint8 X) { return max(i = -1..1) ( X@[i] : struct found(X@[i], i) ); }
stencil g(vector#1 uint8 X) { k = max(i = -1..1) ( X@[i] : X@[i], i + 0.5f ); return k.0; }
vector#1 uint8 x[4];
return a = f(x:clamped), b = g(x:clamped);
)";
  const auto r = run_all(text, {row_of_bytes({3, 9, 2, 9})});
  EXPECT_EQ(r[0].type, "struct found");
  EXPECT_EQ(r[0].values, (Values{9, 1, 9, 0, 9, -1, 9, 0}));
  EXPECT_EQ(r[1].type, "uint8");
}

TEST(Choosing, WholeImagesHaveAnIndexForEachDimension) {
  const char* text = R"(
stencil near(vector#2 float X, int i, int j) { return abs(coord(0) - i) + abs(coord(1) - j) + 0*X; }
parameter M, N;
vector#2 float x[M,N];
k = argmax(x);
l = argmin(x);
return a = k.0, b = k.1, c = l.0 + 10 * l.1, d = near(x, k.0, k.1), e = argmax(x).1;
)";
  const auto r = run_all(text, {floats({2, 4}, {1, 7, nanf, 0, 7, 2, 0, 7})});
  EXPECT_EQ(r[0].type, "int32");
  EXPECT_EQ(r[0].values, Values{0});
  EXPECT_EQ(r[1].values, Values{1});
  EXPECT_EQ(r[2].values, Values{30});
  expect_same(r[3].values, {1, 0, nan, 2, 2, 1, 2, 3});
  EXPECT_EQ(r[4].values, Values{1});
  const auto none = run_all(text, {floats({2, 2}, {nanf, nanf, nanf, nanf})});
  EXPECT_EQ(none[0].values, Values{0});
  EXPECT_EQ(none[2].values, Values{0});
}

TEST(Choosing, PlacesInLoopsWithATest) {
  // The largest element is taken away, one after the other, until it is 3 or less.
  const char* text = R"(
stencil without(vector#1 int X, int at) { return coord(0) == at ? 0 : X; }
vector#1 int x[6];
u<0> = x;
do t = 1..9
  k = argmax(u<t-1>);
  p<t> = argmax(u<t-1>).0;
  u<t> = without(u<t-1>, k.0);
while (max(u<t>) > 3);
return rest = u<9>, last = p<9>;
)";
  const auto r = run_all(text, {array<std::int32_t>({6}, {4, 9, 1, 9, 5, 3})});
  EXPECT_EQ(r[0].values, (Values{0, 0, 1, 0, 0, 3}));
  EXPECT_EQ(r[1].values, Values{0});
}

TEST(Choosing, TablesAreComputedInTheSameWay) {
  const Compiled c = compile_text(R"(
table float g[5] = {3, 1, 4, 1, 5};
table float q[k = 0..4] = rank(k; i = 0..4) ( g[i] );
table float m[1] = {median(i = 0..4; g[i] > 1) ( g[i] )};
table int at[1] = {max(i = 0..4; i != 4) ( g[i] : i )};
table float none[2] = {min(i = 0..4; g[i] > 9) ( g[i] ), sum(i = 0..4; g[i] > 9) ( g[i] )};
stencil f(vector#1 float X) { return X + q[0] + m[0] + at[0] + none[1]; }
vector#1 float x[3];
return f(x);
)");
  const auto values = [&](const char* name) {
    for (const ir::Table& t : c.graph.tables)
      if (t.name == name) return t.values;
    return Values{};
  };
  EXPECT_EQ(values("q"), (Values{1, 1, 3, 4, 5}));
  EXPECT_EQ(values("m"), Values{4});
  EXPECT_EQ(values("at"), Values{2});
  expect_same(values("none"), {nan, 0});
}

TEST(Choosing, WordsAreStillNames) {
  const auto r =
      run("function float rank(float a, float b) { return a - b; } function float argmax(float a) { return 2 * a; }"
          "stencil f(vector#1 float X) { return rank(X, 1) + argmax(X); } vector#1 float x[2]; return f(x);",
          {floats({1, 2})});
  EXPECT_EQ(r.values, (Values{2, 5}));
}

std::string first_fault(const std::string& body) {
  const auto found = check_text("struct two { int a; int b; } stencil f(vector#1 float X) { " + body +
                                " } vector#1 float x[5]; return f(x:clamped);");
  return found.empty() ? "" : found[0].message;
}

TEST(Choosing, Faults) {
  EXPECT_EQ(first_fault("return rank(3; i = -1..1) ( X@[i] );"),
            "the rank is 3: expected at most 2, as the window has 3 elements");
  EXPECT_EQ(first_fault("return rank(2; i = -1..1; i != 0) ( X@[i] );"),
            "the rank is 2: expected at most 1, as the window has 2 elements");
  EXPECT_EQ(first_fault("return rank(-1; i = -1..1) ( X@[i] );"),
            "the rank is -1: expected 0, the least element, or more");
  EXPECT_EQ(first_fault("return rank(1.5; i = -1..1) ( X@[i] );"), "the rank is double: expected an integer");
  EXPECT_EQ(first_fault("return median(i = -1..1; i > 4) ( X@[i] );"),
            "the test leaves out all elements of the window");
  EXPECT_EQ(first_fault("return sum(i = -1..1) ( X@[i] : i );"),
            "'sum' chooses no element that values could go along with");
  EXPECT_EQ(first_fault("return min(i = -1..1) ( X@[i] : i, X );"), "these are 2 values: expected one of them");
  EXPECT_EQ(first_fault("k = min(i = -1..1) ( X@[i] : i, X ); return k;"), "these are 2 values: expected one of them");
  EXPECT_EQ(first_fault("k = min(i = -1..1) ( X@[i] : i, X ); return k.2;"), "there is no value 2: expected .0 to .1");
  EXPECT_EQ(first_fault("return rank(i = -1..1) ( X@[i] );"), "expected ';' after the rank, found '='");
  EXPECT_EQ(first_fault("return argmax(X);"), "unknown function 'argmax'");
  EXPECT_EQ(check_text("vector#2 float x[3,4]; return argmax(x);")[0].message,
            "this is a position, an index for each dimension: expected one of them");
  EXPECT_EQ(check_text("vector#2 float x[3,4]; return argmax(x).2;")[0].message,
            "there is no index '2': expected .0 to .1, one for each dimension");
}

}  // namespace
}  // namespace tessera::lang::testing
