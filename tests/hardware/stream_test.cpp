// Streams as netlists: against the interpreter, frame after frame.
#include "hardware/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <random>

#include "hardware/build.hpp"
#include "hardware/netlist/differences.hpp"
#include "hardware/netlist/simulate.hpp"
#include "ref/interpreter.hpp"
#include "stream_programs.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

void expect_equal(const std::string& text, i64 height, i64 width, const StreamOptions& options, std::uint64_t seed) {
  const ir::Graph graph = graph_of(text);
  const Frameset set = interpreted(graph, height, width, 2, seed);
  StreamOptions own = options;
  if (own.fixed) own.height = height, own.width = width;
  const Stream stream = make_stream(graph, own);
  if (!own.fixed && (stream.least_height > height || stream.least_width > width)) return;
  const Netlist netlist = build_netlist(stream);
  const std::vector<Frames> got = simulate(netlist, set.inputs, set.scalars, height, width);
  ASSERT_EQ(got.size(), set.results.size());
  for (std::size_t r = 0; r < got.size(); ++r)
    for (std::size_t f = 0; f < got[r].size(); ++f)
      for (std::size_t k = 0; k < got[r][f].size(); ++k)
        ASSERT_EQ(got[r][f][k], set.results[r][f][k])
            << text << "result " << r << ", frame " << f << ", element " << k << " of " << height << " x " << width
            << ", lanes " << own.lanes << (own.repeat ? "" : ", all stored")
            << (own.fixed ? "" : ", extents at run time");
}

// x_j - x_i >= a, against all whole numbers in a small box.
TEST(Differences, AreTheLeastOfAllThatFit) {
  std::uint64_t state = 7;
  const auto pick = [&](i64 n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<i64>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  int solved = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t n = 4;
    std::vector<i64> cost(n, 0);
    for (std::size_t v = 0; v + 1 < n; ++v) {
      cost[v] = pick(7) - 3;
      cost[n - 1] -= cost[v];
    }
    std::vector<Difference> constraints;
    for (int k = 0; k < 6; ++k) {
      const auto from = static_cast<std::size_t>(pick(4)), to = static_cast<std::size_t>(pick(4));
      if (from != to) constraints.push_back({from, to, pick(5) - 2});
    }
    const auto fits = [&](const std::vector<i64>& x) {
      for (const Difference& d : constraints)
        if (x[d.to] - x[d.from] < d.least) return false;
      return true;
    };
    const auto price = [&](const std::vector<i64>& x) {
      i64 sum = 0;
      for (std::size_t v = 0; v < n; ++v) sum += cost[v] * x[v];
      return sum;
    };
    // Best x have differences of at most three constraints of at most two, if there are any.
    std::optional<i64> least;
    for (i64 k = 0; k < 13 * 13 * 13; ++k) {
      const std::vector<i64> x = {0, k % 13 - 6, k / 13 % 13 - 6, k / 169 - 6};
      if (fits(x) && (!least || price(x) < *least)) least = price(x);
    }
    const auto best = minimise_differences(cost, constraints);
    if (!best) continue;
    ++solved;
    ASSERT_TRUE(fits(*best));
    ASSERT_TRUE(least.has_value());
    ASSERT_EQ(price(*best), *least);
  }
  EXPECT_GT(solved, 50);
}

TEST(Stream, RandomProgramsAgreeWithTheInterpreter) {
  const std::uint64_t most = cases_or(150);
  const i64 sizes[][2] = {{1, 1}, {1, 9}, {7, 1}, {2, 2}, {3, 5}, {5, 3}, {9, 17}, {12, 31}};
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    const std::string text = random_program(seed);
    const auto& size = sizes[seed % 8];
    StreamOptions options;
    options.lanes = 1 << (seed / 8 % 4);
    options.repeat = seed % 3 != 0;
    expect_equal(text, size[0], size[1], options, seed);
    if (HasFatalFailure()) return;
    options.fixed = false;
    options.height = 20, options.width = 40;
    if (text.find("extent") == std::string::npos) expect_equal(text, size[0], size[1], options, seed);
    if (HasFatalFailure()) return;
  }
}

