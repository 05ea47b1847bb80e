// Simpler netlists: the same results tick by tick, of random signals, and each rule where it holds and where not.
#include "hardware/netlist/simplify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "hardware/build.hpp"
#include "hardware/netlist/simulate.hpp"
#include "stream_programs.hpp"

namespace tessera::hardware {
namespace {

constexpr Bits bit{}, narrow{false, 3}, wide{false, 6};

// Signals over frames of 5 x 16 points, one or two a tick.
class Signals {
 public:
  explicit Signals(int lanes = 1) {
    netlist.frame.height = netlist.given.most[0] = 5;
    netlist.frame.width = netlist.given.most[1] = 16;
    netlist.frame.lanes = lanes;
  }

  NodeId node(Signal op, Bits bits, std::vector<NodeId> args, i64 value = 0, Lag lag = {}, int lane = 0) {
    Node n;
    n.op = op, n.bits = bits, n.args = std::move(args), n.value = value, n.lag = lag, n.lane = lane;
    return netlist.add(std::move(n));
  }
  NodeId input(int lane = 0) {
    netlist.inputs.push_back({"a" + std::to_string(netlist.inputs.size()), ElementType::u8, narrow});
    return node(Signal::input, narrow, {}, static_cast<i64>(netlist.inputs.size()) - 1, {}, lane);
  }
  NodeId less(NodeId a, NodeId b) { return node(Signal::lt, bit, {a, b}); }
  NodeId select(NodeId condition, NodeId a, NodeId b) {
    return node(Signal::select, netlist.node(a).bits, {condition, a, b});
  }
  NodeId most(NodeId a, NodeId b) { return select(less(a, b), b, a); }
  NodeId least(NodeId a, NodeId b) { return select(less(a, b), a, b); }
  NodeId times(NodeId a, NodeId b) { return node(Signal::mul, wide, {a, b}); }
  NodeId delayed(NodeId a, Lag lag) { return node(Signal::delay, netlist.node(a).bits, {a}, 0, lag); }
  void result(NodeId n) {
    Result r;
    r.port = {"r" + std::to_string(netlist.results.size()), ElementType::u8, netlist.node(n).bits};
    r.lanes.assign(static_cast<std::size_t>(netlist.frame.lanes), n);
    netlist.results.push_back(std::move(r));
  }

