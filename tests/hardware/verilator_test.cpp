// A circuit in Verilator, as `./dev fpga` runs all of them (bench/fpga/clocked.cpp): bit by bit, clock by clock. With
// nothing that stalls a word goes out at every clock after the latency that `explain` states, and the last one when it
// says; with both sides pausing at random the words are the same and stand still until they are taken.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "../emit/command.hpp"
#include "emit/verilog/verilog.hpp"
#include "hardware/build.hpp"
#include "hardware/netlist/facts.hpp"
#include "stream_programs.hpp"

namespace tessera::hardware {
namespace {

std::string raw(const Frames& frames, ElementType type) {
  std::string bytes;
  for (const std::vector<i64>& frame : frames)
    for (const i64 v : frame) bytes.append(reinterpret_cast<const char*>(&v), size_of(type));
  return bytes;
}

class Model {
 public:
  Model(const ir::Graph& graph, const StreamOptions& options) {
    const Stream stream = make_stream(graph, options);
    netlist = build_netlist(stream);
    const Schedule schedule = make_schedule(netlist);
    facts = facts_of(stream, netlist, &schedule);
    write(folder_ / "circuit.sv", emit::print_verilog(netlist, schedule, {"circuit"}));
    const auto spelled = [&](const Port& p) {
      return fmt::format(" X({}, {}, {}, {}, {})", p.name, p.bytes(), netlist.lanes(p.grid),
                         p.grid.rows.points(options.height), p.grid.columns.points(options.width));
    };
    std::string text = "#include \"Vcircuit.h\"\n#define TOP Vcircuit\n#define SCALARS(X)\n#define INPUTS(X)";
    for (const Port& p : netlist.inputs) text += spelled(p);
    text += "\n#define RESULTS(X)";
    for (const Result& r : netlist.results) text += spelled(r.port);
    write(folder_ / "circuit.hpp", text + "\n");
  }

  // What the tools say; empty when all is well.
  std::string build() {
    return shell(folder_,
                 fmt::format("cd '{0}' && verilator --cc --exe --build -O3 --x-assign unique --x-initial unique "
                             "-Wno-lint --top-module circuit -CFLAGS '-O0 -std=c++17 -I{0}' -MAKEFLAGS 'OPT_FAST=-O0 "
                             "OPT_GLOBAL=-O0' --Mdir model -o "
                             "clocked circuit.sv '{1}/bench/fpga/clocked.cpp' > made 2>&1 || ( cat made; false )",
                             (folder_ / "").string(), TESSERA_SOURCE_DIR));
  }

  // Runs frames and compares; gives what the bench counted.
  std::string run(const std::vector<Frames>& inputs, const std::vector<Frames>& expected, int stalls) {
    for (std::size_t k = 0; k < inputs.size(); ++k)
      write(folder_ / (netlist.inputs[k].name + ".raw"), raw(inputs[k], netlist.inputs[k].type));
    const std::string said =
        shell(folder_, fmt::format("cd '{}' && model/clocked {} {} 7 > counts || ( cat counts; false )",
                                   (folder_ / "").string(), inputs.front().size(), stalls));
    EXPECT_EQ(said, "");
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const Port& port = netlist.results[k].port;
      EXPECT_TRUE(read(folder_ / (port.name + ".out")) == raw(expected[k], port.type)) << port.name;
    }
    return read(folder_ / "counts");
  }

  std::string predicted(i64 frames) const {
    std::string text;
    for (const ResultFacts& r : facts.results)
      text += fmt::format("{} words {} latency {} clocks {}\n", r.port.name,
                          frames * facts.frame.height * facts.frame.words(), r.clocks, clocks_of(facts, r, frames));
    return text + "marks 0 changed 0 error 0\n";
  }

  Netlist netlist;
  Facts facts;

 private:
  Folder folder_;
};

// Stages of several lags, two results, a division, borders of two kinds; a width that is no multiple of the lanes.
TEST(Verilator, TakesAWordAClockAndEveryStall) {
  ASSERT_TRUE(have("verilator"));
  const ir::Graph graph = graph_of(
      "stencil blur(vector#2 uint8 x) { return cast<uint8>((sum(i = -2..2, j = -2..2) (x@[i,j])) / 25); }\n"
      "stencil edge(vector#2 uint8 x, vector#2 uint8 y) {\n"
      "  return cast<int16>((x@[-1,0] * 3 - x@[1,1] * 2) * 8 / (y@[0,-1] + 1));\n}\n"
      "parameter M, N;\nvector#2 uint8 image[M, N];\nb = blur(image:mirror);\n"
      "return edges = edge(b:clamped, image:constant(3)), smooth = b;\n");
  StreamOptions options;
  options.height = 18, options.width = 150, options.lanes = 4;
  Model model(graph, options);
  ASSERT_EQ(model.build(), "");
  const Frameset set = interpreted(graph, options.height, options.width, 3, 11);
  EXPECT_EQ(model.run(set.inputs, set.results, 0), model.predicted(3));
  for (const int stalls : {10, 60})
    EXPECT_NE(model.run(set.inputs, set.results, stalls).find("marks 0 changed 0 error 0"), std::string::npos);
}

}  // namespace
}  // namespace tessera::hardware
