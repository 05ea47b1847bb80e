// Sums over planes: blocks of planes, four a step in groups of several passes, and tiles whose rings fit the caches.
#include <gtest/gtest.h>

#include "plan/passes/tiles.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

std::string gaussian(int reach) {
  const std::string r = std::to_string(reach);
  return "table float g[k = -" + r + ".." + r + "] = exp(-k*k/9.0); stencil f(vector#3 float X) { return sum(h = -" +
         r + ".." + r + ", i = -" + r + ".." + r + ", j = -" + r + ".." + r + ") (g[h+" + r + "] * g[i+" + r +
         "] * g[j+" + r + "] * X@[h,i,j]); } parameter L, M, N; vector#3 float a[L,M,N]; return f(a:clamped);";
}

plan::Plan plan_of(const std::string& text) {
  return planned({"test", text, {{256, 256, 256}}}, {}).plan;
}

TEST(Volumes, AGaussianIsOneGroupThatTakesFourPlanesAStep) {
  const plan::Plan p = plan_of(gaussian(4));
  ASSERT_EQ(p.groups.size(), 1u);
  const plan::Group& g = p.groups.front();
  EXPECT_EQ(g.step, 4);
  ASSERT_EQ(g.passes.size(), 3u);
  EXPECT_EQ(g.passes[0].along, 1u);
  EXPECT_EQ(g.passes[1].along, 1u);
  EXPECT_EQ(g.passes[2].along, 0u);
  EXPECT_EQ(g.passes[2].rows, 4);
  // Nine planes, and the other three of a block.
  EXPECT_EQ(p.stages[g.passes[1].stages.front()].depth, 12);
}

TEST(Volumes, RingsOfWideSumsFitTheCache) {
  const plan::Plan p = plan_of(gaussian(8));
  for (const plan::Group& g : p.groups) {
    const plan::TileShape tile = plan::tile_shape(p, g, {256, 256, 256}, 1);
    i64 bytes = 0;
    for (ir::StageId s : g.stages)
      if (p.stages[s].home == plan::Home::ring) bytes += plan::ring_shape(p, s, tile).bytes;
    EXPECT_LE(bytes, p.device.l2_bytes);
  }
}

TEST(Volumes, OneSumOverPlanesHasABlockOfThem) {
  const plan::Plan p = plan_of(
      "stencil f(vector#3 float X) { return X@[-1,0,0] + X + X@[1,0,0]; } parameter L, M, N; vector#3 float a[L,M,N]; "
      "return f(a:clamped);");
  EXPECT_EQ(p.groups.front().passes.front().along, 0u);
  EXPECT_EQ(p.groups.front().passes.front().rows, 4);
}

TEST(Volumes, NeighboursInRowsAreBlocksOfRows) {
  const plan::Plan p = plan_of(
      "stencil f(vector#3 float X) { return X@[-1,0,0] + X@[0,1,0] + X@[1,0,0]; } parameter L, M, N; vector#3 float "
      "a[L,M,N]; return f(f(a:clamped):clamped);");
  for (const plan::Group& g : p.groups) {
    EXPECT_EQ(g.step, 1);
    for (const plan::Pass& pass : g.passes) EXPECT_EQ(pass.along, 1u);
  }
}

}  // namespace
}  // namespace tessera
