// Images that loops make, places that say how large an image is, extents of images: values by hand, and every fault.
#include <gtest/gtest.h>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

const char* const stencils =
    "stencil times(vector#1 float X, float k) { return k * X; }\n"
    "stencil right(vector#1 float X) { return X@[1]; }\n"
    "stencil half(vector#1 float X) { return X@[(0,2)] + X@[(1,2)]; }\n"
    "stencil whole(vector#1 float X) { return cast<int>(X); }\n"
    "struct two { float a; float b; }\n"
    "stencil share(vector#1 float X, vector#1 float Y) { return 10 * X / extent(Y, 0); }\n"
    "stencil both(vector#1 float X) { return struct two(X, 2 * X); }\n";

std::vector<Result> run_text(const std::string& text, const std::vector<float>& row) {
  return run_all(std::string(stencils) + "parameter N;\nvector#1 float x[N];\n" + text, {floats(row)});
}
Values values(const std::string& text, const std::vector<float>& row) {
  return run_text(text, row).at(0).values;
}
std::string fault(const std::string& text) {
  const std::vector<Diagnostic> found = check_text(std::string(stencils) + "parameter N, M;\nvector#1 float x[N];\n" +
                                                   "vector#1 float y[M];\nvector#1 float z[3];\n" + text);
  return found.empty() ? "" : found.front().message;
}

TEST(Places, SayHowLargeAStencilIs) {
  EXPECT_EQ(values("y[0..(extent(x, 0)-1)/2] = half(x:clamped); return y;", {1, 2, 3}), (Values{3, 6}));
  EXPECT_EQ(values("y[0..N/2-1] = half(x:clamped); return y;", {1, 2, 3}), (Values{3}));
  EXPECT_EQ(values("y[0..N+1] = right(x:wrap); return y;", {1, 2, 3}), (Values{2, 3, 1, 2, 3}));
  EXPECT_EQ(values("y[2..N+1] = right(x:constant(7)); return y;", {1, 2, 3}), (Values{0, 0, 2, 3, 7}));
  EXPECT_EQ(values("y[0..4] = times(x:clamped, N); return y;", {1, 2, 3}), (Values{3, 6, 9, 9, 9}));
  // Without a mode it has the extents of its images.
  EXPECT_EQ(fault("w[0..N+1] = right(x); return w;"),
            "the range holds N+2 elements, but the image has N in dimension 0");
  // Places with more dimensions count from the last.
  EXPECT_EQ(values("y[1..1,0..N] = right(x:clamped); return y;", {1, 2, 3}), (Values{0, 0, 0, 0, 2, 3, 3, 3}));
}

TEST(Places, TakeOfACompositionSoMuchAsTheyHold) {
  EXPECT_EQ(values("y[0..N-1] = ( @[(0,2)] = x; @[(1,2)] = times(x, 10); ); return y;", {1, 2, 3}), (Values{1, 10, 2}));
  EXPECT_EQ(values("y[1..N] = ( [0..] = x; [2..] = x; ); return y;", {1, 2, 3}), (Values{0, 1, 2, 1}));
  EXPECT_EQ(fault("y[0..7] = ( [0..] = z; [2..] = z; ); return y;"),
            "the range holds 8 elements, but the image has 5 in dimension 0");
}

TEST(Places, ExtentsOfImages) {
  EXPECT_EQ(values("y = half(x); return times(x, extent(y, 0));", {1, 2, 3, 4}), (Values{2, 4, 6, 8}));
  EXPECT_EQ(values("return times(x, extent(x, 0) > 2 ? 1 : extent(half(x), 0));", {1, 2}), (Values{1, 2}));
  EXPECT_EQ(values("return share(x, x[0..1]);", {1, 2, 3}), (Values{5, 10}));
  EXPECT_EQ(values("return x[0..extent(half(x), 0)];", {1, 2, 3, 4, 5}), (Values{1, 2, 3}));
}

TEST(Places, FaultsOfExtents) {
  EXPECT_EQ(fault("return times(x, extent(x));"), "'extent' has a meaning only inside a stencil");
  EXPECT_EQ(fault("return times(x, extent(x, 1));"), "'x' has no dimension 1: expected 0 to 0");
  EXPECT_EQ(fault("return times(x, extent(3, 0));"), "expected an image, found the scalar '3'");
  EXPECT_EQ(fault("return times(x, extent(x:wrap, 0));"),
            "a boundary mode has no meaning here: nothing is read outside of the image");
  EXPECT_EQ(fault("for k = 0..extent(z, 0)-1 w<k> = times(x, k); endfor return w<2>;"), "");
}

