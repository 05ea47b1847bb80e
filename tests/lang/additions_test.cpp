// What Tessera adds to the published language, with values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

TEST(Additions, Types) {
  EXPECT_EQ(value("cast<uint16>(a)", "int a", {-1}).values, Values{65535});
  EXPECT_EQ(value("cast<uint32>(a)", "int a", {-1}).values, Values{4294967295.0});
  EXPECT_EQ(value("cast<bool>(a)", "int a", {7}).type, "bool");
  EXPECT_EQ(value("cast<bool>(a)", "int a", {7}).values, Values{1});
  EXPECT_EQ(value("cast<half>(a)", "float a", {0.1F}).values, Values{0.0999755859375});
  EXPECT_EQ(value("cast<int32>(a) + b", "uint8 a, uint16 b", {200, 60000}).values, Values{60200});
  EXPECT_EQ(value("a + b", "half a, half b", {1, 2}).type, "float");
  EXPECT_EQ(value("a + b", "uint32 a, int b", {1, 2}).type, "uint32");
}

TEST(Additions, SaturateRoundsHalfToEvenAndClamps) {
  EXPECT_EQ(value("saturate<uint8>(a)", "float a", {2.5}).values, Values{2});
  EXPECT_EQ(value("saturate<uint8>(a)", "float a", {3.5}).values, Values{4});
  EXPECT_EQ(value("saturate<uint8>(a)", "float a", {300}).values, Values{255});
  EXPECT_EQ(value("saturate<uint8>(a)", "int a", {-3}).values, Values{0});
  EXPECT_EQ(value("saturate<bool>(a)", "float a", {-3}).values, Values{0});
  EXPECT_EQ(value("saturate<bool>(a)", "float a", {0.5}).values, Values{0});
  EXPECT_EQ(value("saturate<bool>(a)", "float a", {0.7}).values, Values{1});
  EXPECT_EQ(value("saturate<bool>(a)", "int a", {7}).values, Values{1});
  EXPECT_EQ(value("saturate<int16>(a)", "double a", {-1e9}).values, Values{-32768});
  EXPECT_EQ(value("saturate<uint8>(a)", "float a", {3}).type, "uint8");
}

TEST(Additions, Operators) {
  EXPECT_EQ(value("a % b", "int a, int b", {-7, 3}).values, Values{-1});
  EXPECT_EQ(value("a && b", "int a, float b", {2, 0.5}).values, Values{1});
  EXPECT_EQ(value("a && b || !a", "int a, int b", {2, 0}).values, Values{0});
  EXPECT_EQ(value("!a", "float a", {0}).values, Values{1});
  EXPECT_EQ(value("!a", "float a", {0}).type, "int32");
  EXPECT_EQ(value("a & b | 8", "int a, int b", {6, 3}).values, Values{10});
  EXPECT_EQ(value("~a", "int a", {5}).values, Values{-6});
  EXPECT_EQ(value("a << 3", "int a", {5}).values, Values{40});
  EXPECT_EQ(value("a >> 1", "int a", {-5}).values, Values{-3});
  EXPECT_EQ(value("a>>1", "uint32 a", {4294967295.0}).values, Values{2147483647});
  EXPECT_EQ(value("xor(a, b)", "int a, int b", {6, 3}).values, Values{5});
  EXPECT_EQ(value("1 + 2 << 1 < 7 == 1 & 1", "", {}).values, Values{1});  // ((((1+2) << 1) < 7) == 1) & 1
}

TEST(Additions, Literals) {
  EXPECT_EQ(value("a & 0xff", "int a", {0x1234}).values, Values{0x34});
  EXPECT_EQ(value("a & 0XF0", "int a", {0xff}).values, Values{0xf0});
  EXPECT_EQ(value("0x7fffffff", "", {}).type, "int32");
  EXPECT_EQ(value("0xffffffff", "", {}).type, "uint32");
  EXPECT_EQ(value("4294967295", "", {}).values, Values{4294967295.0});
  EXPECT_EQ(value("2147483648", "", {}).type, "uint32");
  EXPECT_EQ(value("-2147483648", "", {}).type, "int32");
  EXPECT_EQ(value("-2147483648", "", {}).values, Values{-2147483648.0});
  EXPECT_EQ(value("0x1f + 0xF", "", {}).values, Values{46});
}