// Images of different extents. Those that contradict each other are refused; the others agree.
TEST(Stream, RandomProgramsOfDifferentExtentsAgreeWithTheInterpreter) {
  const std::uint64_t most = cases_or(200);
  const i64 sizes[][2] = {{1, 1}, {2, 4}, {6, 8}, {4, 12}, {3, 5}, {5, 3}, {9, 17}, {12, 36}, {8, 24}};
  std::uint64_t ran = 0, turns = 0;
  std::map<std::string, int> refused;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    const std::string text = random_rated_program(seed);
    const auto& size = sizes[seed % 9];
    ir::Graph graph;
    try {
      graph = graph_of(text);
    } catch (const Error&) {
      continue;  // two extents that cannot meet, say
    }
    const auto set = interpreted_if(graph, size[0], size[1], 2, seed);
    if (!set) continue;
    StreamOptions options;
    options.lanes = 1 << (seed / 9 % 4);
    options.repeat = seed % 3 != 0;
    options.additions = seed % 2 == 0 ? 0 : most_additions;
    for (const bool fixed : {true, false}) {
      options.fixed = fixed;
      options.height = fixed ? size[0] : 20, options.width = fixed ? size[1] : 64;
      try {
        const Stream stream = make_stream(graph, options);
        const Given& given = stream.grids.given;
        if (!fixed &&
            (stream.least_height > size[0] || stream.least_width > size[1] || size[1] % given.unit[1] != given.rest[1]))
          continue;
        for (const StreamStage& stage : stream.stages) turns += stage.stored && stage.turns > 1 ? 1 : 0;
        const Netlist netlist = build_netlist(stream);
        const std::vector<Frames> got = simulate(netlist, set->inputs, set->scalars, size[0], size[1]);
        ASSERT_EQ(got, set->results) << text << size[0] << " x " << size[1] << ", lanes " << options.lanes
                                     << (options.repeat ? "" : ", all stored") << (fixed ? "" : ", extents at run time")
                                     << ", seed " << seed;
        ++ran;
      } catch (const Error& e) {
        ASSERT_EQ(e.error_class(), ErrorClass::argument) << text << e.what();
        ++refused[e.message()];
      }
    }
  }
  if (std::getenv("TESSERA_CASES") != nullptr)
    std::cout << ran << " agree, " << turns << " stages whose products take turns\n";
  if (std::getenv("TESSERA_CASES") != nullptr)
    for (const auto& [why, count] : refused) std::cout << count << " " << why << "\n";
  EXPECT_GE(2 * ran, most / 2) << "of " << most;
  EXPECT_GE(turns, most / 40);
}

// A Laplacian pyramid of three levels and the image rebuilt from it.
const char* const pyramid =
    "stencil down(vector#2 int x) { return (sum(i = -1..1, j = -1..1) ((2 - abs(i)) * (2 - abs(j)) * x@[(i,2),(j,2)])) "
    "/ 16; }\n"
    "stencil even_rows(vector#2 int x) { return x; }\n"
    "stencil odd_rows(vector#2 int x) { return (x + x@[1,0]) / 2; }\n"
    "stencil odd_columns(vector#2 int x) { return (x + x@[0,1]) / 2; }\n"
    "stencil minus(vector#2 int x, vector#2 int y) { return x - y; }\n"
    "stencil plus(vector#2 int x, vector#2 int y) { return x + y; }\n"
    "stencil wide(vector#2 uint8 x) { return cast<int>(x); }\n"
    "stencil narrow(vector#2 int x) { return cast<uint8>(x); }\n"
    "vector up(vector#2 int x) {\n"
    "  tall = ( @[(0,2),(0,1)] = even_rows(x); @[(1,2),(0,1)] = odd_rows(x:clamped); );\n"
    "  return ( @[(0,1),(0,2)] = even_rows(tall); @[(0,1),(1,2)] = odd_columns(tall:clamped); );\n"
    "}\n"
    "parameter M, N;\nvector#2 uint8 image[4*M, 4*N];\n"
    "g0 = wide(image);\ng1 = down(g0:mirror);\ng2 = down(g1:mirror);\n"
    "d0 = minus(g0, up(g1));\nd1 = minus(g1, up(g2));\n"
    "r1 = plus(d1, up(g2));\nr0 = plus(d0, up(r1));\n"
    "return detail = d0, coarse = g2, rebuilt = narrow(r0);\n";

TEST(Stream, APyramidGoesDownAndUp) {
  const ir::Graph graph = graph_of(pyramid);
  for (const int lanes : {1, 2, 4, 8})
    for (const bool fixed : {true, false}) {
      StreamOptions options;
      options.lanes = lanes, options.fixed = fixed;
      options.height = 12, options.width = 44;
      const Netlist netlist = build_netlist(make_stream(graph, options));
      const Frameset set = interpreted(graph, 12, 44, 3, 7);
      const std::vector<Frames> got = simulate(netlist, set.inputs, {}, 12, 44);
      ASSERT_EQ(got, set.results) << lanes << (fixed ? "" : " at run time");
      EXPECT_EQ(got[2], set.inputs[0]);
      EXPECT_EQ(netlist.lanes(netlist.results[1].port.grid), std::max(1, lanes / 4));
    }
}