TEST(Stacks, PutImagesAboveEachOther) {
  const std::vector<Result> r =
      run_text("return a = for k = 1..2: times(x, k), b = for k = 2..0: times(x, k);", {1, 3});
  EXPECT_EQ(r.at(0).values, (Values{1, 3, 2, 6}));
  EXPECT_EQ(r.at(1).values, (Values{2, 6, 1, 3, 0, 0}));
  EXPECT_EQ(values("y = for j = 0..1: for k = 0..1: times(x, 10*j + k); return y;", {1, 2}),
            (Values{0, 0, 1, 2, 10, 20, 11, 22}));
  EXPECT_EQ(values("y = for k = 1..2: both(times(x, k)); return y.b;", {1, 3}), (Values{2, 6, 4, 12}));
  EXPECT_EQ(fault("for k = 0..1 w<k> = times(z, k); endfor\nw<2> = half(z);\nreturn for k = 1..2: w<k>;"),
            "the images have other extents: 3 and 1 in dimension 0: expected the same");
  EXPECT_EQ(fault("return for k = 0..1: for i = 0..1: for j = 0..1: for l = 0..1: x;"),
            "'for i = 0..1: for j = 0..1: for l = 0..1...' has rank 4: one image above the other has one dimension "
            "more, and 4 "
            "are the most");
  EXPECT_EQ(fault("return for k = 0..N: x;"), "the upper bound is 'N', which is not known at compile time");
  EXPECT_EQ(fault("return for k = 0..1: for k = 0..1: x;"), "'k' has a meaning already: expected a new index");
  EXPECT_EQ(fault("return for k = 0..2: k;"), "'k' is a scalar: expected an image");
}

TEST(Stacks, ReductionsOverImages) {
  EXPECT_EQ(values("return sum(k = 1..3) (times(x, k));", {1, 2}), (Values{6, 12}));
  EXPECT_EQ(values("return prod(k = 1..3) (times(x, k));", {1, 2}), (Values{6, 48}));
  EXPECT_EQ(values("return min(k = 1..3) (times(x, -k));", {1, 2}), (Values{-3, -6}));
  EXPECT_EQ(values("return max(k = 1..2, j = 0..1) (times(x, k * j));", {1, -2}), (Values{2, 0}));
  EXPECT_EQ(values("return any(k = 1..2) (times(x, k - 1));", {0, 2}), (Values{0, 1}));
  EXPECT_EQ(values("return all(k = 0..1) (times(x, k));", {1, 2}), (Values{0, 0}));
  EXPECT_EQ(values("w<0> = x; w<1> = half(x:clamped); return sum(k = 0..1) (w<k>);", {1, 2, 4, 4}), (Values{4, 10}));
  const Result mixed =
      run_text("w<0> = whole(x); w<1> = whole(times(x, 2)); return sum(k = 0..1) (w<k>);", {1.5, 2}).at(0);
  EXPECT_EQ(mixed.type, "int32");
  EXPECT_EQ(mixed.values, (Values{4, 6}));
  // Of scalars.
  EXPECT_EQ(values("return times(x, sum(k = 1..2) (max(times(x, k))) / 3);", {1, 2}), (Values{2, 4}));
  EXPECT_EQ(values("return times(x, sum(k = 1..3) (k * k));", {1, 2}), (Values{14, 28}));
  EXPECT_EQ(fault("return median(k = 0..2) (times(x, k));"), "there is no median of several images point by point");
  EXPECT_EQ(fault("return sum(k = 0..2) (both(x));"),
            "'sum' takes images of numbers, but 'both(x)' is a vector#1 struct two");
}

TEST(Stacks, VersionsOfSeveralIndices) {
  EXPECT_EQ(values("for k = 0..1 for j = 0..2 w<k,j> = times(x, 10*k + j); endfor endfor return w<1,2>;", {1}),
            (Values{12}));
  EXPECT_EQ(fault("w<0,1> = x; return w<1,0>;"), "unknown image 'w<1,0>'");
  EXPECT_EQ(fault("w<0,1> = x; w<0,1> = x; return w<0,1>;"), "'w<0,1>' already has a value: expected a new version");
}

}  // namespace
}  // namespace tessera::lang::testing
