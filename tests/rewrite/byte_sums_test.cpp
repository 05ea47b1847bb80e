// Which sums of bytes are taken by products of four. That their values stay is for the differential tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "lang/compile.hpp"
#include "rewrite/sums/bytes.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

plan::Plan planned_for(const std::string& text, bool products = true, Method method = Method::automatic) {
  lang::CompileInput input;
  input.text = text;
  machine::Machine device = fixed_device();
  device.byte_products = products;
  device.transforms = true;
  plan::Options options;
  options.method = method;
  return plan::make_plan(lang::compile(input).graph, options, device);
}

// Passes that take sums so, and the rows of their blocks.
std::vector<int> rows_of_quads(const plan::Plan& p) {
  std::vector<int> rows;
  for (const plan::Group& g : p.groups)
    for (const plan::Pass& pass : g.passes)
      if (pass.form == plan::PassForm::quads) rows.push_back(pass.rows);
  return rows;
}

std::string window(int reach, const std::string& weight, const std::string& body = "S", const std::string& more = "") {
  const std::string r = std::to_string(reach);
  std::string expression = body;
  expression.replace(expression.find('S'), 1,
                     "sum(i = -" + r + ".." + r + ", j = -" + r + ".." + r + ") ((" + weight + ") * X@[i,j])");
  return "stencil f(vector#2 uint8 X" + std::string(more.empty() ? "" : ", vector#2 " + more + " Y") + ") { return " +
         expression + "; } parameter M, N; vector#2 uint8 a[M,N]; " +
         (more.empty() ? "return f(a:clamped);" : "vector#2 " + more + " b[M,N]; return f(a:clamped, b);");
}

const std::string any = "(i * 7 + j * 3 + i * j * j) % 11 * 11";

using Rows = std::vector<int>;

TEST(ByteSums, DenseWeights) {
  EXPECT_EQ(rows_of_quads(planned_for(window(7, any))), Rows{4});
  EXPECT_EQ(rows_of_quads(planned_for(window(3, any, "saturate<uint8>(S / 256)"))), Rows{4});
  EXPECT_EQ(rows_of_quads(planned_for(window(7, any), false)), Rows{});
  EXPECT_EQ(rows_of_quads(planned_for(window(7, any), true, Method::transform)), Rows{});
}

// An outer product is taken one dimension at a time: what is left to sum so are rows of bytes.
TEST(ByteSums, NotWhereSomethingElseIsCheaper) {
  const std::string product = "(8 - abs(i)) * (8 - abs(j))";
  const plan::Plan apart = planned_for(window(7, product, "S / 4096"));
  ASSERT_EQ(apart.groups.size(), 1u);
  ASSERT_EQ(apart.groups[0].passes.size(), 2u);
  EXPECT_TRUE(apart.groups[0].passes[0].form == plan::PassForm::quads);
  EXPECT_FALSE(apart.groups[0].passes[1].form == plan::PassForm::quads);
  const plan::Plan direct = planned_for(window(7, product), true, Method::direct);
  ASSERT_EQ(direct.groups[0].passes.size(), 1u);
  EXPECT_TRUE(direct.groups[0].passes[0].form == plan::PassForm::quads);
  EXPECT_EQ(rows_of_quads(planned_for(window(1, "(2 - abs(i)) * (2 - abs(j))", "cast<uint8>(S / 16)"))), Rows{});
  EXPECT_EQ(rows_of_quads(planned_for(window(20, any))), Rows{});  // transforms
}

TEST(ByteSums, WeightsOfTwoBytes) {
  EXPECT_EQ(rows_of_quads(planned_for(window(3, any + " * 100"))), Rows{2});
  EXPECT_EQ(rows_of_quads(planned_for(window(3, any + " * 1000"))), Rows{});
}

TEST(ByteSums, InAStageOfTheirOwn) {
  const plan::Plan p = planned_for(window(3, any, "Y * S", "float"));
  EXPECT_EQ(rows_of_quads(p), Rows{4});
  ASSERT_EQ(p.groups.size(), 1u);
  EXPECT_EQ(p.groups[0].passes.size(), 2u);
  EXPECT_EQ(rows_of_quads(planned_for(window(3, any, "S - Y", "uint8"))), Rows{4});
}

// A reader of floats is no part of the sum, nor is the sum of it.
TEST(ByteSums, StagesThatReadThemStayApart) {
  const std::string text =
      "stencil f(vector#2 uint8 X) { return sum(i = -3..3, j = -3..3) ((" + any +
      ") * X@[i,j]); } stencil g(vector#2 int S, vector#2 float Y) { return S * Y; } parameter M, N; vector#2 uint8 "
      "a[M,N]; vector#2 float b[M,N]; return g(f(a:clamped), b);";
  EXPECT_EQ(rows_of_quads(planned_for(text)), Rows{4});
}

// Nor is it a part of what sums in loops, or of what reads several of its kind.
TEST(ByteSums, SeveralSumsStayStages) {
  const std::string weights[] = {any, "(i * 5 + j * 11 + i * i) % 13 * 9", "(i * 3 + j * 5 + j * j * i) % 7 * 17"};
  std::string text, calls;
  for (int k = 0; k < 3; ++k) {
    const std::string name = "f" + std::to_string(k);
    text += "stencil " + name + "(vector#2 uint8 X) { return sum(i = -3..3, j = -3..3) ((" + weights[k] +
            ") * X@[i,j]); } ";
    calls += (k > 0 ? ", " : "") + name + "(a:clamped)";
  }
  text +=
      "stencil g(vector#2 int A, vector#2 int B, vector#2 int C) { return max(A, max(B, C)); } parameter M, N; "
      "vector#2 uint8 a[M,N]; return g(" +
      calls + ");";
  EXPECT_EQ(rows_of_quads(planned_for(text)), (Rows{4, 4, 4}));
}

TEST(ByteSums, NotOfFieldsOfStructs) {
  const std::string text =
      "struct pair { uint8 u; uint8 v; } stencil f(vector#2 pair X) { return sum(i = -3..3, j = -3..3) ((" + any +
      ") * X@[i,j].u); } parameter M, N; vector#2 pair a[M,N]; return f(a:clamped);";
  EXPECT_EQ(rows_of_quads(planned_for(text)), Rows{});
}

TEST(ByteSums, ThePlanSaysSo) {
  const plan::Plan p = planned_for(window(7, any));
  EXPECT_TRUE(std::any_of(p.remarks.begin(), p.remarks.end(), [](const std::string& remark) {
    return remark.find("products of four") != std::string::npos;
  }));
  ASSERT_EQ(p.sums.size(), 1u);
  EXPECT_EQ(p.sums[0].taken, Method::direct);
  EXPECT_LT(p.sums[0].prices.at(0).nanoseconds, 1.5);
}

}  // namespace
}  // namespace tessera
