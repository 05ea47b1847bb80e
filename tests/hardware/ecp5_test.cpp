// The text for an ECP5, as it goes into the chip: synthesised, with registers put into the blocks of memory by their
// parameter, its cells simulated one by one. The other text is what other tests simulate.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../emit/command.hpp"
#include "hardware/build.hpp"
#include "icarus.hpp"

namespace tessera::hardware {
namespace {

// As docs/fpga.md says it.
std::string synthesis(const std::string& parameters) {
  return fmt::format(
      "yosys -q -p 'read_verilog -sv -DTESSERA_ECP5 c.sv; synth_ecp5 -top circuit_under_test; {}; write_verilog "
      "-noattr "
      "net.v' && grep -c \"DP16KD #\" net.v && grep -c \"MULT18X18D #\" net.v && iverilog -g2012 -o c net.v bench.sv "
      "'{}/tests/hardware/ecp5_cells.v'",
      parameters, TESSERA_SOURCE_DIR);
}

constexpr const char* registers = R"(select -set lines c:*.line_buffer.* c:*_block_t.* %u t:DP16KD %i; )"
                                  R"(setparam -set REGMODE_A "OUTREG" @lines; setparam -set REGMODE_B "OUTREG" @lines)";

struct Case {
  const char* what;
  std::string text;
  i64 height, width;
  int lanes;
  bool fixed;
};

// Lines in one block, in words of 36 bits, in several blocks, and short ones in no block; products; a table in a block.
std::vector<Case> cases() {
  std::string table = "table uint8 curve[512] = {0";
  for (int k = 1; k < 512; ++k) table += fmt::format(", {}", k * 37 % 251);
  const std::string one = "parameter M, N;\nvector#2 uint8 a[M, N];\n";
  return {
      {"products and a table",
       table +
           "};\nstencil f(vector#2 uint8 x, vector#2 uint8 y) {\n"
           "  return cast<int16>(x@[-1,0] * y@[1,-1] + curve[x@[0,1] + y] - x@[1,0]);\n}\n" +
           one + "vector#2 uint8 b[M, N];\nreturn f(a:clamped, b:mirror);\n",
       5, 160, 1, true},
      {"words of 36 bits and more",
       "stencil f(vector#2 uint8 x) { return cast<int16>(sum(i = -1..1) (x@[i,0] * x@[0,i])); }\n" + one +
           "return f(a:clamped);\n",
       4, 260, 4, true},
      {"short lines",
       "stencil f(vector#2 uint8 x) { return cast<uint8>((x + x@[1,0] + x@[0,1]) * x@[1,1] / 4); }\n"
       "parameter M, N;\nvector#2 uint8 a[2*M, 2*N];\ns = a@[(0,2),(0,2)];\nh = f(s:clamped);\n"
       "return c = f(h:clamped), d = f(a:clamped);\n",
       8, 200, 1, true},
      {"extents at run time",
       "stencil f(vector#2 uint8 x) { return cast<int16>(x@[-1,0] * x@[1,0] - x); }\n" + one + "return f(a:clamped);\n",
       9, 100, 1, false}};
}

TEST(Ecp5, CellsGiveWhatTheInterpreterGives) {
  ASSERT_TRUE(have("yosys"));
  const std::vector<Case> all = cases();
  for (const Case& c : all) {
    const ir::Graph graph = graph_of(c.text);
    StreamOptions options;
    options.height = c.height, options.width = c.width, options.lanes = c.lanes, options.fixed = c.fixed;
    const Netlist netlist = build_netlist(make_stream(graph, options));
    const Schedule schedule = make_schedule(netlist);
    const i64 height = c.fixed ? c.height : 4, width = c.fixed ? c.width : 30;
    const Frameset set = interpreted(graph, height, width, 2, 1);
    const Outcome got = simulated(netlist, schedule, set, {height, width, true, 1, synthesis(registers)});
    ASSERT_TRUE(got.sound) << c.what << "\n" << got.said;
    EXPECT_NE(got.said.find("error 0"), std::string::npos) << c.what << "\n" << got.said;
    EXPECT_EQ(got.results, set.results) << c.what << "\n" << got.said;
    if (&c != &all.back()) continue;
    // Without the parameter the lines come a clock early.
    EXPECT_NE(simulated(netlist, schedule, set, {height, width, true, 1, synthesis("select")}).results, set.results);
  }
}

}  // namespace
}  // namespace tessera::hardware
