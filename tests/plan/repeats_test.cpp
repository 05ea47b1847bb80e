// Stages that several groups compute: what is copied, where copies stand, and when it pays. That values stay is for the
// differential tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/device/launch_plan.hpp"
#include "lang/compile.hpp"
#include "plan/groups/groups.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

plan::Plan plan_of(const std::string& text, const machine::Machine& device, Schedule schedule = Schedule::automatic) {
  lang::CompileInput input;
  input.text = text;
  plan::Options how;
  how.schedule = schedule;
  return plan::make_plan(lang::compile(input).graph, how, device);
}

machine::Machine gpu() {
  return machine::device(machine::abilities_of_target("cuda"));
}

// The groups of all stages of that name, and whether any of them is an array.
struct Found {
  std::vector<int> groups;
  bool stored = false;
};
Found find(const plan::Plan& p, const std::string& name) {
  Found found;
  for (ir::StageId s = 0; s < p.graph.stage_count(); ++s) {
    if (p.graph.stage(s).name != name) continue;
    found.groups.push_back(p.stages[s].group);
    const std::vector<ir::StageId>& results = p.groups.at(static_cast<std::size_t>(p.stages[s].group)).results;
    found.stored |= std::find(results.begin(), results.end(), s) != results.end();
  }
  return found;
}

const std::string filters =
    "stencil down(vector#2 float X) { return (X@[(-1,2),(0,2)] + 2 * X@[(0,2),(0,2)] + X@[(1,2),(0,2)]) / 4; } "
    "stencil bend(vector#2 float X, vector#2 float Y, vector#2 float S) { return X - Y * S[coord(0) / 2, coord(1)]; } "
    "parameter M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; ";
const std::string product = filters + "stencil p(vector#2 float X, vector#2 float Y) { return X * Y; } p = p(a, b); ";

const char* const shared = R"(parameter "M"
parameter "N"
a0 = array "a" float [M, N]
a1 = array "b" float [M, N]
s0 = input "a" float [M, N] : a0 0
s1 = input "b" float [M, N] : a1 0
s2 = point "p" float [M, N] 0..0 0..0 : (mul s0[i, i] s1[i, i])
s3 = point "g" float [M, N] 0..0 0..0 : (add s2[i:clamped, i+1:clamped] s2[i:clamped, i:clamped])
s4 = point "h" float [M, N] 0..0 0..0 : (sub s2[i, i] s3[i, i])
output "" float : s4
)";

TEST(Repeats, ACopyStandsBehindItsOriginal) {
  ir::Graph graph = ir::parse_graph(shared);
  plan::Grouping grouping{{{2, 3}, {2, 4}}, {-1, -1, 0, 0, 1}, {{}, {{2, 4, true, ""}}}};
  EXPECT_TRUE(plan::repeats(graph, grouping));
  plan::copy_repeated(graph, grouping);
  EXPECT_EQ(ir::print(graph), R"(parameter "M"
parameter "N"
a0 = array "a" float [M, N]
a1 = array "b" float [M, N]
s0 = input "a" float [M, N] : a0 0
s1 = input "b" float [M, N] : a1 0
$0 = (mul s0[i, i] s1[i, i])
s2 = point "p" float [M, N] 0..0 0..0 : $0
s3 = point "p" float [M, N] 0..0 0..0 : $0
s4 = point "g" float [M, N] 0..0 0..0 : (add s2[i:clamped, i+1:clamped] s2[i:clamped, i:clamped])
s5 = point "h" float [M, N] 0..0 0..0 : (sub s3[i, i] s4[i, i])
output "" float : s5
)");
  EXPECT_EQ(grouping.sets, (std::vector<plan::Set>{{2, 4}, {3, 5}}));
  EXPECT_EQ(grouping.home, (std::vector<int>{-1, -1, 0, 1, 0, 1}));
  EXPECT_EQ(grouping.decisions[1].front().a, 3u);  // of this group
  EXPECT_EQ(grouping.decisions[1].front().b, 5u);
  EXPECT_FALSE(plan::repeats(graph, grouping));
}

