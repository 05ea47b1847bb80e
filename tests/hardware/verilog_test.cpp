// Circuits as text, run by a simulator: the words that come out are the interpreter's, whatever stalls, and as many
// clocks are taken as there are ticks.
#include "emit/verilog/verilog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hardware/build.hpp"
#include "hardware/netlist/delay_lines.hpp"
#include "hardware/netlist/facts.hpp"
#include "hardware/numbers/products.hpp"
#include "icarus.hpp"
#include "stream_programs.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

struct Circuit {
  Stream stream;
  Netlist netlist;
  Schedule schedule;
};

Circuit circuit_of(const ir::Graph& graph, const StreamOptions& options, double frequency = 200,
                   Chip chip = Chip::ecp5) {
  Circuit c;
  c.stream = make_stream(graph, options);
  c.netlist = split_products(build_netlist(c.stream), chip);
  c.schedule = make_schedule(c.netlist, {frequency, chip});
  return c;
}

// What the bench counts when nothing stalls: from the first word in to the last one out, and to the first one of the
// result that begins last.
std::string predicted(const Circuit& c, i64 height, i64 width, i64 frames) {
  Netlist netlist = c.netlist;
  netlist.given.most = {height, width};
  netlist.frame.height = netlist.given.high.fine(height), netlist.frame.width = netlist.given.wide.fine(width);
  const Facts facts = facts_of(c.stream, netlist, &c.schedule);
  i64 clocks = 0, latency = 0;
  for (const ResultFacts& r : facts.results) {
    clocks = std::max(clocks, clocks_of(facts, r, frames));
    latency = std::max(latency, r.clocks);
  }
  return "clocks " + std::to_string(clocks) + " latency " + std::to_string(latency) + " ";
}

// Without gaps and with them.
void expect_equal(const Circuit& c, const Frameset& set, i64 height, i64 width, std::uint64_t seed,
                  const std::string& what) {
  for (const bool stalls : {false, true}) {
    const Outcome got = simulated(c.netlist, c.schedule, set, {height, width, stalls, static_cast<unsigned>(seed)});
    ASSERT_TRUE(got.sound) << what << got.said;
    EXPECT_NE(got.said.find("error 0"), std::string::npos) << what << got.said;
    EXPECT_EQ(got.said.find("changed"), std::string::npos) << what << got.said;
    if (!stalls) {
      const std::string clocks = predicted(c, height, width, static_cast<i64>(set.results.front().size()));
      EXPECT_NE(got.said.find(clocks), std::string::npos) << clocks << "\n" << got.said << what;
    }
    ASSERT_EQ(got.results, set.results) << what << height << " x " << width << " lanes " << c.netlist.frame.lanes
                                        << (c.netlist.frame.fixed ? "" : " at run time") << (stalls ? " stalls" : "")
                                        << " seed " << seed << "\n"
                                        << got.said;
  }
}

bool takes(const Circuit& c, i64 height, i64 width) {
  const Given& given = c.netlist.given;
  return c.netlist.frame.fixed || (c.netlist.least_height <= height && width % given.unit[1] == given.rest[1] &&
                                   height % given.unit[0] == given.rest[0] &&
                                   least_width(c.netlist, delay_lines(c.netlist, c.schedule.line)) <= width);
}

TEST(Verilog, RandomCircuitsAgreeWithTheInterpreter) {
  const i64 sizes[][2] = {{1, 1}, {1, 9}, {7, 1}, {2, 2}, {3, 5}, {5, 3}, {9, 17}, {12, 60}};
  const std::uint64_t most = cases_or(24);
  for (std::uint64_t seed = 1000; seed < 1000 + most; ++seed) {
    const std::string text = random_program(seed);
    const ir::Graph graph = graph_of(text);
    const auto& size = sizes[seed % 8];
    StreamOptions options;
    options.lanes = 1 << (seed / 8 % 4);
    options.repeat = seed % 3 != 0;
    options.fixed = seed % 5 != 0;
    options.height = options.fixed ? size[0] : 20, options.width = options.fixed ? size[1] : 70;
    // Where registers stand, and what is a multiplier, changes no value.
    options.additions = seed % 4 == 1 ? 0 : most_additions;
    const Circuit c = circuit_of(graph, options,
                                 seed % 7 == 0   ? 50
                                 : seed % 7 == 1 ? 400
                                                 : 200,
                                 seed % 5 == 2   ? Chip::ice40
                                 : seed % 5 == 3 ? Chip::xilinx
                                                 : Chip::ecp5);
    if (!takes(c, size[0], size[1])) continue;
    expect_equal(c, interpreted(graph, size[0], size[1], 2, seed), size[0], size[1], seed, text);
    if (HasFatalFailure()) return;
  }
}

