// Which arrays an emitted module takes, and which intermediates may lie at the same place.
#include "lower/interface.hpp"

#include <gtest/gtest.h>

#include <set>

#include "lang/compile.hpp"

namespace tessera::lower {
namespace {

// A chain of stages, each in a group of its own: an intermediate is read by the next group and never again.
plan::Plan chain(int stages, const std::string& results) {
  std::string text = R"(
parameter M, N;
stencil both(vector#2 float A, vector#2 float B) { return A + B; }
stencil next(vector#2 float X) { return (X@[-1,0] + 2 * X + X@[0,1]) * 0.25f; }
vector#2 float image[M,N];
s0 = next(image:clamped);
)";
  for (int k = 1; k < stages; ++k) {
    const std::string before = std::to_string(k - 1), now = std::to_string(k);
    text.append("s").append(now).append(" = next(s").append(before).append(":clamped);\n");
  }
  lang::CompileInput input;
  input.text = text + "return " + results + ";\n";
  plan::Options options;
  options.schedule = Schedule::untiled;
  return plan::make_plan(lang::compile(input).graph, options, {});
}

std::size_t intermediates(const Interface& interface) {
  std::size_t count = 0;
  for (const ArrayRef& a : interface.arrays) count += a.kind == ArrayRef::Kind::intermediate;
  return count;
}

TEST(Interface, AChainTakesTurnsInTwoPlaces) {
  const plan::Plan plan = chain(9, "s8");
  ASSERT_EQ(plan.groups.size(), 9u);
  const Interface interface = interface_of(plan);
  EXPECT_EQ(intermediates(interface), 8u);
  EXPECT_EQ(interface.memories, 2u);
  for (std::size_t g = 0; g + 2 < plan.groups.size(); ++g)  // what a group reads and what it writes differ
    EXPECT_NE(interface.arrays[interface.intermediate(plan.groups[g].results.front())].memory,
              interface.arrays[interface.intermediate(plan.groups[g + 1].results.front())].memory);
}

TEST(Interface, WhatIsReadLaterKeepsItsPlace) {
  const plan::Plan plan = chain(9, "both(s8, s2)");
  const Interface interface = interface_of(plan);
  EXPECT_EQ(interface.memories, 3u);
  std::set<std::size_t> places;
  for (const ArrayRef& a : interface.arrays)
    if (a.kind == ArrayRef::Kind::intermediate) places.insert(a.memory);
  EXPECT_EQ(places, (std::set<std::size_t>{0, 1, 2}));
}

TEST(Interface, OutputsAreTheCallersMemory) {
  const Interface interface = interface_of(chain(4, "a = s3, b = s1"));
  EXPECT_EQ(intermediates(interface), 2u);
  EXPECT_EQ(interface.memories, 1u);  // nobody reads s0 when s2 is made
  EXPECT_EQ(interface.arrays.size(), 1u + 2u + 2u);
}

}  // namespace
}  // namespace tessera::lower