// Of extents that are no multiples: a coarse level has half of them, rounded up.
TEST(Stream, APyramidOfAnyExtents) {
  const std::string text =
      "stencil down(vector#2 int x) { return (sum(i = -1..1, j = -1..1) ((2 - abs(i)) * (2 - abs(j)) * "
      "x@[(i,2),(j,2)])) "
      "/ 16; }\n"
      "vector reduce(vector#2 int x) {\n"
      "  y[0..(extent(x, 0)-1)/2, 0..(extent(x, 1)-1)/2] = down(x:mirror);\n  return y;\n}\n"
      "stencil even_rows(vector#2 int x) { return x; }\n"
      "stencil odd_rows(vector#2 int x) { return (x + x@[1,0]) / 2; }\n"
      "stencil odd_columns(vector#2 int x) { return (x + x@[0,1]) / 2; }\n"
      "stencil minus(vector#2 int x, vector#2 int y) { return x - y; }\n"
      "stencil plus(vector#2 int x, vector#2 int y) { return x + y; }\n"
      "stencil wide(vector#2 uint8 x) { return cast<int>(x); }\n"
      "stencil narrow(vector#2 int x) { return cast<uint8>(x); }\n"
      "vector up(vector#2 int x, vector#2 int like) {\n"
      "  tall[0..extent(like, 0)-1, ..] = ( @[(0,2),(0,1)] = even_rows(x); @[(1,2),(0,1)] = odd_rows(x:clamped); );\n"
      "  wide[.., 0..extent(like, 1)-1] = ( @[(0,1),(0,2)] = even_rows(tall); @[(0,1),(1,2)] = "
      "odd_columns(tall:clamped); );\n"
      "  return wide;\n"
      "}\n"
      "parameter M, N;\nvector#2 uint8 image[M, N];\n"
      "g0 = wide(image);\ng1 = reduce(g0);\ng2 = reduce(g1);\n"
      "d0 = minus(g0, up(g1, g0));\nd1 = minus(g1, up(g2, g1));\n"
      "r1 = plus(d1, up(g2, g1));\nr0 = plus(d0, up(r1, g0));\n"
      "return detail = d0, coarse = g2, rebuilt = narrow(r0);\n";
  for (const int lanes : {1, 2, 4, 8})
    for (const auto& [height, width] : {std::pair<i64, i64>{12, 44}, {13, 45}, {9, 47}, {7, 10}, {5, 3}, {2, 64}})
      for (const bool fixed : {true, false}) {
        StreamOptions options;
        options.lanes = lanes, options.fixed = fixed;
        options.height = 16, options.width = 64;
        if (fixed) options.height = height, options.width = width;
        SCOPED_TRACE(std::to_string(height) + "x" + std::to_string(width) + " " + std::to_string(lanes) +
                     (fixed ? "" : " at run time"));
        expect_equal(text, height, width, options, 3);
      }
}

// Lines of coarse images have as many places as these have columns. An odd row is made as the row below it comes, in
// every second row of the frame; one line has the row above it for it, and a row later for the even row.
TEST(Stream, LinesOfCoarseImagesAreAsShortAsThese) {
  StreamOptions options;
  options.height = 1080, options.width = 1920;
  const std::string text =
      "stencil down(vector#2 uint8 x) { return cast<int16>(sum(i = -1..1, j = -1..1) (x@[(i,2),(j,2)])); }\n"
      "stencil odd(vector#2 int16 x) { return cast<int16>((x + x@[1,0]) / 2); }\n"
      "parameter M, N;\nvector#2 uint8 a[M, N];\nh = down(a:clamped);\n"
      "tall = ( @[(0,2),(0,1)] = h; @[(1,2),(0,1)] = odd(h:clamped); );\n"
      "return ( @[(0,1),(0,2)] = tall; @[(0,1),(1,2)] = tall; );\n";
  options.repeat = false;
  const Netlist netlist = build_netlist(make_stream(graph_of(text), options));
  i64 coarse = 0;
  for (std::uint32_t k = 0; k < netlist.size(); ++k) {
    const Node& node = netlist.node({k});
    if (node.op == Signal::line) coarse += netlist.ticks(node.lag) / node.value * node.bits.width;
  }
  EXPECT_EQ(coarse, 960 * 12);
}