TEST(Verilog, RandomCircuitsOfDifferentExtentsAgreeWithTheInterpreter) {
  const i64 sizes[][2] = {{1, 1}, {2, 4}, {6, 8}, {4, 12}, {3, 5}, {5, 3}, {9, 17}, {12, 36}, {8, 64}};
  const std::uint64_t most = cases_or(40);
  std::uint64_t ran = 0;
  for (std::uint64_t seed = 2000; seed < 2000 + most; ++seed) {
    const std::string text = random_rated_program(seed);
    const auto& size = sizes[seed % 9];
    StreamOptions options;
    options.lanes = 1 << (seed / 9 % 4);
    options.fixed = seed % 4 != 0;
    options.additions = seed % 2 == 0 ? 0 : most_additions;
    options.height = options.fixed ? size[0] : 20, options.width = options.fixed ? size[1] : 64;
    std::optional<Frameset> set;
    std::optional<Circuit> c;
    try {
      const ir::Graph graph = graph_of(text);
      set = interpreted_if(graph, size[0], size[1], 2, seed);
      if (set) c = circuit_of(graph, options, seed % 7 == 0 ? 50 : seed % 7 == 1 ? 400 : 200);
    } catch (const Error&) {
      continue;  // refused, as other tests say
    }
    if (!c || !takes(*c, size[0], size[1])) continue;
    ++ran;
    expect_equal(*c, *set, size[0], size[1], seed, text);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(ran, most / 4);
}

TEST(Verilog, NamesOfAProgramHideNothing) {
  StreamOptions options;
  options.height = 5, options.width = 12;
  for (const bool fixed : {true, false}) {
    options.fixed = fixed;
    const Circuit c = circuit_of(graph_of(program_of_taken_names), options);
    Frameset set;
    set.inputs.assign(2, Frames(1));
    for (i64 k = 0; k < 5 * 12; ++k) set.inputs[0][0].push_back(k * 37 % 251), set.inputs[1][0].push_back(k * 91 % 256);
    set.scalars = {3, -5, 7, 11, -2, 40};
    set.results = simulate(c.netlist, set.inputs, set.scalars, 5, 12);
    const Outcome got = simulated(c.netlist, c.schedule, set, {5, 12});
    ASSERT_TRUE(got.sound) << got.said;
    EXPECT_EQ(got.results, set.results) << got.said;
  }
}

TEST(Verilog, PortsAndModulesHaveNamesOfTheirOwn) {
  StreamOptions options;
  options.height = 5, options.width = 12;
  const Circuit c =
      circuit_of(graph_of("struct pair { uint8 r, g; }\n"
                          "stencil f(vector#2 pair x, vector#2 uint8 y) { return cast<uint8>(x.r + x.g - y); }\n"
                          "parameter M, N;\nvector#2 pair image[M, N];\nvector#2 uint8 image_r[M, N];\n"
                          "return f(image, image_r);\n"),
                 options);
  std::vector<std::string> names;
  for (const Port& p : c.netlist.inputs) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"image_r", "image_g", "image_r_"}));
  const auto refused = [&](const std::string& name) -> std::string {
    try {
      emit::print_verilog(c.netlist, c.schedule, {name});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refused("module").find("it is a keyword of SystemVerilog"), std::string::npos);
  EXPECT_NE(refused("3x3").find("it is not a name in Verilog"), std::string::npos);
  EXPECT_EQ(refused("tick"), "");
}

// Curves, tables, shifts by values, dividers and roots, as the netlist says they are.
TEST(Verilog, FunctionsOfFloatsAgreeWithTheNetlist) {
  std::mt19937_64 random(3);
  for (const char* const body :
       {"exp((x * 256 + x@[0,1]) / 8192 - 6) + sin(x * 0.37f - x@[0,1])",
        "log(x * 0.3f + x@[1,0] + 1) * pow(x + x@[0,1] * 0.7f, 0.45f)",
        "atan2(x - 100, x@[0,1] - 99) + tanh(x * 0.03f - 1.1f * x@[1,0])", "x * x * x * x@[0,1] - x@[1,0] / 3",
        "fmod(x * 3, x@[0,1] + 1.5f) + cbrt(x - 0.7f * x@[0,-1]) + asin((x * 256 + x@[0,1]) / 32768 - 1)"}) {
    const ir::Graph graph = graph_of(std::string("stencil f(vector#2 float x) { return ") + body +
                                     "; }\nparameter M, N;\nvector#2 float a[M, N];\nreturn f(a:clamped);\n");
    StreamOptions options;
    options.height = 5, options.width = 21, options.lanes = 2;
    options.inputs["a"] = {ElementType::u8, 0};
    // Words of 64 bits.
    if (std::string(body).starts_with("x * x")) options.error = 1e-3;
    const Circuit c = circuit_of(graph, options);
    EXPECT_EQ(c.netlist.results[0].port.bytes() == 8, options.error > 0);
    Frameset set;
    set.inputs.emplace_back(2);
    for (std::vector<i64>& frame : set.inputs[0])
      for (int k = 0; k < 5 * 21; ++k) frame.push_back(static_cast<i64>(random() % 256));
    set.results = simulate(c.netlist, set.inputs);
    const Outcome got = simulated(c.netlist, c.schedule, set, {5, 21});
    ASSERT_TRUE(got.sound) << body << got.said;
    ASSERT_EQ(got.results, set.results) << body << got.said;
  }
}

