// The ways of cores: which groups take which, and that lowering follows what the plan holds.
#include <gtest/gtest.h>

#include "lang/compile.hpp"
#include "lower/ways/ways.hpp"

namespace tessera::lower {
namespace {

constexpr const char* one_pass =
    "stencil f(vector#2 float X) { return X@[-1,0] + X@[1,0]; } parameter M, N; vector#2 float a[M,N]; "
    "return f(a:clamped);";
constexpr const char* two_passes =
    "stencil f(vector#2 float X) { return tan(X@[-1,0]) * X@[1,0]; } parameter M, N; vector#2 float a[M,N]; "
    "return f(f(a:clamped):clamped);";
constexpr const char* long_sum =
    "table float k[i = 0..6, j = 0..8] = (i * 5 + j * 3) % 11; stencil f(vector#2 float X) { return sum(i = 0..6, j = "
    "0..8) (k[i,j] * X@[i-3,j-4]); } parameter M, N; vector#2 float a[M,N]; return f(a:constant(1));";

plan::Plan planned(const std::string& text, Schedule schedule = Schedule::automatic) {
  lang::CompileInput input;
  input.text = text;
  plan::Options options;
  options.schedule = schedule;
  machine::Machine core;
  if (text == long_sum) {
    options.method = Method::transform;
    core.transforms = true;
  }
  plan::Plan plan = plan::make_plan(lang::compile(input).graph, options, core);
  choose_core_ways(plan);
  return plan;
}

std::string form_of(const plan::Plan& plan) {
  EXPECT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups.front().way.chosen().way, "stream");
  return plan.groups.front().way.chosen().form;
}

std::size_t loops_of(const std::vector<ir::nest::Statement>& list, const std::string& variable) {
  std::size_t count = 0;
  for (const ir::nest::Statement& s : list) {
    const bool loop = s.kind == ir::nest::StatementKind::loop && s.name.substr(0, s.name.rfind('_')) == variable;
    count += (loop ? 1 : 0) + loops_of(s.body, variable) + loops_of(s.orelse, variable);
  }
  return count;
}

std::size_t steps_of(const plan::Plan& plan) {
  std::size_t count = 0;
  for (const ir::nest::Function& f : lower_cpu(plan).module.functions) count += loops_of(f.body, "e");
  return count;
}

TEST(CoreWays, FormsOfTheStream) {
  EXPECT_EQ(form_of(planned(one_pass)), "one pass");
  EXPECT_EQ(form_of(planned(one_pass, Schedule::tiled)), "one pass");
  EXPECT_EQ(form_of(planned(two_passes)), "line buffers");
  EXPECT_EQ(form_of(planned(two_passes, Schedule::stream)), "line buffers");
  EXPECT_EQ(form_of(planned(two_passes, Schedule::tiled)), "whole tiles");
}

TEST(CoreWays, OthersAreRefusedWithAReason) {
  for (const Schedule schedule : {Schedule::automatic, Schedule::untiled, Schedule::tiled, Schedule::stream})
    for (const plan::Group& group : planned(two_passes, schedule).groups) {
      ASSERT_EQ(group.way.asked.size(), 3u);
      const plan::WayAnswer& tiles = group.way.asked.front();
      EXPECT_EQ(tiles.way, "transform tiles");
      EXPECT_FALSE(tiles.fits());
      EXPECT_TRUE(tiles.other_kind);
      EXPECT_EQ(tiles.why, "it has no sum that is taken through Fourier transforms");
      const plan::WayAnswer& contraction = group.way.asked[1];
      EXPECT_EQ(contraction.way, "contraction");
      EXPECT_FALSE(contraction.fits());
      EXPECT_TRUE(contraction.other_kind);
      EXPECT_EQ(contraction.why, "it is no sum of products of two images");
    }
}

TEST(CoreWays, TilesSettle) {
  const plan::Plan plan = planned(long_sum);
  ASSERT_EQ(plan.groups.size(), 1u);
  const plan::GroupWay& way = plan.groups.front().way;
  ASSERT_EQ(way.asked.size(), 1u);
  EXPECT_EQ(way.chosen().way, "transform tiles");
  EXPECT_EQ(plan.groups.front().passes.front().form, plan::PassForm::tiles);
}

// Of one core, for one point of the anchor: times all points it is the time that the plan predicts.
TEST(CoreWays, PricesAreNanosecondsOfAResult) {
  for (const char* text : {one_pass, two_passes, long_sum}) {
    const plan::Plan plan = planned(text);
    const plan::Group& group = plan.groups.front();
    double points = 1;
    for (const i64 n : plan.options.parameters) points *= static_cast<double>(n);
    EXPECT_EQ(group.way.unit, plan::WayUnit::nanoseconds);
    EXPECT_GT(group.way.chosen().price, 0);
    EXPECT_NEAR(group.way.chosen().price * points, group.nanoseconds, 1e-9 * group.nanoseconds) << text;
  }
}

TEST(CoreWays, LoweringFollowsThePlan) {
  EXPECT_EQ(steps_of(planned(one_pass)), 0u);
  plan::Plan plan = planned(two_passes);
  EXPECT_EQ(steps_of(plan), 1u);
  plan.groups.front().way = planned(two_passes, Schedule::tiled).groups.front().way;
  EXPECT_EQ(steps_of(plan), 0u);
  plan.groups.front().way = {};
  EXPECT_THROW(lower_cpu(plan), Error);
}

// The last row of each table takes every group, and no other one does.
TEST(CoreWays, TheLastWayTakesWhatIsLeft) {
  EXPECT_STREQ(core_ways().back()->name, "stream");
  EXPECT_STREQ(device_ways().back()->name, "points");
}

}  // namespace
}  // namespace tessera::lower