TEST(Additions, FunctionsOfIntegers) {
  EXPECT_EQ(value("popcount(a)", "int a", {-1}).values, Values{32});
  EXPECT_EQ(value("popcount(a)", "uint32 a", {0x80000001}).values, Values{2});
  EXPECT_EQ(value("popcount(a)", "int16 a", {-1}).values, Values{16});
  EXPECT_EQ(value("popcount(a)", "uint8 a", {0xb5}).values, Values{5});
  EXPECT_EQ(value("popcount(a)", "bool a", {1}).values, Values{1});
  EXPECT_EQ(value("popcount(a)", "int a", {0}).type, "int32");
  EXPECT_EQ(value("clz(a)", "int a", {0}).values, Values{32});
  EXPECT_EQ(value("clz(a)", "int a", {1}).values, Values{31});
  EXPECT_EQ(value("clz(a)", "int a", {-1}).values, Values{0});
  EXPECT_EQ(value("clz(a)", "uint8 a", {1}).values, Values{7});
  EXPECT_EQ(value("clz(a)", "uint16 a", {0}).values, Values{16});
  EXPECT_EQ(value("clz(a)", "int16 a", {-5}).values, Values{0});
  const auto signed_pairs = {std::pair{-2147483648.0, -2147483648.0},
                             {2147483647.0, -2147483648.0},
                             {-1.0, 1.0},
                             {-3.0, -5.0},
                             {123456789.0, -987654321.0}};
  for (const auto& [a, b] : signed_pairs) {
    const std::int64_t x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    EXPECT_EQ(value("mulhi(a, b)", "int a, int b", {a, b}).values, Values{static_cast<double>((x * y) >> 32)});
    EXPECT_EQ(value("hadd(a, b)", "int a, int b", {a, b}).values, Values{static_cast<double>((x + y) >> 1)});
    EXPECT_EQ(value("rhadd(a, b)", "int a, int b", {a, b}).values, Values{static_cast<double>((x + y + 1) >> 1)});
  }
  for (const double a : {0.0, 1.0, 65536.0, 4294967295.0, 2863311530.0})
    for (const double b : {1.0, 65535.0, 4294967295.0, 305419896.0}) {
      const std::uint64_t x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
      EXPECT_EQ(value("mulhi(a, b)", "uint32 a, uint32 b", {a, b}).values, Values{static_cast<double>((x * y) >> 32)});
      EXPECT_EQ(value("rhadd(a, b)", "uint32 a, uint32 b", {a, b}).values,
                Values{static_cast<double>((x + y + 1) >> 1)});
    }
  EXPECT_EQ(value("mulhi(a, b)", "uint16 a, uint16 b", {65535, 65535}).values, Values{65534});
  EXPECT_EQ(value("mulhi(a, b)", "int16 a, int16 b", {-32768, 32767}).values, Values{-16384});
  EXPECT_EQ(value("mulhi(a, b)", "uint8 a, uint8 b", {200, 200}).values, Values{156});
  EXPECT_EQ(value("rhadd(a, b)", "uint8 a, uint8 b", {255, 254}).values, Values{255});
  EXPECT_EQ(value("hadd(a, b)", "uint8 a, uint8 b", {255, 254}).values, Values{254});
  EXPECT_EQ(value("hadd(a, b)", "uint8 a, uint8 b", {1, 2}).type, "uint8");
  EXPECT_EQ(value("hadd(a, b)", "int16 a, int16 b", {-3, -4}).values, Values{-4});
}

TEST(Additions, MoreFunctions) {
  EXPECT_EQ(value("clamp(a, 0, 10)", "int a", {12}).values, Values{10});
  EXPECT_EQ(value("round(a) + trunc(a)", "float a", {2.5}).values, Values{5});
  EXPECT_EQ(value("hypot(a, 4)", "double a", {3}).values, Values{5});
  EXPECT_EQ(value("fmod(a, 3)", "double a", {7.5}).values, Values{1.5});
  EXPECT_EQ(value("cbrt(a)", "double a", {27}).values, Values{3});
  EXPECT_EQ(value("exp2(a) + log2(a) + log10(a)", "double a", {1}).values, Values{2});
}

