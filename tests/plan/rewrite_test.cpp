// Rewritings of the stage graph and where stages end up. That values stay is for the differential tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "programs.hpp"

namespace tessera {
namespace {

plan::Plan plan_of(const std::string& text, Numbers numbers = Numbers::fast) {
  RunOptions options;
  options.numbers = numbers;
  return planned({"test", text, {{2160, 3840}}}, options).plan;
}

std::size_t count(const plan::Plan& p, const std::string& name) {
  std::size_t n = 0;
  for (ir::StageId s = 0; s < p.graph.stage_count(); ++s) n += p.graph.stage(s).name == name ? 1 : 0;
  return n;
}

const std::string pyramid =
    "stencil down(vector#2 float X) { return sum(i = -2..2, j = -2..2) (X@[(i,2),(j,2)]) / 25; } "
    "stencil even(vector#2 float X) { return (X@[-1,0] + 6 * X + X@[1,0]) / 8; } "
    "stencil odd(vector#2 float X) { return (X + X@[1,0]) / 2; } "
    "stencil left(vector#2 float X) { return (X@[0,-1] + 6 * X + X@[0,1]) / 8; } "
    "stencil right(vector#2 float X) { return (X + X@[0,1]) / 2; } "
    "vector up(vector#2 float X) { tall = ( @[(0,2),(0,1)] = even(X:clamped); @[(1,2),(0,1)] = odd(X:clamped); ); "
    "return ( @[(0,1),(0,2)] = left(tall:clamped); @[(0,1),(1,2)] = right(tall:clamped); ); } "
    "stencil minus(vector#2 float A, vector#2 float B) { return A - B; } "
    "stencil plus(vector#2 float A, vector#2 float B) { return A + 2 * B; } "
    "parameter M, N; vector#2 float a[M,N]; g = down(a:mirror); ";

TEST(EqualStages, AreComputedOnce) {
  EXPECT_EQ(count(plan_of(pyramid + "return plus(up(g), minus(a, up(g)));"), "left"), 1u);
  EXPECT_EQ(count(plan_of(pyramid + "return plus(up(g), minus(a, up(a)));"), "left"), 2u);
}

TEST(Pieces, StandInsideWhatTheyFill) {
  plan::Plan p = plan_of(pyramid + "return minus(a, up(g));");
  std::size_t inside = 0;
  for (ir::StageId s = 0; s < p.graph.stage_count(); ++s)
    if (p.stages[s].home == plan::Home::inside) {
      ++inside;
      EXPECT_TRUE(p.stages[p.stages[s].whole].filled);
    }
  EXPECT_EQ(inside, 4u);
}

TEST(Pieces, StandAloneWhereTheyLeaveGaps) {
  plan::Plan p = plan_of(
      "stencil f(vector#2 float X) { return X@[0,-1] + X@[0,1]; } parameter M, N; vector#2 float a[M,N]; "
      "w = ( @[(0,2),(0,1)] = f(a:clamped); ); return f(w:clamped);");
  for (const plan::StagePlan& s : p.stages) EXPECT_NE(s.home, plan::Home::inside);
}

TEST(Reductions, OfOneImageAreOnePass) {
  const plan::Plan p = plan_of(
      "stencil f(vector#2 float X, float lo, float hi, float m) { return (X - lo) / (hi - lo) + m; } parameter M, N; "
      "vector#2 float a[M,N]; return f(a, min(a), max(a), mean(a) + sum(a));");
  std::size_t passes = 0, readers = 0;
  for (const plan::Group& g : p.groups) {
    bool reads = false;
    for (ir::StageId s : g.stages)
      for (ir::StageId from : ir::sources(p.graph, s)) reads |= p.graph.stage(from).kind == ir::StageKind::input;
    const bool lanes = is_lanes(p.graph.node(p.graph.stage(g.anchor).body).op);
    readers += reads ? 1 : 0;
    if (lanes && reads) {
      ++passes;
      EXPECT_EQ(g.stages.size(), 3u);  // the mean is made of the sum
    }
  }
  EXPECT_EQ(passes, 1u);
  EXPECT_EQ(readers, 2u);
}

// 25 weights in a window of 17 x 17; zeros count in `exact` floats, where 0 times NaN is NaN.
TEST(Windows, OfFewWeightsAreThese) {
  const auto text = [](const std::string& type) {
    return "table " + type +
           " k[i = 0..16, j = 0..16] = (4 - i % 4) / 4 * ((4 - j % 4) / 4) * (i * 3 + j * j + 1); stencil "
           "f(vector#2 " +
           type +
           " X) { return sum(i = 0..16, j = 0..16) (k[i,j] * X@[i-8,j-8]); } parameter M, N; "
           "vector#2 " +
           type + " a[M,N]; return f(a:mirror);";
  };
  const auto reads = [](const plan::Plan& p) {
    std::size_t n = 0;
    bool loops = false;
    for (ir::StageId s = 0; s < p.graph.stage_count(); ++s)
      if (p.graph.stage(s).kind == ir::StageKind::point)
        for (const ir::ExprId e : ir::postorder(p.graph, {p.graph.stage(s).body})) {
          n += p.graph.node(e).op == ir::Op::access;
          loops |= ir::is_reduction(p.graph.node(e).op);
        }
    return loops ? 0 : n;
  };
  EXPECT_EQ(reads(plan_of(text("float"))), 25u);
  const std::vector<std::string> remarks = plan_of(text("float")).remarks;
  EXPECT_EQ(
      std::count(remarks.begin(), remarks.end(), "window of 'f' is taken as the 25 of its 289 weights that are not 0"),
      1);
  EXPECT_EQ(reads(plan_of(text("int"))), 25u);
  EXPECT_EQ(reads(plan_of(text("int"), Numbers::exact)), 25u);
  EXPECT_EQ(reads(plan_of(text("float"), Numbers::exact)), 0u);
}

TEST(Functions, AreShorterInFastNumbers) {
  const std::string text =
      "stencil f(vector#2 float X) { return exp(X); } parameter M, N; vector#2 float a[M,N]; return f(a);";
  auto uses = [](const plan::Plan& p, ir::Op op) {
    bool found = false;
    for (ir::StageId s = 0; s < p.graph.stage_count(); ++s)
      if (p.graph.stage(s).kind == ir::StageKind::point)
        for (ir::ExprId e : ir::postorder(p.graph, {p.graph.stage(s).body})) found |= p.graph.node(e).op == op;
    return found;
  };
  EXPECT_TRUE(uses(plan_of(text), ir::Op::fast_exp));
  EXPECT_TRUE(uses(plan_of(text, Numbers::exact), ir::Op::exp));
  EXPECT_FALSE(uses(plan_of(text, Numbers::exact), ir::Op::fast_exp));
}

}  // namespace
}  // namespace tessera