// Eight rows of 300 points are deeper than a block of memory: two times four of them lie side by side.
TEST(Verilog, LinesOfManyRowsLieSideBySide) {
  const ir::Graph graph = graph_of(
      "stencil f(vector#2 uint8 x) { return x@[-8,0] - x; }\nparameter M, N;\nvector#2 uint8 a[M, N];\n"
      "return f(a:constant(3));\n");
  for (const bool fixed : {true, false}) {
    StreamOptions options;
    options.height = 12, options.width = 300, options.fixed = fixed;
    const Circuit c = circuit_of(graph, options);
    const DelayLines lines = delay_lines(c.netlist, c.schedule.line);
    const auto deep = std::count_if(lines.memories.begin(), lines.memories.end(), [&](const DelayMemory& m) {
      return m.length == (fixed ? Lag{0, 1200} : Lag{4, 0}) && m.width == 16;
    });
    EXPECT_EQ(deep, 1) << (fixed ? "fixed" : "at run time");
    expect_equal(c, interpreted(graph, 12, 300, 1, 3), 12, 300, 3, fixed ? "fixed " : "at run time ");
    if (HasFatalFailure()) return;
  }
}

// A netlist by hand, of one input of 60 bits, and numbers made of it.
class ByHand {
 public:
  ByHand() {
    n.frame.height = 1, n.frame.width = points;
    n.given.most = {1, points};
    n.stages = {"value"};
    n.inputs.push_back({"a", ElementType::u32, {false, 60}});
    whole_ = add(Signal::input, {false, 60}, {});
  }
  NodeId add(Signal op, Bits bits, std::vector<NodeId> args, i64 value = 0) {
    Node node;
    node.op = op, node.bits = bits, node.args = std::move(args), node.value = value;
    return n.add(node);
  }
  // Bits of the input, from one of them on.
  NodeId operand(Bits bits, i64 from) { return add(Signal::shift_right, bits, {whole_}, from); }
  void give(NodeId node) {
    Result r;
    r.port.name = "r" + std::to_string(n.results.size());
    r.port.bits = n.node(node).bits;
    r.port.type = r.port.bits.is_signed ? ElementType::i32 : ElementType::u32;
    r.lanes = {node};
    n.results.push_back(r);
  }
  static constexpr i64 points = 120;
  Netlist n;

 private:
  NodeId whole_;
};

void expect_as_the_netlist(const Netlist& n, std::mt19937_64& random) {
  Circuit c;
  c.netlist = n;
  c.schedule = make_schedule(n);
  Frameset set;
  set.inputs = {{{}}};
  // Small numbers and large ones, and those beside powers of two.
  for (i64 k = 0; k < ByHand::points; ++k) {
    const auto at = random() % 60;
    const std::uint64_t near = (std::uint64_t{1} << at) + random() % 3 - 1;
    set.inputs[0][0].push_back(static_cast<i64>((k % 2 == 0 ? near : random() >> at) & ((std::uint64_t{1} << 60) - 1)));
  }
  set.results = simulate(n, set.inputs);
  const Outcome got = simulated(c.netlist, c.schedule, set, {1, ByHand::points});
  ASSERT_TRUE(got.sound) << got.said;
  for (std::size_t r = 0; r < set.results.size(); ++r)
    ASSERT_EQ(got.results[r], set.results[r]) << print(n) << n.results[r].port.name;
}

TEST(Verilog, RootsOfAllWidths) {
  std::mt19937_64 random(11);
  for (int first = 1; first <= 60; first += 20) {
    ByHand by;
    for (int w = first; w < first + 20; ++w)
      by.give(by.add(Signal::root, {false, (w + 1) / 2}, {by.operand({false, w}, 0)}));
    expect_as_the_netlist(by.n, random);
    if (HasFatalFailure()) return;
  }
}

// Of numbers with signs and without, by 0 too; where the quotient is known to be small, it takes fewer rows.
TEST(Verilog, DividersOfManyWidths) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 2; ++round) {
    ByHand by;
    for (int k = 0; k < 10; ++k) {
      const auto width = [&](std::uint64_t most) { return static_cast<int>(random() % most) + 2; };
      const Bits of_n{random() % 2 == 0, width(45)}, of_d{random() % 2 == 0, width(30)};
      const NodeId a = by.operand(of_n, static_cast<i64>(random() % 10)), b = by.operand(of_d, 0);
      const int wide = of_n.width + 1;
      by.give(by.add(Signal::divide, {true, wide}, {a, b}));
      by.give(by.add(Signal::remainder, {true, std::max(wide, of_d.width + 1)}, {a, b}));
      const int least = width(20);
      const NodeId high = by.add(Signal::constant, {false, least + 1}, {}, i64{1} << least);
      const NodeId large = by.add(Signal::bit_or, {false, least + 1}, {by.operand({false, least}, 20), high});
      const int known = std::max(1, of_n.width - least + 1);
      by.give(by.add(Signal::divide, {true, wide}, {a, large}, known));
      by.give(by.add(Signal::remainder, {true, least + 2}, {a, large}, known));
    }
    expect_as_the_netlist(by.n, random);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::hardware