TEST(Stream, BordersGoAroundAlongRows) {
  const std::string text =
      "stencil f(vector#2 uint8 x) { return cast<uint8>(x@[0,-3] + 2 * x@[1,2] - x); }\n"
      "parameter M, N;\nvector#2 uint8 a[M, N];\nreturn f(f(a:[clamped,wrap]):[mirror,wrap]);\n";
  for (const int lanes : {1, 2, 4, 8})
    for (const i64 width : {1, 3, 5, 7, 8, 16, 33, 64}) {
      StreamOptions options;
      options.lanes = lanes;
      expect_equal(text, 5, width, options, 3);
      options.fixed = false;
      options.height = 6, options.width = 64;
      if (width % lanes == 0) expect_equal(text, 5, width, options, 3);
    }
}

// Products of 65 bits, which no word holds: a divider stands for the product and the shift.
TEST(Stream, WordsOf32BitsAreDividedByConstants) {
  StreamOptions options;
  for (const char* const by : {"7", "641", "65537", "2147483647", "3"})
    expect_equal(std::string("stencil f(vector#2 uint32 x, vector#2 int32 y) { return x / ") + by +
                     " + cast<uint32>(y / 7 + y % 641); }\nparameter M, N;\nvector#2 uint32 in0[M, N];\n"
                     "vector#2 int32 in1[M, N];\nreturn f(in0, in1);\n",
                 9, 17, options, 4);
}

// 2^31 and -1 are no weights of the types in which these sums wrap.
TEST(Stream, SumsWrapWhateverTheirWeights) {
  StreamOptions options;
  for (const char* const body : {"sum(i = -1..1, j = -1..1) (x@[i,j]) << -1", "(x@[0,1] + x@[1,1]) * 65536 * 32768",
                                 "cast<uint32>(x@[1,0]) - cast<uint32>(x@[-1,0]) + cast<uint32>(x@[1,1]) - x@[-1,1]"})
    expect_equal(std::string("stencil f(vector#2 uint16 x) { return saturate<uint8>(") + body +
                     "); }\nparameter M, N;\nvector#2 uint16 in0[M, N];\nreturn f(in0:clamped);\n",
                 9, 17, options, 4);
}

// Floats: what comes of the netlist is as near to the interpreter's floats as it says.
void expect_near(const std::string& text, StreamOptions options, bool exact) {
  const ir::Graph graph = graph_of(text);
  const i64 height = options.height = 9, width = options.width = 21;
  std::mt19937 random(5);
  std::vector<Frames> inputs;
  std::vector<Array> arguments;
  std::vector<i64> scalars;
  for (const ir::Argument& a : graph.arguments) {
    if (!a.is_array) {
      Array one(ElementType::f32, {});
      *one.as<float>() = 1.5f;
      arguments.push_back(one);
      scalars.push_back(24);
      options.inputs[a.name] = {ElementType::u8, 4};
      continue;
    }
    options.inputs[a.name] = {ElementType::u8, 0};
    Array array(a.format.scalar, {height, width});
    std::vector<i64> frame;
    for (i64 k = 0; k < height * width; ++k) {
      frame.push_back(static_cast<i64>(random() % 256));
      if (is_float(a.format.scalar))
        array.as<float>()[k] = static_cast<float>(frame.back());
      else
        array.as<std::uint8_t>()[k] = static_cast<std::uint8_t>(frame.back());
    }
    inputs.push_back({frame});
    arguments.push_back(array);
  }
  const std::vector<Array> expected = ref::interpret(graph, {height, width}, arguments);
  const Netlist netlist = build_netlist(make_stream(graph, options));
  const std::vector<Frames> got = simulate(netlist, inputs, scalars);
  for (std::size_t r = 0; r < got.size(); ++r) {
    const Port& port = netlist.results[r].port;
    const bool floats = is_float(expected[r].format().scalar);
    if (exact) {
      EXPECT_EQ(port.error, 0) << text;
    }
    i64 others = 0;
    for (i64 k = 0; k < height * width; ++k) {
      const double is = std::ldexp(static_cast<double>(got[r][0][static_cast<std::size_t>(k)]), -port.fraction);
      const double should = floats ? static_cast<double>(expected[r].as<float>()[k])
                                   : static_cast<double>(expected[r].as<std::uint8_t>()[k]);
      if (!floats) others += is != should;
      if (floats) {
        ASSERT_LE(std::abs(is - should), port.error + 1e-6 * std::abs(should))
            << text << "at " << k << ": " << is << " for " << should;
      }
    }
    EXPECT_LE(others, exact ? 0 : height * width / 20) << text;
  }
}

