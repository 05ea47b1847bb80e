// Stencils that name the points of their result: what they read, how far results run, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "ir/bind.hpp"
#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

Result of_two(const std::string& stencil, const Array& a, const Array& b, const std::string& call = "f(a, b)") {
  const auto declared = [](const char* name, const Array& x, const std::string& letters) {
    std::string text = "vector#" + std::to_string(x.shape().size()) + " float " + name + "[";
    for (std::size_t d = 0; d < x.shape().size(); ++d) text += (d ? ", " : "") + letters + std::to_string(d);
    return text + "];\n";
  };
  std::string parameters = "parameter A0, B0";
  for (std::size_t d = 1; d < a.shape().size(); ++d) parameters += ", A" + std::to_string(d);
  for (std::size_t d = 1; d < b.shape().size(); ++d) parameters += ", B" + std::to_string(d);
  return run(
      parameters + ";\n" + stencil + "\n" + declared("a", a, "A") + declared("b", b, "B") + "return " + call + ";\n",
      {a, b});
}

std::string error_of(const std::string& text) {
  const std::vector<Diagnostic> all = check_text(text);
  return all.empty() ? "" : all.front().message;
}

const Array two_by_three = floats({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(NamedPoints, AMatrixProductOverAnExtentKnownAtRunTime) {
  const Result r =
      of_two("stencil f(vector#2 float A, vector#2 float B)[i, j] { return sum(k : A.1) (A[i,k] * B[k,j]); }",
             two_by_three, floats({3, 2}, {1, 0, 0, 1, 2, 2}));
  EXPECT_EQ(r.shape, (Shape{2, 2}));
  EXPECT_EQ(r.values, (Values{7, 8, 16, 17}));
}

TEST(NamedPoints, AnyOrderOfIndices) {
  const Result r = of_two("stencil f(vector#2 float A, vector#2 float B)[j, i] { return A[i,j] + B[j,i]; }",
                          two_by_three, floats({3, 2}, {10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(r.shape, (Shape{3, 2}));
  EXPECT_EQ(r.values, (Values{11, 24, 32, 45, 53, 66}));
}

TEST(NamedPoints, ModesApplyAtTheIndex) {
  const std::string f = "stencil f(vector#2 float A, vector#1 float B)[i, j] { return A[i,j-1] + B[j]; }";
  const Array b = floats({3}, {0, 0, 0});
  EXPECT_EQ(of_two(f, two_by_three, b, "f(a:mirror, b)").values, (Values{2, 1, 2, 5, 4, 5}));
  EXPECT_EQ(of_two(f, two_by_three, b, "f(a:wrap, b)").values, (Values{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(of_two(f, two_by_three, b, "f(a:constant(9), b)").values, (Values{9, 1, 2, 9, 4, 5}));
  EXPECT_EQ(of_two(f, two_by_three, b).values, (Values{0, 1, 2, 0, 4, 5}));
}

TEST(NamedPoints, ModesApplyWhereDimensionsAreExchanged) {
  const std::string f = "stencil f(vector#2 float A, vector#1 float B)[j, i] { return A[i+1,j] + 0*B[j]; }";
  const Array b = floats({3}, {0, 0, 0});
  EXPECT_EQ(of_two(f, two_by_three, b, "f(a:wrap, b)").values, (Values{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(of_two(f, two_by_three, b).values, (Values{4, 0, 5, 0, 6, 0}));
}

TEST(NamedPoints, AStepDividesTheExtentAndLeavesNoPointOut) {
  const Result r = of_two("stencil f(vector#1 float A, vector#1 float B)[i] { return A[2*i] + A[2*i+1] + 0*B[0]; }",
                          floats({6}, {1, 2, 3, 4, 5, 6}), floats({1}, {0}));
  EXPECT_EQ(r.values, (Values{3, 7, 11}));
}

TEST(NamedPoints, ExtentsOfArgumentsAreNumbers) {
  const Result r = of_two("stencil f(vector#2 float A, vector#1 float B)[i, j] { return A[i,A.1-1-j] + B[j] + A.0; }",
                          two_by_three, floats({3}, {0, 0, 0}));
  EXPECT_EQ(r.values, (Values{5, 4, 3, 8, 7, 6}));
}

TEST(NamedPoints, ReductionsOverSeveralDimensionsAndWindows) {
  const std::string f =
      "stencil f(vector#3 float A, vector#2 float B)[o, x] {\n"
      "  return sum(c : A.1, i = -1..1) (A[o,c,i+1] * B[c,x+i]);\n"
      "}";
  const Array w = floats({1, 2, 3}, {1, 2, 3, 10, 20, 30}), x = floats({2, 3}, {1, 1, 1, 2, 0, 0});
  EXPECT_EQ(of_two(f, w, x, "f(a, b:[none,constant(0)])").values, (Values{45, 26, 3}));
  EXPECT_EQ(of_two(f, w, x, "f(a, b)").values, (Values{0, 26, 0}));
  EXPECT_EQ(of_two("stencil f(vector#2 float A, vector#1 float B)[j] { return max(k : A.0) (A[k,j]) + B[j]; }",
                   two_by_three, floats({3}, {0, 0, 0}))
                .values,
            (Values{4, 5, 6}));
}

TEST(NamedPoints, OfStructsAndOfImagesOfLowerRank) {
  const Result r =
      run("struct two { float a; float b; }\n"
          "stencil pair(vector#1 float X) { return struct two(X, -X); }\n"
          "stencil f(vector#2 two X)[j, i] { return X[i,j].a - X[i,j].b; }\n"
          "vector#1 float x[3];\n"
          "y[0..2, 0..0] = f(pair(x));\n"
          "return y;\n",
          {floats({1, 2, 3})});
  EXPECT_EQ(r.shape, (Shape{3, 1}));
  EXPECT_EQ(r.values, (Values{2, 4, 6}));
}

TEST(NamedPoints, WhatIsRefused) {
  const std::string head = "parameter M, N;\nvector#2 float a[4,5];\nvector#2 float b[6,7];\nvector#2 float p[M,N];\n";
  const auto error = [&](const std::string& stencil, const std::string& call) {
    return error_of(stencil + "\n" + head + "return " + call + ";\n");
  };
  const std::string two = "stencil f(vector#2 float A, vector#2 float B)";
  EXPECT_EQ(
      error(two + "[i, j] { return A[i,j] + B[i,j]; }", "f(a, b)"),
      "'i' runs over dimension 0 of 'A' and over dimension 0 of 'B', whose extents are not the same: here 4 and 6");
  EXPECT_EQ(error(two + "[i, j] { return sum(k : A.1) (A[i,k] * B[k,j]); }", "f(a, b)"),
            "'k' runs over dimension 1 of 'A', but stands in dimension 0 of 'B' as well, whose extent is another one: "
            "here 5 and 6");
  EXPECT_EQ(error(two + "[i, i] { return A[i,i]; }", "f(a, b)"), "'i' is the name of two indices: expected a new one");
  EXPECT_EQ(error(two + "[i, A] { return A[i,i]; }", "f(a, b)"),
            "'A' is an argument of 'f': expected a new name for the index");
  EXPECT_EQ(error(two + "[i, j] { return A + B[i,j]; }", "f(a, b)"),
            "'A' is read without an index in a stencil that names its points: expected one for every dimension");
  EXPECT_EQ(error(two + "[i, j] { return A@[0,1] + B[i,j]; }", "f(a, b)"),
            "'A' is read without an index in a stencil that names its points: expected one for every dimension");
  EXPECT_EQ(error(two + "[i, j] { return A[i,0] + B[0,0]; }", "f(a, b)"),
            "how far 'j' runs is not known: expected an image that is read with no other name in a dimension");
  EXPECT_EQ(error(two + "[i, j] { return sum(k = 0..5) (A[i,k]) + B[i,j]; }", "f(a, a)"),
            "the indices that are read of dimension 1 of 'A' have to lie inside: here 6 and 5");
  EXPECT_EQ(error(two + "[i, j] { return sum(k = -1..1) (A[i,k]) + B[i,j]; }", "f(a, a)"),
            "the index of dimension 1 of 'A' begins at -1: expected 0 or more, or a boundary mode");
  EXPECT_EQ(error(two + "[i, j] { return sum(k : B.0) (A[i+k,j]); }", "f(a, p)"),
            "the index of dimension 0 of 'A' moves by one of a reduction whose length is known at run time: expected a "
            "boundary mode for 'A'");
  EXPECT_EQ(error(two + "[i, j] { return median(k : B.0) (A[i,j] + B[k,j]); }", "f(a, p)"),
            "a median runs over extents known at compile time: expected a constant extent");
  EXPECT_EQ(error(two + "[i, j] { return sum(k : B.2) (A[i,j]); }", "f(a, b)"),
            "'B' has no dimension 2: expected 0 to 1");
  EXPECT_EQ(error(two + "[i, j] { return sum(k : C.0) (A[i,j]); }", "f(a, b)"),
            "'C' is no image argument of the stencil: expected one before a dimension");
  EXPECT_EQ(error(two + "[i, j] { return sum(k : 4) (A[i,j]); }", "f(a, b)"),
            "'4' is no dimension of an image: expected one such as X.0");
  EXPECT_EQ(error("vector f(vector#2 float A)[i, j] { return A; }", "f(a)"),
            "the points of a result have names in stencils alone");
}

TEST(NamedPoints, ExtentsThatDisagreeWhenTheyBecomeKnown) {
  const Compiled c = compile_text(
      "parameter M, N, K, L;\n"
      "stencil f(vector#2 float A, vector#2 float B)[i, j] { return sum(k : A.1) (A[i,k] * B[k,j]); }\n"
      "vector#2 float a[M,K];\nvector#2 float b[L,N];\nreturn f(a, b);\n");
  EXPECT_EQ(ir::bind_parameters(c.graph, {{2, 3}, {3, 4}}), (std::vector<i64>{2, 4, 3, 3}));
  try {
    ir::bind_parameters(c.graph, {{2, 3}, {5, 4}});
    FAIL() << "3 and 5 agree";
  } catch (const Error& e) {
    EXPECT_NE(
        e.message().find("'k' runs over dimension 1 of 'A', but stands in dimension 0 of 'B' as well, whose extent "
                         "is another one: here 3 and 5"),
        std::string::npos)
        << e.message();
    EXPECT_EQ(e.notes(),
              (std::vector<std::string>{"parameter K is 3 (from input 'a')", "parameter L is 5 (from input 'b')"}));
  }
}

}  // namespace
}  // namespace tessera::lang::testing