  Netlist netlist;
};

std::map<Signal, int> counted(const Netlist& netlist) {
  std::map<Signal, int> all;
  for (std::uint32_t k = 0; k < netlist.size(); ++k) ++all[netlist.node({k}).op];
  return all;
}

// The simpler netlist, which gives the same.
Netlist simpler(const Netlist& netlist, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Frames> inputs;
  for (std::size_t k = 0; k < netlist.inputs.size(); ++k) {
    Frames frames(2, std::vector<i64>(5 * 16));
    for (std::vector<i64>& frame : frames)
      for (i64& v : frame) v = static_cast<i64>(random() % 8);
    inputs.push_back(std::move(frames));
  }
  const Netlist now = simplified(netlist);
  verify(now);
  EXPECT_EQ(simulate(netlist, inputs), simulate(now, inputs)) << print(netlist) << "\n" << print(now);
  return now;
}

// Signals of a few kinds, of which many are extremes of the same ones, so that rules meet.
Netlist random_netlist(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Signals s(1 + static_cast<int>(seed % 2));
  std::vector<NodeId> values, products, bits{s.node(Signal::row_is, bit, {}, 2), s.node(Signal::column_is, bit, {}, 3)};
  for (int k = 0; k < 3; ++k) values.push_back(s.input(k % s.netlist.frame.lanes));
  const auto one = [&](const std::vector<NodeId>& of) { return of[random() % of.size()]; };
  for (int k = 0; k < 4; ++k) products.push_back(s.times(one(values), one(values)));
  for (int k = 0; k < 30; ++k) switch (random() % 12) {
      case 0:
      case 1:
      case 2:
        values.push_back(s.most(one(values), one(values)));
        break;
      case 3:
        values.push_back(s.least(one(values), one(values)));
        break;
      case 4:
        values.push_back(s.delayed(one(values), {random() % 4 == 0 ? 1 : 0, static_cast<i64>(1 + random() % 2)}));
        break;
      case 5:
        values.push_back(s.select(one(bits), one(values), one(values)));
        break;
      case 6:
        products.push_back(s.times(one(values), one(values)));
        break;
      case 7:
        products.push_back(s.select(one(bits), one(products), one(products)));
        break;
      case 8:
        bits.push_back(s.node(Signal::le, bit, {one(values), one(values)}));
        break;
      case 9:
        bits.push_back(s.less(one(values), one(values)));
        break;
      case 10:
        bits.push_back(s.node(Signal::bit_not, bit, {one(bits)}));
        break;
      default:
        bits.push_back(s.node(random() % 2 == 0 ? Signal::bit_and : Signal::bit_or, bit, {one(bits), one(bits)}));
    }
  for (int k = 0; k < 4; ++k) s.result(one(k == 0 ? values : k == 1 ? products : bits));
  return living(s.netlist);
}

TEST(Simplify, RandomSignalsStayWhatTheyAre) {
  int fewer = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Netlist before = random_netlist(seed);
    const Netlist after = simpler(before, seed);
    if (::testing::Test::HasFailure()) return;
    fewer += after.size() < before.size();
  }
  EXPECT_GT(fewer, 300);
}

TEST(Simplify, ASelectionOfProductsIsAProductOfSelections) {
  Signals s;
  const NodeId a = s.input(), b = s.input(), c = s.input(), d = s.input(), flag = s.node(Signal::row_is, bit, {}, 0);
  s.result(s.select(flag, s.times(a, b), s.times(c, d)));
  s.result(s.select(flag, s.times(a, a), s.times(c, c)));
  auto found = counted(simpler(s.netlist, 1));
  EXPECT_EQ(found[Signal::mul], 2);
  EXPECT_EQ(found[Signal::select], 2);  // of a and c once
}

// Where both products are needed elsewhere, a product of selections would be a third one.
TEST(Simplify, ProductsThatOthersReadStay) {
  Signals s;
  const NodeId a = s.input(), b = s.input(), c = s.input(), d = s.input(), flag = s.node(Signal::row_is, bit, {}, 0);
  s.result(s.select(flag, s.times(a, b), s.times(c, d)));
  s.result(s.times(a, b));
  s.result(s.times(c, d));
  EXPECT_EQ(counted(simpler(s.netlist, 2))[Signal::mul], 2);
}

TEST(Simplify, ExtremesOfExtremesHaveEachOnce) {
  for (const bool largest : {true, false}) {
    Signals s;
    const NodeId a = s.input(), b = s.input(), c = s.input();
    const auto extreme = [&](NodeId x, NodeId y) { return largest ? s.most(x, y) : s.least(x, y); };
    s.result(extreme(extreme(a, b), extreme(b, c)));
    auto found = counted(simpler(s.netlist, 3));
    EXPECT_EQ(found[Signal::select], 2);
    EXPECT_EQ(found[Signal::lt], 2);
  }
}

TEST(Simplify, WhatIsOnlyComparedIsNotFound) {
  Signals s;
  const NodeId a = s.input(), b = s.input(), c = s.input(), x = s.input();
  s.result(s.node(Signal::le, bit, {s.most(s.most(a, b), c), x}));
  s.result(s.less(s.least(a, c), x));
  auto found = counted(simpler(s.netlist, 4));
  EXPECT_EQ(found[Signal::select], 0);
  EXPECT_EQ(found[Signal::le], 0);
  EXPECT_EQ(found[Signal::lt], 5);
}

// Is x the largest of three that it is among? The comparisons that find the largest say it; two ticks later, too, but
// not where they would have to be kept for rows.
TEST(Simplify, WhatFoundTheLargestSaysWhichItIs) {
  const std::pair<Lag, int> cases[] = {{{0, 0}, 2}, {{0, 2}, 2}, {{2, 0}, 3}};
  for (const auto& [later, comparisons] : cases) {
    Signals s;
    const NodeId a = s.input(), x = s.input(), b = s.input();
    const NodeId most = s.most(s.most(a, x), b);
    s.result(most);
    const bool now = later == Lag{};
    s.result(s.node(Signal::le, bit, {now ? most : s.delayed(most, later), now ? x : s.delayed(x, later)}));
    EXPECT_EQ(counted(simpler(s.netlist, 5))[Signal::lt], comparisons) << later.rows << " rows " << later.words;
  }
}

// Dilations of dilations have far more ways from the last to the first than signals.
TEST(Simplify, ManyExtremesTakeNoLongerThanTheyAreMany) {
  Signals s;
  std::vector<NodeId> row;
  for (int k = 0; k < 8; ++k) row.push_back(s.input());
  for (int round = 0; round < 60; ++round)
    for (std::size_t k = 0; k + 1 < row.size(); ++k) row[k] = s.most(row[k], row[k + 1]);
  s.result(s.less(row[0], row[7]));
  s.result(row[1]);
  EXPECT_LE(simpler(s.netlist, 6).size(), s.netlist.size());
}

TEST(Simplify, ConstantsAndNegationsGoAway) {
  Signals s;
  const NodeId a = s.input(), b = s.input(), flag = s.node(Signal::row_is, bit, {}, 0);
  const NodeId never = s.less(a, a), otherwise = s.node(Signal::bit_not, bit, {flag});
  s.result(s.select(never, a, b));
  s.result(s.select(otherwise, a, b));
  s.result(s.node(Signal::bit_or, bit, {flag, s.delayed(never, {0, 1})}));
  s.result(s.node(Signal::bit_not, bit, {s.node(Signal::bit_not, bit, {s.less(a, b)})}));
  auto found = counted(simpler(s.netlist, 7));
  EXPECT_EQ(found[Signal::select], 1);
  EXPECT_EQ(found[Signal::lt], 1);
  EXPECT_EQ(found[Signal::bit_not] + found[Signal::bit_or] + found[Signal::delay] + found[Signal::constant], 0);
}

// ---- what comes of programs --------------------------------------------------------------------------------------

std::map<Signal, int> of_program(const std::string& body, const std::string& type, int lanes) {
  StreamOptions options;
  options.height = 9, options.width = 40, options.lanes = lanes;
  const ir::Graph graph = graph_of("stencil f(vector#2 " + type + " x) { return " + body +
                                   "; }\nparameter M, N;\nvector#2 " + type + " in0[M, N];\nreturn f(in0:clamped);\n");
  const Netlist netlist = build_netlist(make_stream(graph, options));
  const Frameset set = interpreted(graph, 9, 40, 2, 11);
  EXPECT_EQ(simulate(netlist, set.inputs, {}), set.results) << body;
  return counted(netlist);
}

// One comparison finds the larger of two, and whether it is the one in the middle.
TEST(Simplify, PeaksCompareEachPairOnce) {
  const std::string peaks = "cast<uint8>(x >= max(i = -1..1, j = -1..1) (x@[i,j]) ? 255 : 0)";
  EXPECT_LE(of_program(peaks, "uint16", 1)[Signal::lt], 4);
  EXPECT_LE(of_program(peaks, "uint16", 8)[Signal::lt], 4 * 8);
}

TEST(Simplify, DifferencesAreTakenTheRightWayRound) {
  auto found =
      of_program("cast<int16>(x@[1,-1] - x@[-1,-1] + 2 * (x@[1,0] - x@[-1,0]) + x@[1,1] - x@[-1,1])", "uint8", 1);
  EXPECT_EQ(found[Signal::sub], 1);
  EXPECT_EQ(found[Signal::add], 2);
}

// What a shift gives is rounded up where it is negative, without a product and a magnitude.
TEST(Simplify, DivisionsByPowersOfTwoAreSums) {
  auto found = of_program("x / 16", "int16", 1);
  EXPECT_EQ(found[Signal::sub] + found[Signal::mul] + found[Signal::lt], 0);
  EXPECT_EQ(found[Signal::add], 1);
}

// Gradients, sums of their products, a response that may wrap, its peaks: all rules at once. A point takes four
// comparisons for the largest of nine and whether it is that, and one with 2000.
TEST(Simplify, CornersAreWhatTheyAre) {
  const ir::Graph graph = graph_of(
      "stencil gx(vector#2 uint8 x) { return cast<int16>(x@[-1,1] - x@[-1,-1] + 2 * (x@[0,1] - x@[0,-1]) + x@[1,1] - "
      "x@[1,-1]); }\n"
      "stencil gy(vector#2 uint8 x) { return cast<int16>(x@[1,-1] - x@[-1,-1] + 2 * (x@[1,0] - x@[-1,0]) + x@[1,1] - "
      "x@[-1,1]); }\n"
      "stencil product(vector#2 int16 x, vector#2 int16 y) { return x * y; }\n"
      "stencil window(vector#2 int32 x) { return sum(i = -1..1, j = -1..1) (x@[i,j]); }\n"
      "stencil measure(vector#2 int32 xx, vector#2 int32 xy, vector#2 int32 yy) {\n"
      "  a = xx >> 8; b = xy >> 8; c = yy >> 8; t = a + c;\n  return a * c - b * b - t * t / 16;\n}\n"
      "stencil peaks(vector#2 int32 r) {\n"
      "  return cast<uint8>(r >= max(i = -1..1, j = -1..1) (r@[i,j]) && r > 2000 ? 255 : 0);\n}\n"
      "parameter M, N;\nvector#2 uint8 image[M, N];\nx = gx(image:clamped);\ny = gy(image:clamped);\n"
      "return peaks(measure(window(product(x, x):clamped), window(product(x, y):clamped), "
      "window(product(y, y):clamped)):constant(0));\n");
  for (const int lanes : {1, 4, 8})
    for (const i64 width : {13, 40})
      for (const bool fixed : {true, false}) {
        StreamOptions options;
        options.height = 9, options.width = 40, options.lanes = lanes, options.fixed = fixed;
        if (fixed) options.width = width;
        const Netlist netlist = build_netlist(make_stream(graph, options));
        const Frameset set = interpreted(graph, 9, width, 2, 5);
        EXPECT_EQ(simulate(netlist, set.inputs, {}, 9, width), set.results) << lanes << " lanes, " << width;
        EXPECT_LE(counted(netlist)[Signal::lt], 5 * lanes);
        const std::vector<i64>& first = set.results[0][0];
        EXPECT_GT(std::count(first.begin(), first.end(), 255), 1);
      }
}

TEST(Simplify, SquaresHaveNoSign) {
  StreamOptions options;
  options.height = 9, options.width = 40;
  const Stream stream = make_stream(graph_of("stencil f(vector#2 uint8 x) { return (x - 1) * (x - 1); }\n"
                                             "parameter M, N;\nvector#2 uint8 in0[M, N];\nreturn f(in0);\n"),
                                    options);
  EXPECT_EQ(stream.stages.back().bits, (Bits{false, 16}));  // 0 to 254^2
}

}  // namespace
}  // namespace tessera::hardware