TEST(Stream, FloatsBecomeFixedPointWithinTheirBounds) {
  const std::string head = "parameter M, N;\nvector#2 float a[M, N];\n";
  for (const int lanes : {1, 4}) {
    StreamOptions options;
    options.lanes = lanes;
    for (const double error : {0.0, 0.5, 0.01}) {
      options.error = error;
      expect_near("stencil f(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }\n" + head +
                      "return f(f(a:mirror):clamped);",
                  options, false);
      expect_near("stencil f(vector#2 float X) { return 0.3f * X@[0,-1] - 0.7f * X@[1,1] + 1.25f; }\n" + head +
                      "return f(a:constant(3.5));",
                  options, false);
      expect_near("stencil f(vector#2 float X) { return X@[-1,-1] + 0.5f * X@[1,1] - X@[-2,2]; }\n" + head +
                      "return f(a:[constant(-4.5),constant(70)]);",
                  options, false);
      expect_near(
          "stencil f(vector#2 float X) { x = X@[0,1] - X@[0,-1]; y = X@[1,0] - X@[-1,0]; return sqrt(x * x + y * y); "
          "}\n" +
              head + "return f(a:clamped);",
          options, false);
      expect_near("stencil f(vector#2 float X) { return X / (X@[0,1] + 3) + fabs(X - 100) * 0.01f; }\n" + head +
                      "return f(a:symmetric);",
                  options, false);
      expect_near(
          "stencil f(vector#2 float X) { return max(X, 2 * X@[0,1] - 100) > 1.7f * X ? min(X, 40) : floor(X / 8); }\n" +
              head + "return f(a:clamped);",
          options, false);
    }
    options.error = 1e-9;  // no error but none
    expect_near(
        "stencil f(vector#2 float X) { return X@[-1,1] - X@[-1,-1] + 2 * (X@[0,1] - X@[0,-1]) + (X@[1,1] - X@[1,-1]) / "
        "8; }\n" +
            head + "return f(f(a:mirror):clamped);",
        options, true);
    expect_near("stencil f(vector#2 float X) { return cast<uint8>(saturate<uint8>((X@[-1,0] + X) / 2) / 3); }\n" +
                    head + "return f(a:mirror);",
                options, true);
    options.error = 0;
    expect_near("stencil f(vector#2 float X) { return saturate<uint8>(X * 0.37f + 2.2f * X@[0,1] - 20); }\n" + head +
                    "return f(a:mirror);",
                options, false);
    expect_near(
        "stencil f(vector#2 uint8 X, float w) { return saturate<uint8>(X + w * (X - X@[0,1])); }\nparameter M, "
        "N;\nvector#2 uint8 a[M, N];\nfloat w;\nreturn f(a:mirror, w);",
        options, true);
  }
}

// Doubles, so that the interpreter's own errors are far below those of fixed point. Programs that compare values with
// errors may decide otherwise: these have none.
TEST(Stream, RandomProgramsOfFloatsStayWithinTheirBounds) {
  const std::uint64_t most = cases_or(60);
  constexpr i64 height = 6, width = 11;
  std::uint64_t held = 0;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    const std::string text = random_float_program(seed, "double", true);
    const ir::Graph graph = graph_of(text);
    StreamOptions options;
    options.height = height, options.width = width, options.lanes = seed % 2 == 0 ? 1 : 4;
    options.inputs["in0"] = {ElementType::u8, seed % 3 == 0 ? 4 : 0};
    Netlist netlist;
    try {
      netlist = build_netlist(make_stream(graph, options));
    } catch (const Error& e) {
      ASSERT_EQ(e.error_class(), ErrorClass::argument) << text;
      continue;
    }
    std::mt19937_64 random(seed);
    Frames frames(1);
    Array array(ElementType::f64, {height, width});
    for (i64 k = 0; k < height * width; ++k) {
      frames[0].push_back(static_cast<i64>(random() % 256));
      array.as<double>()[k] = std::ldexp(static_cast<double>(frames[0].back()), -options.inputs["in0"].fraction);
    }
    const Frames got = simulate(netlist, std::vector<Frames>(netlist.inputs.size(), frames))[0];
    const std::vector<Array> expected = ref::interpret(graph, {height, width}, {array});
    const Port& port = netlist.results[0].port;
    ASSERT_TRUE(std::isfinite(port.error)) << text << "seed " << seed;
    ++held;
    for (i64 k = 0; k < height * width; ++k) {
      const double is = std::ldexp(static_cast<double>(got[0][static_cast<std::size_t>(k)]), -port.fraction);
      const double should = expected[0].as<double>()[k];
      ASSERT_LE(std::abs(is - should), port.error + 1e-6 * std::abs(should)) << text << "seed " << seed << " at " << k;
    }
  }
  EXPECT_GT(held, most / 2);
}

