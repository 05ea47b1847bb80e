// Products of coarse stages that take turns at multipliers.
#include "hardware/numbers/turns.hpp"

#include <gtest/gtest.h>

#include "hardware/build.hpp"
#include "hardware/netlist/simulate.hpp"
#include "stream_programs.hpp"

namespace tessera::hardware {
namespace {

std::size_t multipliers(const Netlist& netlist) {
  std::size_t count = 0;
  for (std::uint32_t k = 0; k < netlist.size(); ++k) count += netlist.node({k}).op == Signal::mul ? 1 : 0;
  return count;
}

// So many points a clock; the multipliers that it takes, after it has given what the interpreter gives.
std::size_t multipliers_of(const std::string& text, int lanes, bool fixed = true) {
  constexpr i64 height = 13, width = 44;
  const ir::Graph graph = graph_of(text);
  const Frameset set = interpreted(graph, height, width, 2, 5);
  StreamOptions options;
  options.lanes = lanes, options.fixed = fixed;
  options.height = fixed ? height : 40, options.width = fixed ? width : 96;
  const Netlist netlist = build_netlist(make_stream(graph, options));
  EXPECT_EQ(simulate(netlist, set.inputs, set.scalars, height, width), set.results) << text << lanes;
  return multipliers(netlist);
}

// Every fourth column of a sum of 21 weights that are no few additions.
const char* const quarter =
    "table int w[3,7] = {{171, 173, 181, 203, 211, 213, 217}, {301, 309, 331, 339, 341, 347, 349},"
    " {363, 365, 371, 373, 403, 405, 409}};\n"
    "stencil f(vector#2 uint8 x) { return sum(i = -1..1, j = -3..3) (w[i+1, j+3] * x@[(i,1),(j,4)]); }\n"
    "parameter M, N;\nvector#2 uint8 in0[M,N];\nreturn f(in0:mirror);\n";

TEST(Turns, AsManyProductsAMultiplierAsAPointHasTicks) {
  EXPECT_EQ(multipliers_of(quarter, 1), 6U);
  EXPECT_EQ(multipliers_of(quarter, 2), 11U);
  EXPECT_EQ(multipliers_of(quarter, 4), 21U);
  EXPECT_EQ(multipliers_of(quarter, 1, false), 6U);
}

TEST(Turns, WhatNeedsAProductWaitsForIt) {
  // Two products of four, and one of these two.
  EXPECT_EQ(
      multipliers_of("stencil f(vector#2 uint8 x) { return (x@[(0,1),(0,2)] * x@[(0,1),(1,2)]) * (x@[(1,1),(0,2)] * "
                     "x@[(1,1),(1,2)]); }\n"
                     "parameter M, N;\nvector#2 uint8 in0[M,N];\nreturn f(in0:clamped);\n",
                     1),
      2U);
}

// The first point's first turn is a tick of the frame, too, where nothing but columns and rows before it are read.
TEST(Turns, BeginWithTheFrame) {
  EXPECT_EQ(multipliers_of("table int w[5] = {1000003, 363, 409, 349, 203};\n"
                           "stencil f(vector#2 uint16 x) { return sum(j = -5..-1) (w[j+5] * x@[(-1,2),(j,2)]); }\n"
                           "parameter M, N;\nvector#2 uint16 in0[M,N];\nreturn f(in0:constant(7));\n",
                           1),
            3U);
}

TEST(Turns, EqualProductsAreOne) {
  EXPECT_EQ(multipliers_of("stencil f(vector#2 uint8 x) { return x@[(0,1),(0,2)] * x@[(0,1),(1,2)] + 3 * "
                           "(x@[(0,1),(1,2)] * x@[(0,1),(0,2)]); }\n"
                           "parameter M, N;\nvector#2 uint8 in0[M,N];\nreturn f(in0:clamped);\n",
                           1),
            1U);
}

}  // namespace
}  // namespace tessera::hardware
