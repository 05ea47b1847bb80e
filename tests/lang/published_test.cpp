// The published language, construct by construct, with values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

// ---- the paper's example --------------------------------------------------------------------------------------------

TEST(Published, BlurAveragesColumnsThenRowsOnTheInterior) {
  const char* text = R"(
stencil blurx(vector#2 float X){
    return (X@[-1,0] + X + X@[1,0])/3.0;
}
stencil blurry(vector#2 double Y){
    return (Y@[0,-1] + Y + Y@[0,1])/3.0;
}
parameter M,N;
vector#2 float input[M,N];
temp = blurx(input);
output = blurry(temp);
return output;
)";
  const Result r = run(text, {floats({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})});
  EXPECT_EQ(r.type, "double");
  EXPECT_EQ(r.shape, (Shape{4, 3}));
  // Rows 1 and 2 average three rows: 4 5 6 and 7 8 9; then only column 1 has both neighbours.
  EXPECT_EQ(r.values, (Values{0, 0, 0, 0, 5, 0, 0, 8, 0, 0, 0, 0}));
}

TEST(Published, LiteralsDecideTheType) {
  EXPECT_EQ(value("X + 1").type, "float");
  EXPECT_EQ(value("X + 1.0f").type, "float");
  EXPECT_EQ(value("X + 1.0").type, "double");
  EXPECT_EQ(value("1 + 2").type, "int32");
  EXPECT_EQ(value("12.5").values, Values{12.5});
  EXPECT_EQ(value("1e-3").values, Values{1e-3});
  EXPECT_EQ(value(".5f").values, Values{0.5});
  EXPECT_EQ(value("3.").values, Values{3});
  EXPECT_EQ(value("3f").type, "float");
  EXPECT_EQ(value("0.1f").values, Values{static_cast<double>(0.1F)});
}