TEST(Additions, ScalarFunctions) {
  const char* text = R"(
function float luma(float r, float g, float b) { s = 2*g; return r + s + 4*b; }
function int twice(int a) { return a + a; }
function int four_times(int a) { return twice(twice(a)); }
stencil f(vector#1 float X) { return luma(X, X@[1], 0.5) + four_times(cast<int>(X)); }
stencil g(vector#1 float X) { return twice(2.75); }
vector#1 float x[3];
return a = f(x:clamped), b = g(x);
)";
  const auto r = run_all(text, {floats({1, 2, 3})});
  EXPECT_EQ(r[0].values, (Values{1 + 4 + 2 + 4, 2 + 6 + 2 + 8, 3 + 6 + 2 + 12}));
  EXPECT_EQ(r[1].type, "int32");
  EXPECT_EQ(r[1].values, (Values{4, 4, 4}));
}

TEST(Additions, WholeImagesAreReducedToScalars) {
  const char* text = R"(
struct two { uint8 a; half b; }
stencil less(vector#2 float X, float by) { return X - by; }
stencil above(vector#2 float X, double t) { return cast<uint8>(X > t); }
function float middle(float a, float b) { return (a + b) / 2; }
vector spread(vector#2 float X) { return max(X) - min(X); }
vector centred(vector#2 float X) { m = mean(X); return less(X, m); }
vector#2 float x[2,3];
vector#2 two y[1,2];
float k;
t<0> = mean(x);
for i = 1..2 t<i> = mean(less(x, t<i-1>)) + k; endfor
return lo = min(x), total = sum(x), c = centred(x), s = spread(x), n = sum(above(x, middle(min(x), max(x)))),
       t = t<2>, b = max(y.b), a = sum(y.a), two = max(min(x), k, 7), cast_ = cast<int>(mean(x) * 10), f = less(x, spread(x));
)";
  const Array pairs(Format::record("two", {{"a", ElementType::u8}, {"b", ElementType::f16}}), {1, 2});
  pairs.at(std::vector<i64>{0, 0})[0] = std::byte{200};
  pairs.at(std::vector<i64>{0, 1})[0] = std::byte{100};
  const auto r = run_all(text, {floats({2, 3}, {1, 2, 3, 4, 5, 9}), pairs, scalar(0.5)});
  EXPECT_EQ(r[0].type, "float");
  EXPECT_EQ(r[0].shape, Shape{1});
  EXPECT_EQ(r[0].values, Values{1});
  EXPECT_EQ(r[1].type, "double");
  EXPECT_EQ(r[1].values, Values{24});
  EXPECT_EQ(r[2].values, (Values{-3, -2, -1, 0, 1, 5}));
  EXPECT_EQ(r[3].values, Values{8});
  EXPECT_EQ(r[4].values, Values{1});
  EXPECT_EQ(r[5].values, Values{4});  // the mean less (the mean less the mean, and a half), and a half
  EXPECT_EQ(r[6].type, "half");
  EXPECT_EQ(r[7].values, Values{300});
  EXPECT_EQ(r[8].values, Values{7});
  EXPECT_EQ(r[9].type, "int32");
  EXPECT_EQ(r[9].values, Values{40});
  EXPECT_EQ(r[10].values, (Values{-7, -6, -5, -4, -3, 1}));
}

TEST(Additions, ReductionsPassOverNans) {
  const char* text = "vector#1 float x[N]; parameter N; return lo = min(x), hi = max(x), s = sum(x);";
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  auto r = run_all(text, {floats({3, nan, -2, nan})});
  EXPECT_EQ(r[0].values, Values{-2});
  EXPECT_EQ(r[1].values, Values{3});
  EXPECT_TRUE(std::isnan(r[2].values[0]));
  r = run_all(text, {floats({nan})});
  EXPECT_EQ(r[1].values, Values{-std::numeric_limits<double>::infinity()});
}

TEST(Additions, AFunctionNamedLikeAReductionComesFirst) {
  const char* text =
      "stencil sum(vector#1 float X) { return X + 1; } vector#1 float x[2]; return a = sum(x), b = max(sum(x));";
  const auto r = run_all(text, {floats({1, 2})});
  EXPECT_EQ(r[0].values, (Values{2, 3}));
  EXPECT_EQ(r[1].values, Values{3});
}

TEST(Additions, WindowReductions) {
  const char* text = R"(
parameter int r = 1;
table float K[3,3] = {{1,0,0},{0,2,0},{0,0,4}};
stencil conv(vector#2 float X) { return sum(i = -r..r, j = -r..r) (K[i+r, j+r] * X@[i,j]); }
stencil biggest(vector#2 float X) { return max(i = -1..1, j = 0..0) ( X@[i,j] ); }
stencil middle(vector#2 float X) { return median(j = -1..1) ( X@[0,j] ); }
stencil product(vector#2 float X) { return prod(j = 0..1) ( X@[0,j] ); }
stencil some(vector#2 float X) { return any(j = -1..1) ( X@[0,j] > 8 ); }
stencil every(vector#2 float X) { return all(j = -1..1) ( X@[0,j] > 3 ); }
stencil smallest(vector#2 float X) { return min(i = -1..1, j = -1..1) ( X@[i,j] ); }
stencil weighted(vector#2 float X) { return sum(j = -1..1) ( j * X@[0,2*j/1] ); }
vector#2 float x[3,3];
return a = conv(x), b = biggest(x:clamped), c = middle(x:mirror), d = product(x:clamped), e = some(x:clamped),
       f = every(x:clamped), g = smallest(x), h = weighted(x:wrap);
)";
  const auto r = run_all(text, {floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})});
  EXPECT_EQ(r[0].values, (Values{0, 0, 0, 0, 1 + 10 + 36, 0, 0, 0, 0}));
  EXPECT_EQ(r[1].values, (Values{4, 5, 6, 7, 8, 9, 7, 8, 9}));
  EXPECT_EQ(r[2].values, (Values{2, 2, 2, 5, 5, 5, 8, 8, 8}));
  EXPECT_EQ(r[3].values, (Values{2, 6, 9, 20, 30, 36, 56, 72, 81}));
  EXPECT_EQ(r[4].type, "int32");
  EXPECT_EQ(r[4].values, (Values{0, 0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(r[5].values, (Values{0, 0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(r[6].values, (Values{0, 0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(r[7].values, (Values{1, -2, 1, 1, -2, 1, 1, -2, 1}));  // x[c+2] - x[c-2] modulo 3
}

TEST(Additions, ReductionsStayOneOperation) {
  const Compiled c = compile_text(
      "stencil f(vector#2 float X) { return sum(i = -50..50, j = -50..50) ( X@[i,j] ) / (101 * 101); }\n"
      "parameter M, N; vector#2 float x[M,N]; return f(x:mirror);");
  EXPECT_LT(c.graph.expr_count(), 20U);
}

TEST(Additions, ReductionsOfNarrowTypes) {
  const char* text = R"(
stencil total(vector#1 uint8 X) { return sum(i = -1..1) ( X@[i] ); }
stencil middle(vector#1 uint8 X) { return median(i = -1..1) ( X@[i] ); }
vector#1 uint8 x[3];
return a = total(x:clamped), b = middle(x:clamped);
)";
  const auto r = run_all(text, {array<std::uint8_t>({3}, {200, 250, 100})});
  EXPECT_EQ(r[0].type, "int32");
  EXPECT_EQ(r[0].values, (Values{650, 550, 450}));
  EXPECT_EQ(r[1].type, "uint8");
  EXPECT_EQ(r[1].values, (Values{200, 200, 100}));
}

TEST(Additions, NestedReductionsAndSharedWindows) {
  const char* text = R"(
stencil variance(vector#1 float X) {
  m = sum(i = -1..1) ( X@[i] ) / 3;
  return sum(i = -1..1) ( (X@[i] - m) * (X@[i] - m) );
}
stencil patches(vector#1 float X) { return sum(i = -1..1) ( max(j = 0..1) ( X@[i+j] ) ); }
stencil coarse(vector#1 float X) { return sum(i = 0..1) ( X@[(i,2)] ); }
vector#1 float x[4];
return a = variance(x:wrap), b = patches(x:clamped), c = coarse(x);
)";
  const auto r = run_all(text, {floats({1, 4, 7, 10})});
  EXPECT_EQ(r[0].values, (Values{42, 18, 18, 42}));
  EXPECT_EQ(r[1].values, (Values{1 + 4 + 7 - 0, 4 + 7 + 10, 7 + 10 + 10, 10 + 10 + 10}));
  EXPECT_EQ(r[2].values, (Values{5, 0}));  // the interior rule of mode none leaves the last point out
}

TEST(Additions, Tables) {
  const char* text = R"(
parameter int r = 2;
parameter float s = 1;
table float k[5] = {1,4,6,4,1};
table uint8 gamma[4] = {0, 10, 100, 255,};
table int q[2,2] = {1, 2, 3, 4};
table double e[i = -r..r] = i * i / s;
table double n[i = -r..r] = e[i+r] / sum(j = -r..r) ( e[j+r] );
table int grid[i = 0..1, j = 1..3] = 10*i + j;
stencil smooth(vector#1 float X) { return sum(i = -2..2) ( k[i+2] * X@[i] ) / 16; }
stencil map(vector#1 float X) { return gamma[cast<int>(X)]; }
stencil entries(vector#1 float X) { return q[1,0] * 1000 + grid[1,0] + e[0] + n[4]; }
vector#1 float x[4];
return a = smooth(x:clamped), b = map(x), c = entries(x);
)";
  const Array x = floats({1, 2, 3, -4});
  auto r = run_all(text, {x});
  EXPECT_EQ(r[0].values, (Values{(1 + 4 + 6 + 8 + 3) / 16.0, (1 + 4 + 12 + 12 - 4) / 16.0, (1 + 8 + 18 - 16 - 4) / 16.0,
                                 (2 + 12 - 24 - 16 - 4) / 16.0}));
  EXPECT_EQ(r[1].type, "uint8");
  EXPECT_EQ(r[1].values, (Values{10, 100, 255, 0}));
  EXPECT_EQ(r[2].values[0], 3000 + 11 + 4 + 0.4);
  r = run_all(text, {x}, {{"s", 2}});
  EXPECT_EQ(r[2].values[0], 3000 + 11 + 2 + 0.4);
}

TEST(Additions, ComputedTablesUseTheSameArithmetic) {
  const Compiled c = compile_text(R"(
function float gauss(float x, float s) { return exp(-x*x / (2*s*s)); }
parameter float sigma = 1.5;
parameter int r = 3;
table float g[k = -r..r] = gauss(k, sigma);
table float med[k = 0..0] = median(i = 0..4) ( g[i] ) + max(i = 0..6) ( g[i] ) + prod(i = 1..3) ( i );
table int flags[k = 0..3] = any(i = 0..1) ( k == i ) + 2 * all(i = 0..1) ( k > i );
stencil f(vector#1 float X) { return sum(k = -r..r) ( g[k+r] * X@[k] ) + med[0] + flags[0]; }
vector#1 float x[9];
return f(x);
)");
  ASSERT_EQ(c.graph.tables.size(), 3U);
  EXPECT_EQ(c.graph.tables[0].extents, (std::vector<i64>{7}));
  EXPECT_NEAR(c.graph.tables[0].values[0], std::exp(-9 / 4.5), 1e-7);
  EXPECT_EQ(c.graph.tables[0].values[3], 1);
  EXPECT_EQ(c.graph.tables[0].values[0], static_cast<double>(static_cast<float>(c.graph.tables[0].values[0])));
  EXPECT_NEAR(c.graph.tables[1].values[0], std::exp(-1 / 4.5) + 1 + 6, 1e-6);
  EXPECT_EQ(c.graph.tables[2].values, (Values{1, 1, 2, 2}));
}

TEST(Additions, CompileTimeParameters) {
  const char* text = R"(
parameter int r = 2;
parameter float s = 1.5;
parameter int n = 2*r + 1, M;
stencil f(vector#1 float X) { return X@[r] * s + n; }
vector#1 float x[M];
return f(x:constant(0));
)";
  EXPECT_EQ(run(text, {floats({1, 2, 3})}).values, (Values{9.5, 5, 5}));
  EXPECT_EQ(run(text, {floats({1, 2, 3})}, {{"r", 1}, {"s", 0.25}}).values, (Values{3.5, 3.75, 3}));
  const Compiled c = compile_text(text, {{"M", 7}});
  EXPECT_TRUE(c.graph.parameters.empty());
  ASSERT_EQ(c.parameters.size(), 4U);
  EXPECT_EQ(c.parameters[1].name, "s");
  EXPECT_EQ(c.parameters[1].value, 1.5);
  EXPECT_EQ(c.parameters[3].value, 7);
}

TEST(Additions, RunTimeParametersInStencils) {
  const char* text = R"(
parameter N;
stencil f(vector#1 float X, int k) { return X + 10 * N + k; }
vector#1 float x[N];
return f(x, N);
)";
  EXPECT_EQ(run(text, {floats({1, 2})}).values, (Values{23, 24}));
}

TEST(Additions, Coordinates) {
  const char* text = R"(
stencil f(vector#2 float X) { return 100 * coord(0) + 10 * coord(1) + extent(0) * extent(1); }
vector#2 float x[2,3];
return f(x);
)";
  EXPECT_EQ(run(text, {floats({2, 3}, {0, 0, 0, 0, 0, 0})}).values, (Values{6, 16, 26, 106, 116, 126}));
}

TEST(Additions, SymmetricAndModesPerDimension) {
  const char* text = R"(
stencil f(vector#1 float X) { return X@[-2]; }
stencil g(vector#2 float X) { return 10 * X@[-1,0] + X@[0,1]; }
vector#1 float x[3];
vector#2 float y[2,2];
return a = f(x:symmetric), b = g(y:[clamped,wrap]), c = g(y:[constant(5),none]), d = g(y:none);
)";
  const auto r = run_all(text, {floats({1, 2, 3}), floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(r[0].values, (Values{2, 1, 1}));
  EXPECT_EQ(r[1].values, (Values{12, 21, 14, 23}));
  EXPECT_EQ(r[2].values, (Values{52, 0, 14, 0}));
  EXPECT_EQ(r[3].values, (Values{0, 0, 14, 0}));
}

TEST(Additions, ModesOnVectorFunctionArguments) {
  const char* text = R"(
stencil left(vector#1 float X) { return X@[-1]; }
vector f(vector#1 float X) { return left(X); }
vector g(vector#1 float X) { return f(X); }
vector h(vector#1 float X) { return X@[(-1,2)]; }
vector k(vector#1 float X) { return left(X:wrap); }
vector#1 float x[4];
return a = f(x:clamped), b = g(x:wrap), c = h(x:clamped), d = k(x:clamped), e = f(x);
)";
  const auto r = run_all(text, {floats({1, 2, 3, 4})});
  EXPECT_EQ(r[0].values, (Values{1, 1, 2, 3}));
  EXPECT_EQ(r[1].values, (Values{4, 1, 2, 3}));
  EXPECT_EQ(r[2].values, (Values{1, 2}));
  EXPECT_EQ(r[3].values, (Values{4, 1, 2, 3}));  // the mode of the call itself wins
  EXPECT_EQ(r[4].values, (Values{0, 1, 2, 3}));
}

TEST(Additions, SeveralOutputs) {
  const Compiled c = compile_text(
      "struct s { float a; int b; }\nstencil f(vector#1 float X) { return struct s(X, 1); }\n"
      "vector#1 float x[2];\ny = f(x);\nreturn edges = y, magnitude = y.a, source = x;");
  ASSERT_EQ(c.graph.outputs.size(), 3U);
  EXPECT_EQ(c.graph.outputs[0].name, "edges");
  EXPECT_EQ(c.graph.outputs[0].format.name(), "struct s");
  EXPECT_EQ(c.graph.outputs[0].stages.size(), 2U);
  EXPECT_EQ(c.graph.outputs[1].name, "magnitude");
  EXPECT_EQ(c.graph.outputs[1].stages[0], c.graph.outputs[2].stages[0]);  // a plain copy is the image itself
}

TEST(Additions, ALowerRankIsRepeatedAlongLeadingDimensions) {
  const char* text = R"(
stencil add(vector#2 float A, vector#1 float B) { return A + B@[1]; }
stencil both(vector#2 float A, vector#2 float B) { return A * B; }
vector#2 float a[2,3];
vector#1 float b[3];
return p = add(a, b:clamped), q = both(a, b);
)";
  const auto r = run_all(text, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({10, 20, 30})});
  EXPECT_EQ(r[0].values, (Values{21, 32, 33, 24, 35, 36}));
  EXPECT_EQ(r[1].values, (Values{10, 40, 90, 40, 100, 180}));
}

TEST(Additions, WordsOfPartTwoAreOrdinaryNames) {
  const char* text = R"(
stencil sum(vector#1 float X) { half = X + 1; table = half * 2; return table; }
vector#1 float import[1];
function = sum(import);
bool = sum(function);
return bool;
)";
  EXPECT_EQ(run(text, {floats({1})}).values, Values{10});
}

TEST(Additions, VectorFunctionsWithCompileTimeArguments) {
  const char* text = R"(
stencil twice(vector#1 float X) { return 2 * X; }
stencil shift(vector#1 float X, int k) { return X@[k]; }
vector times(vector#1 float X, int n) {
  u<0> = X;
  for i = 1..n
    u<i> = twice(u<i-1>);
  endfor
  return u<n>;
}
vector#1 float x[3];
y = x;
for i = 1..3 y = twice(y); endfor
return a = times(x, 4), b = shift(x:wrap, 2-1), c = y;
)";
  const auto r = run_all(text, {floats({1, 2, 3})});
  EXPECT_EQ(r[0].values, (Values{16, 32, 48}));
  EXPECT_EQ(r[1].values, (Values{2, 3, 1}));
  EXPECT_EQ(r[2].values, (Values{8, 16, 24}));
}

TEST(Additions, EqualStagesAreMadeOnce) {
  const Compiled c = compile_text(
      "stencil f(vector#1 float X) { return X@[1] - X@[-1]; }\n"
      "stencil mul(vector#1 float A, vector#1 float B) { return A * B; }\n"
      "vector square(vector#1 float X) { return mul(f(X:mirror), f(X:mirror)); }\n"
      "parameter N; vector#1 float x[N]; return square(x);");
  EXPECT_EQ(c.graph.stage_count(), 3U);
}

TEST(Additions, StagesKeepTheNamesOfTheProgram) {
  const Compiled c = compile_text(
      "struct s { float a; float b; }\nstencil f(vector#1 float X) { return struct s(X@[1], X@[2]); }\n"
      "stencil g(vector#1 float X) { return X * 2; }\n"
      "vector#1 float x[9];\npair = f(x);\nu<1> = g(g(pair.a));\nreturn u<1>;");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.graph.stage_count(); ++i)
    names.push_back(c.graph.stage(static_cast<ir::StageId>(i)).name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "pair.a", "pair.b", "g", "u<1>"}));
  EXPECT_EQ(c.graph.stage(4).span.line, 6);
  EXPECT_EQ(c.graph.stage(4).span.column, 8);
}

// ---- imports --------------------------------------------------------------------------------------------------------

class Imports : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tessera_imports_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "lib");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  CompileInput input(const std::string& text) const {
    CompileInput in;
    in.text = text;
    in.file_name = "main.forma";
    in.imports_relative_to = folder_.string();
    return in;
  }
  std::filesystem::path folder_;
};

TEST_F(Imports, StencilsFunctionsTablesAndParameters) {
  write("gauss.forma",
        "import \"lib/weights.forma\";\nstencil smooth(vector#1 float X) { return sum(i = -r..r) "
        "( w[i+r] * X@[i] ); }\n");
  write("lib/weights.forma",
        "import \"../gauss.forma\";\nparameter int r = 1;\ntable float w[i = -r..r] = weight(i);\n"
        "function float weight(int i) { return 1.0 / (1 + abs(i)); }\n");
  const std::string program =
      "import \"gauss.forma\";\nimport \"lib/weights.forma\";\nvector#1 float x[8];\n"
      "return smooth(x);";
  CompileInput in = input(program);
  Compiled c = compile(in);
  EXPECT_EQ(c.graph.tables[0].values, (Values{0.5, 1, 0.5}));
  in.parameters["r"] = 2;
  c = compile(in);
  EXPECT_EQ(c.graph.tables[0].values.size(), 5U);
  in.parameters.clear();
  in.text = "parameter int r = 3;\n" + program;  // the program's own value replaces the imported one
  c = compile(in);
  EXPECT_EQ(c.graph.tables[0].values.size(), 7U);
}

TEST_F(Imports, Faults) {
  write("broken.forma", "stencil f(vector#1 float X) {\n  return Y;\n}\n");
  std::vector<Diagnostic> d = check(input("import \"broken.forma\";\nvector#1 float x[3]; return f(x);"));
  ASSERT_EQ(d.size(), 1U);
  EXPECT_NE(d[0].span.file.find("broken.forma"), std::string::npos);
  EXPECT_EQ(d[0].span.line, 2);
  d = check(input("import \"missing.forma\";\nvector#1 float x[3]; return f(x);"));
  ASSERT_EQ(d.size(), 1U);
  EXPECT_NE(d[0].message.find("cannot find 'missing.forma'"), std::string::npos);
  EXPECT_NE(d[0].notes.at(0).find("missing.forma"), std::string::npos);
}

TEST_F(Imports, OfAnImportedProgramOnlyTheDeclarationsCount) {
  write("whole.forma",
        "parameter M, k = 3;\nstencil f(vector#1 float X) { return X * k; }\nvector#1 float y[M];\n"
        "z = f(y);\nreturn f(z);\n");
  const Compiled c = compile(input("import \"whole.forma\";\nparameter M;\nvector#1 float x[2*M];\nreturn f(x);"));
  EXPECT_EQ(c.graph.stage_count(), 2U);
  EXPECT_EQ(c.graph.parameters, (std::vector<std::string>{"M"}));
  EXPECT_EQ(c.graph.arguments.size(), 1U);
}

TEST_F(Imports, SearchPaths) {
  write("lib/k.forma", "table float k[1] = {2};\n");
  CompileInput in;
  in.text = "import \"k.forma\";\nstencil f(vector#1 float X) { return X * k[0]; }\nvector#1 float x[3]; return f(x);";
  EXPECT_THROW(compile(in), Error);
  in.import_paths = {folder_.string(), (folder_ / "lib").string()};
  const Compiled found = compile(in);
  EXPECT_EQ(found.graph.tables.size(), 1U);
  EXPECT_EQ(found.imports, (std::vector<std::string>{(folder_ / "lib/k.forma").string()}));
}

// Of a file outside nothing is read, quoted, or told.
TEST_F(Imports, ConfinedToFolders) {
  namespace fs = std::filesystem;
  fs::create_directories(folder_ / "in");
  const std::string fine = "stencil f(vector#1 float X) { return X; }\n";
  write("in/f.forma", fine);
  write("secret.forma", "password 12345\n");
  fs::create_symlink(folder_ / "secret.forma", folder_ / "in/link.forma");
  fs::create_symlink(folder_ / "in", folder_ / "way");
  const auto outcome = [&](const std::string& path) {
    CompileInput in = input("import \"" + path + "\";\nvector#1 float x[3]; return f(x);");
    in.import_only = {(folder_ / "in").string()};
    std::string all;
    for (const Diagnostic& d : check(in)) all += d.render();
    return all;
  };
  EXPECT_EQ(outcome("in/f.forma"), "");
  EXPECT_EQ(outcome("in/../in/f.forma"), "");
  fs::create_symlink(folder_ / "in", folder_ / "in/round");
  fs::create_symlink("../in/f.forma", folder_ / "in/other.forma");
  EXPECT_EQ(outcome("in/round/f.forma"), "") << "it leads into the folder";
  EXPECT_EQ(outcome("in/other.forma"), "");
  std::vector<std::string> told;
  for (const char* path :
       {"secret.forma", "in/../secret.forma", "in/link.forma", "way/../secret.forma", "none.forma", "way/f.forma"}) {
    const std::string all = outcome(path);
    EXPECT_NE(all.find("cannot find '" + std::string(path)), std::string::npos) << all;
    EXPECT_NE(all.find("lies outside of the folders that imports are confined to"), std::string::npos) << all;
    EXPECT_EQ(all.find("password"), std::string::npos) << all;
  }
  // Neither files nor folders outside show, by whatever way the path goes on.
  fs::create_directories(folder_ / "there");
  fs::create_symlink(folder_ / "there", folder_ / "in/to_there");
  fs::create_symlink(folder_ / "gone!", folder_ / "in/to_gone!");
  const auto told_of = [&](std::string path, const std::string& name, const std::string& shown) {
    path.replace(path.find('*'), 1, name);
    std::string all = outcome(path);
    for (std::size_t at; (at = all.find(name)) != std::string::npos;) all.replace(at, name.size(), shown);
    return all;
  };
  for (const char* path : {"*/../in/f.forma", "in/../*/../in/f.forma", "in/../*/f.forma", "in/../*",
                           "in/to_*/../f.forma", "in/to_*/x.forma", "in/to_*"}) {
    const std::string all = told_of(path, "there", "_____");
    EXPECT_NE(all.find("lies outside"), std::string::npos) << path << all;
    EXPECT_EQ(all, told_of(path, "gone!", "_____")) << path;
  }
  EXPECT_NE(outcome("in/none.forma").find("looked for"), std::string::npos);
  EXPECT_NE(outcome("in/none/../f.forma"), "") << "a folder that is not there has no parent";
  EXPECT_NE(outcome((folder_ / "secret.forma").string()), "");
  EXPECT_EQ(outcome((folder_ / "in/f.forma").string()), "");
  CompileInput none = input("import \"in/f.forma\";\nvector#1 float x[3]; return f(x);");
  none.import_only.emplace();
  EXPECT_EQ(check(none).size(), 1U);
  none.text = "import \"box.forma\";\nvector#2 float x[9,9]; return box(x:mirror);";
  EXPECT_TRUE(check(none).empty()) << "the standard filters are no files";
}

}  // namespace
}  // namespace tessera::lang::testing