// Floats as floats, before anything is printed.
TEST(Stream, ExactFloatsAreTheInterpretersToTheBit) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = random_float_program(3000 + seed, seed % 3 == 2 ? "double" : "float", false);
    const ir::Graph graph = graph_of(text);
    StreamOptions options;
    options.height = 5, options.width = 9, options.exact = true, options.lanes = 1 << (seed % 3);
    const Netlist netlist = build_netlist(make_stream(graph, options));
    EXPECT_TRUE(netlist.decisions.empty());
    const Frameset set = interpreted(graph, 5, 9, 2, seed);
    const std::vector<Frames> got = simulate(netlist, set.inputs);
    const ElementType type = netlist.results[0].port.type;
    for (std::size_t f = 0; f < 2; ++f)
      for (std::size_t k = 0; k < 45; ++k) {
        const i64 is = got[0][f][k], should = set.results[0][f][k];
        if (is_float(type) && std::isnan(number_of(is, type)) && std::isnan(number_of(should, type))) continue;
        ASSERT_EQ(is, should) << text << "seed " << seed << " frame " << f << " at " << k;
      }
  }
}

TEST(Stream, WhatCannotStreamIsRefusedWithItsReason) {
  const auto said = [](const std::string& text, StreamOptions options = {}) {
    if (options.height == 0) options.height = 40, options.width = 60;
    try {
      build_netlist(make_stream(graph_of(text), options));
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("it streams");
  };
  const std::string head = "parameter M, N;\nvector#2 uint8 a[M, N];\n";
  EXPECT_NE(said("stencil f(vector#2 uint8 X) { return X@[1,0]; }\n" + head + "return f(a:wrap);")
                .find("stage 'f' cannot stream: it reads rows of 'a' around the edge"),
            std::string::npos);
  EXPECT_NE(said("stencil f(vector#2 uint8 X) { return X[3, coord(1)] + X@[0,1]; }\n" + head + "return f(a:clamped);")
                .find("at computed places"),
            std::string::npos);
  EXPECT_NE(said("stencil f(vector#2 uint8 X, int m) { return X - m; }\n" + head + "m = max(a);\nreturn f(a, m);")
                .find("whole image"),
            std::string::npos);
  EXPECT_NE(said(head + "F = ifft(fft(a));\nreturn F.re;").find("a spectrum needs the whole image"), std::string::npos);
  EXPECT_NE(said("stencil f(vector#2 float X) { return X; }\nparameter M, N;\nvector#2 float a[M, N];\nreturn f(a);")
                .find("range is not known"),
            std::string::npos);
  EXPECT_NE(said("stencil f(vector#3 uint8 X) { return X@[1,0,0]; }\nparameter L, M, N;\nvector#3 uint8 a[L, M, "
                 "N];\nreturn f(a:clamped);")
                .find("3 dimensions"),
            std::string::npos);
  EXPECT_NE(
      said("stencil f(vector#2 uint8 X, vector#2 uint8 Y) { return X + Y; }\n" + head + "return f(a@[(0,2),(0,1)], a);")
          .find("rows of its images are taken at different steps"),
      std::string::npos);
  EXPECT_NE(
      said("stencil f(vector#2 uint8 X) { return X; }\nparameter M, N;\nvector#2 uint8 a[16*M, 16*N];\nreturn f(a);")
          .find("16*M, which is not 40; 32 fits"),
      std::string::npos);
  StreamOptions four;
  four.height = 40, four.width = 60, four.lanes = 4;
  EXPECT_NE(said(head + "return a@[(0,1),(0,3)];", four).find("a point for 3 columns, and 4 come a clock"),
            std::string::npos);
  StreamOptions odd;
  odd.height = odd.width = 8, odd.lanes = 3;
  EXPECT_NE(said(head + "return a;", odd).find("3 points a clock"), std::string::npos);
}

}  // namespace
}  // namespace tessera::hardware