TEST(Published, TheFirstIndexIsTheSlowest) {
  const char* text = R"(
stencil up(vector#2 int X) { return X@[-1,0]; }
stencil left(vector#2 int X) { return X@[0,-1]; }
vector#2 int x[2,2];
return a = up(x), b = left(x);
)";
  const auto r = run_all(text, {array<std::int32_t>({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(r[0].values, (Values{0, 0, 1, 2}));
  EXPECT_EQ(r[1].values, (Values{0, 1, 0, 3}));
}

// ---- point expressions ----------------------------------------------------------------------------------------------

TEST(Published, ArithmeticIsThatOfC) {
  EXPECT_EQ(value("a / b", "int a, int b", {7, -2}).values, Values{-3});
  EXPECT_EQ(value("a / b", "int a, int b", {7, 0}).values, Values{0});
  EXPECT_EQ(value("a - b - 1", "int a, int b", {7, 2}).values, Values{4});
  EXPECT_EQ(value("a + b * 2", "int a, int b", {7, 2}).values, Values{11});
  EXPECT_EQ(value("(a + b) * 2", "int a, int b", {7, 2}).values, Values{18});
  EXPECT_EQ(value("-a", "int a", {7}).values, Values{-7});
  EXPECT_EQ(value("- -a", "int a", {7}).values, Values{7});
  EXPECT_EQ(value("a / b", "float a, int b", {7, 2}).values, Values{3.5});
}

TEST(Published, RelationsGiveIntegers) {
  EXPECT_EQ(value("a < b", "float a, float b", {1, 2}).type, "int32");
  EXPECT_EQ(value("a < b", "float a, float b", {1, 2}).values, Values{1});
  EXPECT_EQ(value("a > b", "float a, float b", {1, 2}).values, Values{0});
  EXPECT_EQ(value("a <= b", "int a, int b", {2, 2}).values, Values{1});
  EXPECT_EQ(value("a >= b", "int a, int b", {1, 2}).values, Values{0});
  EXPECT_EQ(value("a == b", "int a, int b", {2, 2}).values, Values{1});
  EXPECT_EQ(value("a != b", "int a, int b", {2, 2}).values, Values{0});
  EXPECT_EQ(value("(a < b) + (b > a) + 5", "int a, int b", {1, 2}).values, Values{7});
  EXPECT_EQ(value("(a < b) * 2.5", "int a, int b", {1, 2}).values, Values{2.5});
}

TEST(Published, SelectNeedsNoParentheses) {
  EXPECT_EQ(value("( a < 3 ? 10 : 20 )", "int a", {1}).values, Values{10});
  EXPECT_EQ(value("a < 3 ? 10 : a < 5 ? 20 : 30", "int a", {4}).values, Values{20});
  EXPECT_EQ(value("a ? 1 : 2.5", "int a", {1}).type, "double");
  EXPECT_EQ(value("(b > a ? b : a)", "uint8 a, uint8 b", {3, 9}).type, "uint8");
}

TEST(Published, CastsConvertAsC) {
  EXPECT_EQ(value("cast<int>(a)", "float a", {-2.75}).values, Values{-2});
  EXPECT_EQ(value("cast<int8>(a)", "int a", {300}).values, Values{44});
  EXPECT_EQ(value("cast<int8>(a)", "int a", {300}).type, "uint8");
  EXPECT_EQ(value("cast<int16>(a)", "int a", {40000}).values, Values{-25536});
  EXPECT_EQ(value("cast<double>(a) / 4", "int a", {3}).values, Values{0.75});
}

TEST(Published, FunctionsTakeTheWidestType) {
  EXPECT_EQ(value("max(a, b)", "float a, float b", {1, 2}).values, Values{2});
  EXPECT_EQ(value("min(a, b)", "float a, double b", {1, 2}).type, "double");
  EXPECT_EQ(value("max(a, b)", "uint8 a, uint8 b", {200, 100}).type, "uint8");
  EXPECT_EQ(value("max(a, b)", "uint8 a, int b", {200, 100}).type, "int32");
  EXPECT_EQ(value("max(a, b, 7)", "int a, int b", {2, 3}).values, Values{7});
  EXPECT_EQ(value("sqrt(a)", "float a", {9}).values, Values{3});
  EXPECT_EQ(value("sqrtf(a)", "float a", {9}).values, Values{3});
  EXPECT_EQ(value("abs(a)", "int a", {-4}).values, Values{4});
  EXPECT_EQ(value("fabs(a) + absd(a) + fabsf(a)", "float a", {-4}).values, Values{12});
  EXPECT_EQ(value("pow(a, 3)", "double a", {2}).values, Values{8});
  EXPECT_EQ(value("floor(a) + ceil(a)", "float a", {2.5}).values, Values{5});
  EXPECT_NEAR(value("atan2(a, b)", "double a, double b", {1, 1}).values[0], 0.7853981633974483, 1e-15);
  EXPECT_NEAR(value("exp(log(a)) + sin(a) - cos(a) + tan(a) - atan(a)", "double a", {0.5}).values[0],
              0.5 + std::sin(0.5) - std::cos(0.5) + std::tan(0.5) - std::atan(0.5), 1e-14);
}

TEST(Published, LocalsAndScalarArguments) {
  const char* text = R"(
stencil f(vector#1 float X, float k) {
  d = X@[1] - X@[-1];
  e = d * k;
  return e + 1;
}
vector#1 float x[5];
float t;
return a = f(x, 0.5), b = f(x, t), c = f(x, -2);
)";
  const auto r = run_all(text, {floats({1, 2, 4, 8, 16}), scalar(10)});
  EXPECT_EQ(r[0].values, (Values{0, 2.5, 4, 7, 0}));
  EXPECT_EQ(r[1].values, (Values{0, 31, 61, 121, 0}));
  EXPECT_EQ(r[2].values, (Values{0, -5, -11, -23, 0}));
}

TEST(Published, StridedReadsShrinkTheDomain) {
  const char* text = R"(
stencil down(vector#1 float X) { return X@[(-1,2)] + X@[(0,2)] + X@[(1,2)]; }
vector#1 float x[7];
return down(x);
)";
  const Result r = run(text, {floats({1, 2, 3, 4, 5, 6, 7})});
  // n = 3; the interior is ceil(1/2) <= i <= 2 - ceil(1/2): only i = 1, reading elements 1 2 3.
  EXPECT_EQ(r.shape, (Shape{3}));
  EXPECT_EQ(r.values, (Values{0, 2 + 3 + 4, 0}));
}

TEST(Published, GatherIsAbsoluteAndClamped) {
  const char* text = R"(
stencil f(vector#1 int X, vector#1 float m) { return m[X]; }
stencil g(vector#1 int X, vector#2 float m) { return m[X, 1 - X]; }
vector#1 int x[5];
vector#1 float m[3];
vector#2 float q[2,2];
return a = f(x, m), b = g(x, q);
)";
  const auto r =
      run_all(text, {array<std::int32_t>({5}, {0, 2, 1, -7, 9}), floats({10, 20, 30}), floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(r[0].shape, (Shape{5}));  // m has 3 elements and no part in the domain
  EXPECT_EQ(r[0].values, (Values{10, 30, 20, 10, 30}));
  EXPECT_EQ(r[1].values, (Values{2, 3, 3, 2, 3}));
}

// ---- structs --------------------------------------------------------------------------------------------------------

TEST(Published, StructsInAndOut) {
  const char* text = R"(
struct rgb { float r; float g; float b; }
struct pair { float lo; float hi; }
stencil luma(vector#1 rgb X) { return X.r + 2*X.g + 4*X@[1].b; }
stencil range(vector#1 rgb X) { return struct pair(min(X.r, X.g), max(X.r, X.g)); }
vector#1 rgb x[3];
l = luma(x:clamped);
p = range(x);
back = struct rgb(x.b, l, p.hi);
return l = l, p = p, back = back, g = x.g;
)";
  Array x(Format::record("rgb", {{"r", ElementType::f32}, {"g", ElementType::f32}, {"b", ElementType::f32}}), {3});
  for (int i = 0; i < 9; ++i) x.as<float>()[i] = static_cast<float>(i);
  const auto r = run_all(text, {x});
  EXPECT_EQ(r[0].values, (Values{0 + 2 + 20, 3 + 8 + 32, 6 + 14 + 32}));
  EXPECT_EQ(r[1].type, "struct pair");
  EXPECT_EQ(r[1].values, (Values{0, 1, 3, 4, 6, 7}));
  EXPECT_EQ(r[2].values, (Values{2, 22, 1, 5, 43, 4, 8, 52, 7}));
  EXPECT_EQ(r[3].values, (Values{1, 4, 7}));
}

// ---- boundary modes -------------------------------------------------------------------------------------------------

Values bordered(const std::string& mode, int offset) {
  const std::string at = std::to_string(offset);
  return run("stencil f(vector#1 float X) { return X@[" + at + "]; }\nvector#1 float x[4];\nreturn f(x" + mode + ");",
             {floats({1, 2, 3, 4})})
      .values;
}

TEST(Published, BoundaryModes) {
  EXPECT_EQ(bordered("", 1), (Values{2, 3, 4, 0}));
  EXPECT_EQ(bordered(":clamped", -2), (Values{1, 1, 1, 2}));
  EXPECT_EQ(bordered(":extend", 3), (Values{4, 4, 4, 4}));
  EXPECT_EQ(bordered(":mirror", -2), (Values{3, 2, 1, 2}));
  EXPECT_EQ(bordered(":mirror", 3), (Values{4, 3, 2, 1}));
  EXPECT_EQ(bordered(":wrap", -1), (Values{4, 1, 2, 3}));
  EXPECT_EQ(bordered(":constant(7)", 2), (Values{3, 4, 7, 7}));
  EXPECT_EQ(bordered(":constant(0.5)", -1), (Values{0.5, 1, 2, 3}));
  EXPECT_EQ(bordered(":constant(-1)", -1), (Values{-1, 1, 2, 3}));
  EXPECT_EQ(bordered(":mirror", 100), (Values{3, 2, 1, 2}));  // period 6: 100 is 4, which reflects to 2
}

TEST(Published, OnlyArgumentsWithoutAModeRestrict) {
  const char* text = R"(
stencil f(vector#1 float A, vector#1 float B) { return A@[1] + B@[-2]; }
vector#1 float a[5];
vector#1 float b[5];
return p = f(a, b), q = f(a:clamped, b), r = f(a, b:clamped), s = f(a:clamped, b:clamped);
)";
  const auto r = run_all(text, {floats({1, 2, 3, 4, 5}), floats({10, 20, 30, 40, 50})});
  EXPECT_EQ(r[0].values, (Values{0, 0, 14, 25, 0}));
  EXPECT_EQ(r[1].values, (Values{0, 0, 14, 25, 35}));
  EXPECT_EQ(r[2].values, (Values{12, 13, 14, 25, 0}));
  EXPECT_EQ(r[3].values, (Values{12, 13, 14, 25, 35}));
}

TEST(Published, ABoundaryOnAnIntermediateIsOnItsOwnDomain) {
  // The gradient is odd: running it on mirrored input would change its sign at the border.
  const char* text = R"(
stencil grad(vector#1 float X) { return X@[1] - X@[-1]; }
stencil left(vector#1 float X) { return X@[-1]; }
vector#1 float x[4];
g = grad(x:mirror);
return left(g:mirror);
)";
  // g = 0 3 5 0 for 1 2 4 7; mirrored: g[-1] = g[1]
  EXPECT_EQ(run(text, {floats({1, 2, 4, 7})}).values, (Values{3, 0, 3, 5}));
}

TEST(Published, TheSameImageWithTwoModes) {
  const char* text = R"(
stencil f(vector#1 float A, vector#1 float B) { return 10 * A@[-1] + B@[-1]; }
vector#1 float x[3];
return f(x:clamped, x:wrap);
)";
  EXPECT_EQ(run(text, {floats({1, 2, 3})}).values, (Values{13, 11, 22}));
}

TEST(Published, TheDomainIsTheSmallest) {
  const char* text = R"(
stencil f(vector#2 float A, vector#2 float B) { return A + B; }
vector#2 float a[2,3];
vector#2 float b[3,2];
return f(a, b);
)";
  const Result r = run(text, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3, 2}, {10, 20, 30, 40, 50, 60})});
  EXPECT_EQ(r.shape, (Shape{2, 2}));
  EXPECT_EQ(r.values, (Values{11, 22, 34, 45}));
}

// ---- rearranging ----------------------------------------------------------------------------------------------------

TEST(Published, SubDomains) {
  const char* text = R"(
parameter M, N;
vector#2 float a[M,N];
return p = a[1..M-2, 2..], q = a[..1, ..], r = a[2, ..], s = a[M-1.., 0], t = a[1..2, 1..2][1, 0..1];
)";
  const Array a = floats({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const auto r = run_all(text, {a});
  EXPECT_EQ(r[0].shape, (Shape{2, 1}));
  EXPECT_EQ(r[0].values, (Values{6, 9}));
  EXPECT_EQ(r[1].values, (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(r[2].shape, (Shape{1, 3}));
  EXPECT_EQ(r[2].values, (Values{7, 8, 9}));
  EXPECT_EQ(r[3].shape, (Shape{1, 1}));
  EXPECT_EQ(r[3].values, (Values{10}));
  EXPECT_EQ(r[4].values, (Values{8, 9}));
}

TEST(Published, ASubDomainThatMayLeaveTheImageReadsZerosThere) {
  const char* text = R"(
parameter N;
vector#1 float a[N];
return a[1..3];
)";
  EXPECT_EQ(run(text, {floats({1, 2, 3, 4, 5})}).values, (Values{2, 3, 4}));
  EXPECT_EQ(run(text, {floats({1, 2})}).values, (Values{2, 0, 0}));
}

TEST(Published, Samples) {
  const char* text = R"(
parameter N;
vector#1 float a[N];
return p = a@[(-1,2)], q = a@[(1,2)], r = a@[(5,3)], s = a@[2];
)";
  const auto r = run_all(text, {floats({1, 2, 3, 4, 5})});
  EXPECT_EQ(r[0].values, (Values{0, 2}));
  EXPECT_EQ(r[1].values, (Values{2, 4}));
  EXPECT_EQ(r[2].values, (Values{0}));
  EXPECT_EQ(r[3].values, (Values{3, 4, 5, 0, 0}));
}

TEST(Published, Spreads) {
  const char* text = R"(
parameter N;
vector#1 float a[N];
p@[(1,2)] = a;
q@[(-3,2)] = a;
r@[(5,3)] = a;
return p = p, q = q, r = r;
)";
  const auto r = run_all(text, {floats({1, 2, 3})});
  EXPECT_EQ(r[0].values, (Values{0, 1, 0, 2, 0, 3}));
  EXPECT_EQ(r[1].values, (Values{0, 3, 0, 0, 0, 0}));  // 1 and 2 would stand at -3 and -1
  EXPECT_EQ(r[2].values, (Values{0, 0, 0, 0, 0, 1, 0, 0, 2}));
}

TEST(Published, FivePointsSampleToTwoAndSpreadToFour) {
  const char* text = R"(
parameter N;
vector#1 float a[N];
down = a@[(0,2)];
up@[(0,2)] = down;
return up;
)";
  EXPECT_EQ(run(text, {floats({1, 2, 3, 4, 5})}).values, (Values{1, 0, 3, 0}));
}

TEST(Published, PastesMayRaiseTheRank) {
  const char* text = R"(
parameter M, N;
vector#2 float a[M,N];
p[1..,2..] = a;
q[1..,0..,1..] = a;
return p = p, q = q;
)";
  const auto r = run_all(text, {floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(r[0].shape, (Shape{3, 4}));
  EXPECT_EQ(r[0].values, (Values{0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4}));
  EXPECT_EQ(r[1].shape, (Shape{2, 2, 3}));
  EXPECT_EQ(r[1].values, (Values{0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 3, 4}));
}

TEST(Published, ComposeIsTheUnionAndLaterPiecesWin) {
  const char* text = R"(
stencil twice(vector#2 float X) { return 2 * X; }
vector#2 float a[2,2];
p = ( @[(0,2),(0,1)] = a; @[(1,2),(0,1)] = twice(a); );
q = ( [0..,..,..] = a; [1..,..,..] = twice(a); );
r = ( [..,..] = 9; [0..,1..] = a; [1..1,0..1] = -1; );
return p = p, q = q, r = r;
)";
  const auto r = run_all(text, {floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(r[0].shape, (Shape{4, 2}));
  EXPECT_EQ(r[0].values, (Values{1, 2, 2, 4, 3, 4, 6, 8}));
  EXPECT_EQ(r[1].shape, (Shape{2, 2, 2}));
  EXPECT_EQ(r[1].values, (Values{1, 2, 3, 4, 2, 4, 6, 8}));
  EXPECT_EQ(r[2].shape, (Shape{2, 3}));
  EXPECT_EQ(r[2].values, (Values{9, 1, 2, -1, -1, 4}));
}

TEST(Published, ComposeOfStructs) {
  const char* text = R"(
struct two { float a; int b; }
stencil make(vector#1 float X) { return struct two(X, 3); }
vector#1 float x[2];
s = make(x);
return ( @[(0,2)] = s; @[(1,2)] = s; );
)";
  const Result r = run(text, {floats({1.5, 2.5})});
  EXPECT_EQ(r.type, "struct two");
  EXPECT_EQ(r.values, (Values{1.5, 3, 1.5, 3, 2.5, 3, 2.5, 3}));
}

// ---- composition ----------------------------------------------------------------------------------------------------

TEST(Published, VectorFunctionsAndNameReuse) {
  const char* text = R"(
stencil laplacian(vector#1 float X) { return X@[-1] - 2*X + X@[1]; }
stencil scale(vector#1 float X, float k) { return X * k; }
vector sharpen(vector#1 float X, float k) {
  l = laplacian(X:clamped);
  s = scale(l, k);
  return s;
}
vector#1 float grey[4];
laplacian = laplacian(grey:clamped);
return a = laplacian, b = sharpen(scale(grey, 2), 0.5);
)";
  const auto r = run_all(text, {floats({1, 2, 4, 8})});
  EXPECT_EQ(r[0].values, (Values{1, 1, 2, -4}));
  EXPECT_EQ(r[1].values, (Values{1, 1, 2, -4}));
}

TEST(Published, StaticLoopsUpAndDown) {
  const char* text = R"(
stencil inc(vector#1 float X, float k) { return X * 10 + k; }
vector#1 float x[1];
u<0> = x;
for i = 1..3
  u<i>=inc(u<i-1>, i);
endfor
d<4> = x;
for j = 3..1
  d<j> = inc(d<j+1>, j);
endfor
return a = u<3>, b = d<1>, c = u<1+1>;
)";
  const auto r = run_all(text, {floats({0})});
  EXPECT_EQ(r[0].values, Values{123});
  EXPECT_EQ(r[1].values, Values{321});
  EXPECT_EQ(r[2].values, Values{12});
}

TEST(Published, APyramid) {
  const char* text = R"(
stencil downx(vector#2 float X) { return (X@[(0,1),(-1,2)] + 2*X@[(0,1),(0,2)] + X@[(0,1),(1,2)]) / 4.0f; }
stencil downy(vector#2 float X) { return (X@[(-1,2),(0,1)] + 2*X@[(0,2),(0,1)] + X@[(1,2),(0,1)]) / 4.0f; }
vector down(vector#2 float X) { return downy(downx(X:clamped):clamped); }
parameter M, N, J = 2;
vector#2 float image[M,N];
g<0> = image;
for i = 1..J
  g<i> = down(g<i-1>);
endfor
return g<J>;
)";
  const Array ones = floats({9, 8}, std::vector<float>(72, 3));
  const Result r = run(text, {ones});
  EXPECT_EQ(r.shape, (Shape{2, 2}));
  EXPECT_EQ(r.values, (Values{3, 3, 3, 3}));
  EXPECT_EQ(run(text, {ones}, {{"J", 1}}).shape, (Shape{4, 4}));
}

TEST(Published, ExtentsAreArithmeticOverParameters) {
  const char* text = R"(
stencil add(vector#1 float A, vector#1 float B) { return A + B; }
parameter M, K = 3;
vector#1 float a[M];
vector#1 float b[2*M + K - 1];
vector#1 float c[(M + 1)/2];
return p = add(a, b), q = add(a, c);
)";
  const auto r = run_all(text, {floats({1, 2, 3}), floats({1, 1, 1, 1, 1, 1, 1, 1}), floats({5, 6})});
  EXPECT_EQ(r[0].values, (Values{2, 3, 4}));
  EXPECT_EQ(r[1].values, (Values{6, 8}));
  EXPECT_THROW(run_all(text, {floats({1, 2, 3}), floats({1}), floats({5, 6})}), Error);
}

TEST(Published, Int8IsUnsignedAndWarnsOnce) {
  const char* text = R"(
stencil f(vector#1 int8 X) { return cast<int8>(X + 100); }
vector#1 int8 x[2];
return f(x);
)";
  EXPECT_EQ(run(text, {array<std::uint8_t>({2}, {100, 200})}).values, (Values{200, 44}));
  const Compiled c = compile_text(text);
  ASSERT_EQ(c.warnings.size(), 1U);
  EXPECT_EQ(c.warnings[0].severity, Severity::warning);
  EXPECT_NE(c.warnings[0].help.find("uint8"), std::string::npos);
}

TEST(Published, AStencilWithoutArgumentsFillsARange) {
  const char* text = R"(
stencil one() { return 1.5f; }
parameter N;
vector#1 float x[N];
p[0..N-1] = one();
return ( [0..N] = one(); [0..] = x; );
)";
  EXPECT_EQ(run(text, {floats({7, 8})}).values, (Values{7, 8, 1.5}));
}

TEST(Published, RanksFromOneToFour) {
  for (int rank = 1; rank <= 4; ++rank) {
    std::string offset = "1", extents = "2";
    for (int d = 1; d < rank; ++d) {
      offset += ",0";
      extents += ",1";
    }
    const std::string type = "vector#" + std::to_string(rank) + " float ";
    Shape shape(static_cast<std::size_t>(rank), 1);
    shape[0] = 2;
    EXPECT_EQ(
        run("stencil f(" + type + "X) { return X@[" + offset + "]; } " + type + "x[" + extents + "]; return f(x:wrap);",
            {floats(shape, {1, 2})})
            .values,
        (Values{2, 1}))
        << rank;
  }
}

TEST(Published, CommentsAreSkipped) {
  EXPECT_EQ(run("// first\nstencil f(vector#1 float X) { /* a\n b */ return X; } // end\nvector#1 float x[1];\n"
                "return f(x); // last",
                {floats({4})})
                .values,
            Values{4});
}

}  // namespace
}  // namespace tessera::lang::testing