TEST(Repeats, AnOriginalThatNobodyReadsIsNoMore) {
  ir::Graph graph = ir::parse_graph(shared);
  plan::Grouping grouping{{{}, {2, 3}, {2, 4}}, {-1, -1, 0, 1, 2}, {{}, {}, {}}};
  plan::copy_repeated(graph, grouping);
  EXPECT_EQ(graph.stage_count(), 6u);
  EXPECT_EQ(grouping.sets, (std::vector<plan::Set>{{}, {2, 4}, {3, 5}}));
}

TEST(Repeats, AProductOfWhatIsReadAnyway) {
  const Found p = find(plan_of(product + "return bend(p, b, down(p:clamped));", gpu()), "p");
  EXPECT_EQ(p.groups, (std::vector<int>{0, 1}));
  EXPECT_FALSE(p.stored);
}

TEST(Repeats, WhereRingsAreRegistersAlone) {
  const std::string text = product + "return bend(p, b, down(p:clamped));";
  EXPECT_LE(find(plan_of(text, fixed_device()), "p").groups.size(), 1u);  // none where it is folded
  for (const Schedule s : {Schedule::untiled, Schedule::stream, Schedule::tiled})
    EXPECT_EQ(find(plan_of(text, gpu(), s), "p").groups.size(), 1u);
}

TEST(Repeats, NotWhatCostsMoreThanItsBytes) {
  const std::string dear = filters +
                           "stencil p(vector#2 float X, vector#2 float Y) { return tan(tan(tan(tan(X)))) * "
                           "tan(tan(tan(tan(tan(Y))))); } p = p(a, b); ";
  const Found p = find(plan_of(dear + "return bend(p, b, down(p:clamped));", gpu()), "p");
  EXPECT_EQ(p.groups.size(), 1u);
  EXPECT_TRUE(p.stored);
}

TEST(Repeats, NotWhatIsStoredInAnyCase) {
  const std::string text = product + "return ( [0..,..,..] = p; [1..,..,..] = bend(p, b, down(p:clamped)); );";
  const plan::Plan p = plan_of(text, gpu());
  std::size_t arrays = 0;
  for (const plan::Group& g : p.groups)
    for (const ir::StageId s : g.results) arrays += p.graph.stage(s).name == "p" ? 1 : 0;
  EXPECT_LE(arrays, 1u);
}

TEST(Repeats, AnImageIsDoubledWhereItIsRead) {
  const plan::Plan p = plan_of(
      filters +
          "stencil even(vector#2 float X) { return X@[0,-1] / 4 + 3 * X / 4; } stencil odd(vector#2 float X) { return "
          "X@[0,1] / 4 + 3 * X / 4; } stencil tall(vector#2 float X) { return (X + X@[1,0]) / 2; } "
          "stencil short(vector#2 float X) { return X; } stencil first(vector#2 float X) { return X * X + X; } "
          "vector up(vector#2 float X) { wide = ( @[(0,1),(0,2)] = even(X:clamped); @[(0,1),(1,2)] = odd(X:clamped); "
          "); "
          "return ( @[(0,2),(0,1)] = short(wide); @[(1,2),(0,1)] = tall(wide:clamped); ); } "
          "u = up(a@[(0,2),(0,2)]); v = first(u); w = bend(u, b, v); return bend(u, v, w);",
      gpu());
  ASSERT_EQ(p.groups.size(), 3u);
  for (const char* name : {"u", "tall", "even", "odd"}) {
    const Found found = find(p, name);
    EXPECT_EQ(found.groups, (std::vector<int>{0, 1, 2})) << name;
    EXPECT_FALSE(found.stored) << name;
  }
  for (ir::StageId s = 0; s < p.graph.stage_count(); ++s)
    for (const ir::Piece& piece : p.graph.stage(s).pieces)
      EXPECT_EQ(p.stages[*piece.stage].home, plan::Home::inside) << p.graph.stage(*piece.stage).name;
}

}  // namespace
}  // namespace tessera
