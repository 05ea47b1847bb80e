// What may come out where values with errors decide: whatever a circuit gives lies within it, elsewhere than at open
// decisions there is one number alone, and what does not follow from a decision lies outside.
#include "hardware/possible.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "hardware/build.hpp"
#include "hardware/netlist/simulate.hpp"
#include "ref/interpreter.hpp"
#include "stream_programs.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

struct Counts {
  i64 points = 0, open = 0, differ = 0, outside = 0;
};

// One frame of bytes through a circuit of one result. `wrong`: is added to every word of the circuit.
Counts compared(const ir::Graph& graph, StreamOptions options, std::uint64_t seed, double wrong = 0) {
  const std::string& name = graph.arguments[0].name;
  options.inputs[name] = {ElementType::u8, 0};
  const Stream stream = make_stream(graph, options);
  const Netlist netlist = build_netlist(stream);
  std::mt19937_64 random(seed);
  Frames frames(1);
  Array array(graph.arguments[0].format.scalar, {options.height, options.width});
  const bool wide = array.format().scalar == ElementType::f64;
  for (i64 k = 0; k < options.height * options.width; ++k) {
    frames[0].push_back(static_cast<i64>(random() % 256));
    if (wide)
      array.as<double>()[k] = static_cast<double>(frames[0].back());
    else
      array.as<float>()[k] = static_cast<float>(frames[0].back());
  }
  const Frames got = simulate(netlist, std::vector<Frames>(netlist.inputs.size(), frames))[0];
  const Array expected = ref::interpret(graph, {options.height, options.width}, {array})[0];
  Possible possible(stream, {array});
  const Port& port = netlist.results[0].port;
  const ir::StageId result = stream.graph.outputs[0].stages[0];
  Counts counts;
  for (i64 y = 0; y < options.height; ++y)
    for (i64 x = 0; x < options.width; ++x) {
      const i64 k = y * options.width + x;
      const double is = std::ldexp(static_cast<double>(got[0][static_cast<std::size_t>(k)]), -port.fraction) + wrong;
      const ElementType type = expected.format().scalar;
      const double should = type == ElementType::f64   ? expected.as<double>()[k]
                            : type == ElementType::f32 ? static_cast<double>(expected.as<float>()[k])
                            : type == ElementType::i16 ? expected.as<std::int16_t>()[k]
                                                       : expected.as<std::uint8_t>()[k];
      if (std::isnan(should)) continue;  // acos(1 + 1e-9): a circuit has 1 there
      const Span may = possible.at(result, y, x);
      const double slack = port.error + (is_float(type) ? 1e-6 * std::max(std::abs(may.lo), std::abs(may.hi)) : 0);
      ++counts.points, counts.open += may.open();
      counts.differ += std::abs(is - should) > slack;
      counts.outside += is < may.lo - slack || is > may.hi + slack;
      if (wrong == 0) {
        EXPECT_GE(is, may.lo - slack) << y << " " << x << ", where the interpreter gives " << should;
        EXPECT_LE(is, may.hi + slack) << y << " " << x << ", where the interpreter gives " << should;
      }
      // The interpreter is a circuit without errors.
      EXPECT_GE(should, may.lo - slack) << y << " " << x;
      EXPECT_LE(should, may.hi + slack) << y << " " << x;
    }
  return counts;
}

// The angle of what is always 0 is no angle just below 0.
TEST(Possible, AnglesOfNothing) {
  StreamOptions options;
  options.height = 6, options.width = 11;
  const Counts counts = compared(
      graph_of("stencil f(vector#2 double x) { return floor(exp(min(-2.22, 2))) / max(fabs(sum(i = -1..1) (x@[i,0] * "
               "0.3) / 3.33), 1); }\n"
               "stencil g(vector#2 double x) { return 1 + pow(max(atan(floor(x@[1,0])), 0), 0.45); }\n"
               "parameter M, N;\nvector#2 double image[M, N];\ns = f(image:symmetric);\nreturn g(s:symmetric);\n"),
      options, 1);
  EXPECT_EQ(counts.outside, 0);
}

TEST(Possible, RandomCircuitsThatDecideLieWithin) {
  const std::uint64_t most = cases_or(200);
  Counts all;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    const std::string text = random_float_program(5000 + seed, "double", false);
    SCOPED_TRACE(text);
    StreamOptions options;
    options.height = 6, options.width = 11, options.lanes = seed % 2 == 0 ? 1 : 4;
    Counts counts;
    try {
      counts = compared(graph_of(text), options, seed);
    } catch (const Error& e) {
      ASSERT_EQ(e.error_class(), ErrorClass::argument);  // refused, as other tests say
      continue;
    }
    EXPECT_EQ(counts.outside, 0);
    all.points += counts.points, all.open += counts.open, all.differ += counts.differ;
    if (HasFailure()) return;
  }
  EXPECT_GT(all.points, 0);
  EXPECT_LE(all.open, all.points / 2) << "of " << all.points;
}

const char* const canny =
    "stencil smooth(vector#2 float X) { return 0.3f * X@[-1,0] + 0.4f * X + 0.3f * X@[0,1]; }\n"
    "stencil thin(vector#2 float G) { return G > G@[0,-1] && G >= G@[0,1] ? G : 0.0f; }\n"
    "stencil classify(vector#2 float G) { return cast<uint8>((G >= 90) + (G >= 160)); }\n"
    "stencil grow(vector#2 uint8 L) { return cast<uint8>(L == 1 && max(i = -1..1, j = -1..1) (L@[i,j]) == 2 ? 2 : L); "
    "}\n"
    "parameter M, N;\nvector#2 float image[M, N];\n"
    "return grow(grow(classify(thin(smooth(image:clamped):constant(0))):constant(0)):constant(0));\n";

TEST(Possible, ChainsOfDecisionsAreOpenWhereTheyDependOnOne) {
  StreamOptions options;
  options.height = 40, options.width = 60;
  options.error = 4;  // few bits, so that some points differ
  const Counts counts = compared(graph_of(canny), options, 1);
  EXPECT_GT(counts.differ, 0);
  EXPECT_EQ(counts.outside, 0);
  EXPECT_GT(counts.open, counts.differ);
  EXPECT_LT(counts.open, counts.points / 2);
}

TEST(Possible, WhatDoesNotFollowFromADecisionLiesOutside) {
  StreamOptions options;
  options.height = 40, options.width = 60;
  const Counts counts = compared(graph_of(canny), options, 1, 3);
  EXPECT_EQ(counts.outside, counts.points);
  // A program of whole numbers has nothing that is open.
  const Counts whole = compared(graph_of("stencil f(vector#2 float x) { return saturate<uint8>(x + x@[0,1] - 40); }\n"
                                         "parameter M, N;\nvector#2 float image[M, N];\nreturn f(image:clamped);\n"),
                                options, 2);
  EXPECT_EQ(whole.open + whole.outside + whole.differ, 0);
}

}  // namespace
}  // namespace tessera::hardware
