// The bench: words from files, words to files, gaps at random on both sides.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "emit/verilog/verilog.hpp"

namespace tessera::emit {

namespace {

using hardware::Port;
using namespace fmt::literals;

// Words a row, and rows.
std::pair<i64, i64> words_of(const hardware::Netlist& netlist, const hardware::Grid& grid,
                             const BenchOptions& options) {
  const i64 lanes = netlist.lanes(grid);
  return {(grid.columns.points(options.width) + lanes - 1) / lanes, grid.rows.points(options.height)};
}

std::string source(const hardware::Netlist& netlist, const Port& p, const BenchOptions& options) {
  const auto [words, rows] = words_of(netlist, p.grid, options);
  const i64 all = words * rows * options.frames;
  const int w = word_bits(netlist, p);
  const std::string name = "s_" + p.name;
  std::string t =
      fmt::format("  reg [{high}:0] {name}_words [0:{last}]; initial $readmemh(\"{port}.hex\", {name}_words);\n",
                  "high"_a = w - 1, "name"_a = name, "last"_a = all - 1, "port"_a = p.name);
  t += fmt::format("  reg [31:0] {0}_at = 0; reg {0}_valid = 0; wire {0}_ready;\n", name);
  t += "  always @(posedge clk) begin\n";
  t += fmt::format("    {0}_at <= {0}_next;\n", name);
  t += fmt::format("    if (~{0}_valid | {0}_ready) {0}_valid <= ~rst & {0}_next < {1} & {2};\n", name, all,
                   options.stalls ? "($urandom % 3 != 0)" : "1'b1");
  t += "  end\n";
  t += fmt::format("  wire [31:0] {0}_next = {0}_at + ({0}_valid & {0}_ready);\n", name);
  t += fmt::format("  wire [{1}:0] {0}_data = {0}_words[{0}_at < {2} ? {0}_at : 0];\n", name, w - 1, all);
  t += fmt::format("  wire {0}_last = {0}_at % {1} == {1} - 1, {0}_user = {0}_at % {2} == 0;\n", name, words,
                   words * rows);
  return t;
}

std::string sink(const hardware::Netlist& netlist, const Port& p, const BenchOptions& options) {
  const auto [words, rows] = words_of(netlist, p.grid, options);
  const i64 all = words * rows * options.frames;
  const int w = word_bits(netlist, p);
  const std::string name = "m_" + p.name;
  std::string t = fmt::format(
      "  wire [{1}:0] {0}_data; wire [{2}:0] {0}_keep; wire {0}_valid, {0}_last, {0}_user; reg {0}_ready = 0; reg "
      "[31:0] "
      "{0}_count = 0;\n",
      name, w - 1, w / 8 - 1);
  t += fmt::format("  integer {0}_file; initial {0}_file = $fopen(\"{1}.out\", \"w\");\n", name, p.name);
  t += fmt::format("  reg {0}_held = 0; reg [{1}:0] {0}_was;\n", name, w);
  t += "  always @(posedge clk) begin\n";
  t += fmt::format(
      "    if ({0}_held & (~{0}_valid | {{{0}_last, {0}_data}} !== {0}_was)) $display(\"{0}: a word changed before it "
      "was taken\");\n",
      name);
  t += fmt::format("    {0}_held <= {0}_valid & ~{0}_ready; {0}_was <= {{{0}_last, {0}_data}};\n", name);
  t += fmt::format("    if ({0}_valid & {0}_ready) begin\n", name);
  t += fmt::format("      $fdisplay({0}_file, \"%h %h %b %b\", {0}_data, {0}_keep, {0}_last, {0}_user);\n", name);
  t += fmt::format(
      "      {0}_count <= {0}_count + 1; if ({0}_count + 1 == {1}) last_out <= clocks; if ({0}_count == 0) first_out "
      "<= clocks;\n    end\n",
      name, all);
  t += fmt::format("    {0}_ready <= {1};\n  end\n", name, options.stalls ? "$urandom % 3 != 0" : "1'b1");
  return t;
}

}  // namespace

std::string print_verilog_bench(const hardware::Netlist& netlist, const BenchOptions& options) {
  const auto [words, rows] = words_of(netlist, {netlist.given.high, netlist.given.wide}, options);
  const i64 all = words * rows * options.frames;
  std::string t = fmt::format(
      "// Reads words from NAME.hex, in hexadecimal, the leftmost point in the low bits; writes to NAME.out, a line "
      "each: "
      "the\n// word, tkeep, tlast, tuser.\n//   iverilog -g2012 -o {0}_bench {0}.sv {0}_test.sv && vvp -n {0}_bench\n"
      "`timescale 1ns/1ps\nmodule {0}_bench;\n  reg clk = 0, rst = 1; always #5 clk = ~clk;\n  reg [63:0] clocks = 0, "
      "first_in = 0, first_out = 0, last_out = 0; reg begun = 0;\n",
      options.name);
  t += "  wire error;\n";
  std::string ports, done, begun = "1'b0";
  if (!netlist.frame.fixed)
    ports += fmt::format(".height({height_bits}'d{height}), .width({width_bits}'d{width}), ",
                         "height_bits"_a = std::bit_width(static_cast<std::uint64_t>(netlist.given.most[0])),
                         "height"_a = options.height,
                         "width_bits"_a = std::bit_width(static_cast<std::uint64_t>(netlist.given.most[1])),
                         "width"_a = options.width);
  for (const Port& p : netlist.inputs) {
    t += source(netlist, p, options);
    ports += fmt::format(
        ".s_{0}_tdata(s_{0}_data), .s_{0}_tvalid(s_{0}_valid), .s_{0}_tready(s_{0}_ready), .s_{0}_tlast(s_{0}_last), "
        ".s_{0}_tuser(s_{0}_user),\n    ",
        p.name);
    begun += fmt::format(" | (s_{0}_valid & s_{0}_ready)", p.name);
  }
  for (std::size_t k = 0; k < netlist.scalars.size(); ++k)
    ports +=
        fmt::format(".p_{}({}),\n    ", netlist.scalars[k].name, k < options.scalars.size() ? options.scalars[k] : 0);
  for (const hardware::Result& r : netlist.results) {
    t += sink(netlist, r.port, options);
    ports += fmt::format(
        ".m_{0}_tdata(m_{0}_data), .m_{0}_tkeep(m_{0}_keep), .m_{0}_tvalid(m_{0}_valid), .m_{0}_tready(m_{0}_ready), "
        ".m_{0}_tlast(m_{0}_last), .m_{0}_tuser(m_{0}_user),\n    ",
        r.port.name);
    const auto [own_words, own_rows] = words_of(netlist, r.port.grid, options);
    done += fmt::format("{}m_{}_count == {}", done.empty() ? "" : " & ", r.port.name,
                        own_words * own_rows * options.frames);
  }
  t += fmt::format("  {} circuit (.clk, .rst, {}.error);\n", options.name, ports);
  t += fmt::format(
      "  integer seed = {}; integer ignored; initial begin ignored = $urandom(seed); repeat (12) @(posedge clk); rst "
      "<= 0; end\n",
      options.seed);
  t += "  always @(posedge clk) begin\n    clocks <= clocks + 1;\n";
  t += fmt::format("    if (~begun & ({})) begin begun <= 1; first_in <= clocks; end\n", begun);
  t += fmt::format(
      "    if ({}) begin $display(\"clocks %0d latency %0d error %b\", last_out - first_in + 1, first_out - first_in, "
      "error); $finish; end\n",
      done);
  t += fmt::format("    if (clocks > {}) begin $display(\"no end, error %b\", error); $finish; end\n  end\nendmodule\n",
                   100000 + 40 * all * std::max<i64>(1, 8 / words));
  return t;
}

}  // namespace tessera::emit
