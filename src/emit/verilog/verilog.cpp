// A netlist and its clocks as text: ports, ticks, positions, nodes by stage, line buffers, results.
#include "emit/verilog/verilog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "base/text.hpp"
#include "emit/decision_notes.hpp"
#include "emit/hardware_notes.hpp"
#include "emit/verilog/names.hpp"
#include "emit/verilog/parts.hpp"
#include "emit/verilog/ticks.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

using hardware::Bits;
using hardware::DelayLine;
using hardware::DelayPiece;
using hardware::Frame;
using hardware::Netlist;
using hardware::Node;
using hardware::NodeId;
using hardware::Port;
using hardware::Result;
using hardware::Schedule;
using hardware::Signal;

int word_bits(const Netlist& netlist, const Port& port) {
  return port.bytes() * 8 * netlist.lanes(port.grid);
}

namespace {

// Bits of a table up to which it is logic, and no block of memory, whatever a tool would choose.
constexpr i64 most_logic_bits = 2048;

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name)
    if ((c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a) || c == 0x5f) out += c;
  return out.empty() ? "value" : out;
}

// What is named after something of the program begins with a letter of its own, and nothing else does: i_ what belongs
// to an input, o_ to a result, v_ a value; of ports s_, m_, and p_ for scalars. So no name of a program can be taken.
Netlist with_prefixes(Netlist netlist) {
  for (Port& p : netlist.inputs) p.name = "i_" + p.name;
  for (Result& r : netlist.results) r.port.name = "o_" + r.port.name;
  for (Port& p : netlist.scalars) p.name = "p_" + p.name;
  return netlist;
}
std::string stream_name(const Port& p) {
  return p.name.substr(2);
}

class Printer {
 public:
  Printer(const Netlist& netlist, const Schedule& schedule, const VerilogOptions& options)
      : given_(netlist),
        netlist_(with_prefixes(netlist)),
        schedule_(schedule),
        options_(options),
        lines_(hardware::delay_lines(netlist, schedule.line)),
        rows_(hardware::line_memories(netlist, schedule.clock)),
        ticks_(netlist.frame.fixed ? fixed_ticks(netlist_, text_)
                                   : run_time_ticks(netlist_, lines_, options.name, text_)) {
    hardware::check_extents(netlist_, lines_);
  }

  std::string print() {
    head();
    for (const Port& p : netlist_.inputs) entry(p);
    ticks();
    std::uint32_t stage = 0xffffffff;
    for (std::uint32_t k = 0; k < netlist_.size(); ++k) {
      if (at(k).stage != stage && at(k).stage < netlist_.stages.size()) {
        stage = at(k).stage;
        line("\n  // {}", netlist_.stages[stage].empty() ? "result" : netlist_.stages[stage]);
      }
      node(k);
      wait(k);
    }
    delays();
    for (std::size_t r = 0; r < netlist_.results.size(); ++r) result(r);
    line("endmodule");
    line("`default_nettype wire");
    std::string parts = parts_text();
    return fmt::format(
               "// {}: frames of {}{} x {} points, {} a clock; written by Tessera.\n{}{}`default_nettype none\n",
               options_.name, netlist_.frame.fixed ? "" : "at most ", netlist_.frame.height, netlist_.frame.width,
               netlist_.frame.lanes, hardware_notes(given_, lines_), decision_notes(given_) + extents_note()) +
           parts + "\n" + text_;
  }

 private:
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<A>(args)...);
    text_ += '\n';
  }

  const Node& at(std::uint32_t k) const { return netlist_.node({k}); }
  const Frame& frame() const { return netlist_.frame; }

  std::string extents_note() const {
    if (frame().fixed) return "";
    return fmt::format(
        "//\n// {}. They may change while busy is low and no word is offered; error is set where they\n"
        "// change at another time or are others.\n",
        extents_notes(given_, lines_));
  }

  std::string parts_text() const {
    std::string all = verilog_parts;
    for (std::size_t p = all.find("NAME_"); p != std::string::npos; p = all.find("NAME_", p))
      all.replace(p, 4, options_.name);
    return all;
  }

  // ---- ports -------------------------------------------------------------------------------------------------------

  void head() {
    line("module {} (", options_.name);
    line("  input wire clk, input wire rst,");
    if (!frame().fixed)
      line("  input wire [{}:0] height, input wire [{}:0] width,", bits_to(netlist_.given.most[0]) - 1,
           bits_to(netlist_.given.most[1]) - 1);
    for (const Port& p : given_.inputs)
      line(
          "  input wire [{}:0] s_{}_tdata, input wire s_{}_tvalid, output wire s_{}_tready, input wire s_{}_tlast, "
          "input wire s_{}_tuser,",
          word_bits(netlist_, p) - 1, p.name, p.name, p.name, p.name, p.name);
    for (const Port& p : netlist_.scalars) line("  input wire [{}:0] {},", p.bits.width - 1, p.name);
    for (const Result& r : given_.results)
      line(
          "  output wire [{}:0] m_{}_tdata, output wire [{}:0] m_{}_tkeep, output wire m_{}_tvalid, input wire "
          "m_{}_tready, output wire m_{}_tlast, output wire m_{}_tuser,",
          word_bits(netlist_, r.port) - 1, r.port.name, word_bits(netlist_, r.port) / 8 - 1, r.port.name, r.port.name,
          r.port.name, r.port.name, r.port.name);
    if (!frame().fixed) line("  output wire busy,");
    line("  output reg error");
    line(");");
  }

  void entry(const Port& p) {
    const int w = word_bits(netlist_, p);
    const std::string take = take_of(netlist_, p), stream = stream_name(p);
    line("  wire [{}:0] {}_word;\n  wire {}_valid;", w + 1, p.name, p.name);
    if (taken_.insert(take).second) line("  wire {};", take);
    line(
        "  {}_entry #(.W({})) {}_entry (.clk, .rst, .in({{s_{}_tuser, s_{}_tlast, s_{}_tdata}}), "
        ".in_valid(s_{}_tvalid), .in_ready(s_{}_tready),",
        options_.name, w + 2, p.name, stream, stream, stream, stream, stream);
    line("    .out({}_word), .out_valid({}_valid), .take({}));", p.name, p.name, take);
  }

  // ---- ticks -------------------------------------------------------------------------------------------------------

  // The tick travels: en[c] is set while it is at clock c.
  void ticks() {
    line("  reg [{}:1] en{};", std::max(schedule_.depth, 4), frame().fixed ? "" : ", restart");
    ticks_->print();
    line("  always @(posedge clk) en <= rst ? 0 : {{en, tick}};");
  }

  // ---- nodes -------------------------------------------------------------------------------------------------------

  std::string name_of(std::uint32_t k) const {
    const std::uint32_t s = at(k).stage;
    return fmt::format("v_{}_{}", s < netlist_.stages.size() ? plain_name(netlist_.stages[s]) : "n", k);
  }

  // The value at a clock, as it stands.
  std::string bits_at(std::uint32_t k, int clock) const {
    if (at(k).op == Signal::constant) return name_of(k);
    if (hardware::is_static(at(k))) return name_of(k);
    const int later = clock - schedule_.clock[k], w = at(k).bits.width;
    if (later == 0) return name_of(k);
    return fmt::format("{}_q[{}:{}]", name_of(k), later * w - 1, (later - 1) * w);
  }

  // As an operand with a sign.
  std::string signed_at(NodeId n, int clock) const {
    const Node& node = netlist_.node(n);
    if (node.op == Signal::constant)
      return fmt::format("{}{}'sd{}", node.value < 0 ? "-" : "", node.bits.width + 1, magnitude(node.value));
    return node.bits.is_signed ? fmt::format("$signed({})", bits_at(n.id, clock))
                               : fmt::format("$signed({{1'b0, {}}})", bits_at(n.id, clock));
  }

  static std::uint64_t magnitude(i64 v) {
    return v < 0 ? ~static_cast<std::uint64_t>(v) + 1 : static_cast<std::uint64_t>(v);
  }

  std::string expression(const Node& node, int clock) const {
    const auto a = [&](std::size_t k) { return signed_at(node.args[k], clock); };
    switch (node.op) {
      case Signal::add:
        return fmt::format("{} + {}", a(0), a(1));
      case Signal::sub:
        return fmt::format("{} - {}", a(0), a(1));
      case Signal::shift_left:
        return fmt::format("{} <<< {}", a(0), node.value);
      case Signal::shift_right:
        return fmt::format("{} >>> {}", a(0), node.value);
      case Signal::resize:
        return a(0);
      case Signal::bit_and:
        return fmt::format("{} & {}", a(0), a(1));
      case Signal::bit_or:
        return fmt::format("{} | {}", a(0), a(1));
      case Signal::bit_xor:
        return fmt::format("{} ^ {}", a(0), a(1));
      case Signal::bit_not:
        return fmt::format("~{}", a(0));
      case Signal::eq:
        return fmt::format("{} == {}", a(0), a(1));
      case Signal::select:
        return fmt::format("{} ? {} : {}", bits_at(node.args[0].id, clock), a(1), a(2));
      default:
        return {};
    }
  }

  std::string type_of(Bits bits) const {
    return fmt::format("{}[{}:0]", bits.is_signed ? "signed " : "", bits.width - 1);
  }

  void node(std::uint32_t k) {
    const Node& n = at(k);
    const std::string name = name_of(k), type = type_of(n.bits);
    const int clock = schedule_.clock[k], latency = hardware::latency_of(netlist_, n);
    switch (n.op) {
      case Signal::constant:
        line("  localparam {} {} = {}{}'d{};", type, name, n.value < 0 ? "-" : "", n.bits.width, magnitude(n.value));
        return;
      case Signal::scalar:
        line("  wire {} {} = {};", type, name, netlist_.scalars[static_cast<std::size_t>(n.value)].name);
        return;
      case Signal::input:
        return input(n, name, type);
      case Signal::delay:
      case Signal::line:
        line("  wire {} {};", type, name);
        return;
      case Signal::held:
        line("  reg {} {}; always @(posedge clk) if (en[{}] & {}) {} <= {};", type, name, clock,
             bits_at(n.args[1].id, clock), name, bits_at(n.args[0].id, clock));
        return;
      case Signal::mul:
        return product(n, name, type, clock);
      case Signal::lt:
      case Signal::le:
        return comparison(n, name, clock);
      case Signal::up:
      case Signal::down:
        line("  reg signed [{}:0] {}_a;\n  reg [5:0] {}_by;\n  reg {} {};", netlist_.node(n.args[0]).bits.width, name,
             name, type, name);
        line("  always @(posedge clk) begin {}_a <= {}; {}_by <= {}; {} <= {}_a {} {}_by; end", name,
             signed_at(n.args[0], clock - 2), name, bits_at(n.args[1].id, clock - 2), name, name,
             n.op == Signal::up ? "<<<" : ">>>", name);
        return;
      case Signal::table:
        return table(n, name, type, clock);
      case Signal::root:
        line("  wire {} {};\n  {}_root #(.W({})) {}_root (.clk, .x({}), .root({}));", type, name, options_.name,
             2 * hardware::root_bits(netlist_.node(n.args[0]).bits), name, signed_at(n.args[0], clock - latency), name);
        return;
      case Signal::divide:
      case Signal::remainder:
        return division(n, name, type, clock - latency);
      default:
        break;
    }
    if (is_position(n.op))
      ticks_->position(n, name);
    else
      line("  wire {} {} = {};", type, name, expression(n, clock));
  }

  void input(const Node& n, const std::string& name, const std::string& type) {
    const Port& p = netlist_.inputs[static_cast<std::size_t>(n.value)];
    const int element = p.bytes() * 8;
    line("  wire {} {} = {}_word[{}:{}];", type, name, p.name, n.lane * element + n.bits.width - 1, n.lane * element);
  }

  // As the sign of a difference: one chain of carries, where synthesis puts further levels behind `<`.
  void comparison(const Node& n, const std::string& name, int clock) {
    const bool less = n.op == Signal::lt;
    const int w = std::max(signed_width(n.args[0]), signed_width(n.args[1]));
    line("  wire signed [{}:0] {}_d = {} - {}; wire {} = {}{}_d[{}];", w, name, signed_at(n.args[less ? 0 : 1], clock),
         signed_at(n.args[less ? 1 : 0], clock), name, less ? "" : "~", name, w);
  }

  int signed_width(NodeId n) const {
    const Bits bits = netlist_.node(n).bits;
    return bits.width + (bits.is_signed ? 0 : 1);
  }

  void product(const Node& n, const std::string& name, const std::string& type, int clock) {
    const auto width = [&](std::size_t k) { return signed_width(n.args[k]); };
    line("  wire signed [{}:0] {}_a = {}; wire signed [{}:0] {}_b = {}; wire {} {};", width(0) - 1, name,
         signed_at(n.args[0], clock - 2), width(1) - 1, name, signed_at(n.args[1], clock - 2), type, name);
    line("  {}_multiply #(.A({}), .B({}), .P({})) {}_multiply (.clk, .a({}_a), .b({}_b), .p({}));", options_.name,
         width(0), width(1), n.bits.width, name, name, name, name);
  }

  void table(const Node& n, const std::string& name, const std::string& type, int clock) {
    const hardware::Rom& rom = netlist_.tables[static_cast<std::size_t>(n.value)];
    const int index = bits_to(static_cast<i64>(rom.values.size()) - 1);
    // Large ones lie in blocks of memory. Those of an ECP5 have the second register in them, as line buffers do.
    const bool block = (i64{n.bits.width} << index) > most_logic_bits;
    const std::string t = name + (block ? "_block_t" : "_t");
    line("  reg {} {}_r;", type, name);
    line("  (* rom_style = \"{}\" *) reg [{}:0] {} [0:{}];", block ? "block" : "logic", n.bits.width - 1, t,
         (i64{1} << index) - 1);
    line("  initial begin");
    for (std::size_t k = 0; k < static_cast<std::size_t>(i64{1} << index); ++k) {
      const i64 v = k < rom.values.size() ? rom.values[k] : rom.values.back();
      line("    {}[{}] = {}{}'d{};", t, k, v < 0 ? "-" : "", n.bits.width, magnitude(v));
    }
    line("  end");
    line("  wire [{}:0] {}_at = {};", index - 1, name, signed_at(n.args[0], clock - 2));
    line("  always @(posedge clk) {}_r <= {}[{}_at];", name, t, name);
    if (block) line("`ifdef TESSERA_ECP5\n  wire {0} {1} = {1}_r;\n`else", type, name);
    line("  reg {0} {1}; always @(posedge clk) {1} <= {1}_r;", type, name);
    if (block) line("`endif");
  }

  void division(const Node& n, const std::string& name, const std::string& type, int clock) {
    const int dividend = netlist_.node(n.args[0]).bits.width, divisor = netlist_.node(n.args[1]).bits.width;
    const int rows = hardware::quotient_bits(netlist_, n);
    const bool quotient = n.op == Signal::divide;
    line("  wire signed [{}:0] {}_n = {}; wire signed [{}:0] {}_by = {}; wire signed [{}:0] {}_d;", dividend, name,
         signed_at(n.args[0], clock), divisor, name, signed_at(n.args[1], clock), quotient ? rows : divisor, name);
    line("  {0}_divide #(.N({1}), .D({2}), .Q({3})) {4}_divide (.clk, .n({4}_n), .d({4}_by), .{5}({4}_d), .{6}());",
         options_.name, dividend, divisor, rows, name, quotient ? "quotient" : "remainder",
         quotient ? "remainder" : "quotient");
    line("  wire {} {} = {}_d;", type, name, name);
  }

  // Registers in which a value waits for those that are later.
  void wait(std::uint32_t k) {
    if (hardware::is_static(at(k))) return;
    const int by = schedule_.until[k] - schedule_.clock[k], w = at(k).bits.width;
    if (by <= 0) return;
    const std::string n = name_of(k);
    line("  reg [{}:0] {}_q; always @(posedge clk) {}_q <= {{{}_q, {}}};", by * w - 1, n, n, n, n);
  }

  // ---- delays ------------------------------------------------------------------------------------------------------

  void delays() {
    for (std::size_t m = 0; m < rows_.size(); ++m) rows(m);
    if (lines_.lines.empty()) return;
    line("\n  // What was: shift registers and line buffers.");
    // By memory: the pieces that lie in it, lowest bits first, what they take and what they give.
    std::map<int, std::string> in, out;
    for (const DelayLine& l : lines_.lines) {
      const int w = netlist_.node(l.source).bits.width, clock = schedule_.line[l.source.id];
      std::string before = bits_at(l.source.id, clock);
      for (std::size_t p = 0; p < l.pieces.size(); ++p) {
        const DelayPiece& piece = l.pieces[p];
        const std::string name = fmt::format("{}_past{}", name_of(l.source.id), p);
        line("  wire [{}:0] {};", w - 1, name);
        if (piece.memory >= 0) {
          in[piece.memory] = in[piece.memory].empty() ? before : before + ", " + in[piece.memory];
          out[piece.memory] = out[piece.memory].empty() ? name : name + ", " + out[piece.memory];
        } else {
          const i64 length = netlist_.ticks(piece.length);
          line("  reg [{}:0] {}_r; always @(posedge clk) if (en[{}]) {}_r <= {{{}_r, {}}};", length * w - 1, name,
               clock, name, name, before);
          line("  assign {} = {}_r[{}:{}];", name, name, length * w - 1, (length - 1) * w);
        }
        before = name;
      }
      for (const auto& [tap, piece] : l.taps)
        line("  assign {} = {}_past{};", name_of(tap), name_of(l.source.id), piece);
    }
    for (std::size_t m = 0; m < lines_.memories.size(); ++m) ring(m, in[static_cast<int>(m)], out[static_cast<int>(m)]);
  }

  // Lines of images that are coarser than the frame: written in their rows alone.
  void rows(std::size_t m) {
    const hardware::LineMemory& memory = rows_[m];
    const i64 size = netlist_.ticks(memory.length) / memory.step;
    const int log = bits_to(size - 1), clock = memory.clock;
    std::string in, out;
    for (const NodeId n : memory.lines) {
      in = bits_at(netlist_.node(n).args[0].id, clock) + (in.empty() ? "" : ", " + in);
      out = name_of(n.id) + (out.empty() ? "" : ", " + out);
    }
    line("  wire [{}:0] line{}_in = {{{}}};\n  wire [{}:0] line{}_out;", memory.width - 1, m, in, memory.width - 1, m);
    line("  assign {{{}}} = line{}_out;", out, m);
    const std::string length = ticks_->length(memory.length);
    line("  wire [{}:0] line{}_last = {} - 1;", log - 1, m,
         frame().fixed      ? fmt::format("{}", size)
         : memory.step == 1 ? length
                            : fmt::format("{} / {}", length, memory.step));
    line(
        "  {}_ring #(.W({}), .LOG({}), .SIZE({})) line{} (.clk, .rst({}), .ahead(en[{}] & {}), .en(en[{}] & {}), "
        ".last(line{}_last), .d(line{}_in), .q(line{}_out));",
        options_.name, memory.width, log, frame().fixed ? size : i64{1} << log, m,
        frame().fixed ? "rst" : fmt::format("rst | restart[{}]", clock - 2), clock - 2,
        bits_at(memory.steps.id, clock - 2), clock, bits_at(memory.writes.id, clock), m, m, m);
  }

  void ring(std::size_t m, const std::string& in, const std::string& out) {
    const hardware::DelayMemory& memory = lines_.memories[m];
    const i64 length = netlist_.ticks(memory.length);
    const int log = bits_to(length - 1);
    line("  wire [{}:0] ring{}_in = {{{}}};\n  wire [{}:0] ring{}_out;", memory.width - 1, m, in, memory.width - 1, m);
    line("  assign {{{}}} = ring{}_out;", out, m);
    if (hardware::follows_columns(netlist_, memory.length, memory.clock)) {
      line(
          "  {}_rows #(.W({}), .LOG({}), .SIZE({})) ring{} (.clk, .at(x), .en(en[{}]), .d(ring{}_in), .q(ring{}_out));",
          options_.name, memory.width, log, length, m, memory.clock, m, m);
      return;
    }
    const std::string ticks = ticks_->length(memory.length);
    line("  wire [{}:0] ring{}_last = {} - 1;", log - 1, m, ticks);
    line(
        "  {}_ring #(.W({}), .LOG({}), .SIZE({})) ring{} (.clk, .rst({}), .ahead(en[{}]), .en(en[{}]), "
        ".last(ring{}_last), .d(ring{}_in), .q(ring{}_out));",
        options_.name, memory.width, log, frame().fixed ? length : i64{1} << log, m,
        frame().fixed ? "rst" : fmt::format("rst | restart[{}]", memory.clock - 2), memory.clock - 2, memory.clock, m,
        m, m);
  }

  // ---- results -----------------------------------------------------------------------------------------------------

  void result(std::size_t k) {
    const Result& r = netlist_.results[k];
    const std::string &n = r.port.name, m = stream_name(r.port);
    const int clock = schedule_.result[k], by = clock - hardware::position_clock;
    line("\n  // {}", m);
    ticks_->marks(r, n);
    for (const char* mark : {"there", "first", "last"})
      if (by > 0)
        line("  reg [{0}:0] {1}_{2}_q; always @(posedge clk) {1}_{2}_q <= {{{1}_{2}_q, {1}_{2}}};", by - 1, n, mark);
    const std::string at = by > 0 ? fmt::format("_q[{}]", by - 1) : "";
    std::string data;
    const int bits = kept_bits(r.port);
    for (std::size_t l = r.lanes.size(); l-- > 0;) {
      const std::string lane = fmt::format("{}_lane{}", n, l);
      line("  wire [{}:0] {} = {};", bits - 1, lane, signed_at(r.lanes[l], clock));
      data += (data.empty() ? "" : ", ") + lane;
    }
    // What may be under way when the sink stops, twice: so much is there, too, until new words are, when it goes on.
    const int room = clock + 2, log = bits_to(2 * room - 1), w = bits * netlist_.lanes(r.port.grid);
    line("  wire [{}:0] {}_out;", w + 1, n);
    line(
        "  {}_exit #(.W({}), .LOG({}), .MARK({})) {}_exit (.clk, .rst, .in({{{}_first{}, {}_last{}, {}}}), "
        ".in_valid(en[{}] & {}_there{}), .full({}_full),",
        options_.name, w + 2, log, (1 << log) - room, n, n, at, n, at, data, clock, n, at, n);
    line("    .out({}_out), .out_valid(m_{}_tvalid), .out_ready(m_{}_tready), .busy({}));", n, m, m,
         frame().fixed ? "" : n + "_busy");
    line("  assign m_{}_tlast = {}_out[{}];\n  assign m_{}_tuser = {}_out[{}];", m, n, w, m, n, w + 1);
    words_out(r.port, bits);
  }

  // Of an element, those that say something.
  static int kept_bits(const Port& port) { return std::min(port.bits.width, port.bytes() * 8); }

  void words_out(const Port& port, int bits) {
    const std::string& n = port.name;
    const int element = port.bytes() * 8;
    std::string word;
    for (int l = netlist_.lanes(port.grid); l-- > 0;) {
      const std::string value = fmt::format("{}_out[{}:{}]", n, (l + 1) * bits - 1, l * bits);
      const std::string sign = port.bits.is_signed ? fmt::format("{}_out[{}]", n, (l + 1) * bits - 1) : "1'b0";
      word += word.empty() ? "" : ", ";
      word += bits == element ? value : fmt::format("{{{}{{{}}}}}, {}", element - bits, sign, value);
    }
    line("  assign m_{}_tdata = {{{}}};", stream_name(port), word);
    keep(port, element / 8);
  }

  void keep(const Port& port, int bytes) {
    const std::string n = stream_name(port);
    const int lanes = netlist_.lanes(port.grid), low = std::countr_zero(static_cast<unsigned>(lanes)) - 1;
    const i64 rest = port.grid.columns.points(netlist_.given.most[1]) % lanes;
    const std::string columns = frame().fixed || lanes == 1 ? "" : ticks_->columns(port.grid);
    std::string mask;
    for (int l = lanes; l-- > 0;) {
      std::string there = "1'b1";
      if (l > 0 && frame().fixed && rest != 0 && l >= rest)
        there = fmt::format("~m_{}_tlast", n);
      else if (l > 0 && !frame().fixed)
        there = fmt::format("~m_{0}_tlast | {1}[{2}:0] == 0 | {1}[{2}:0] > {3}", n, columns, low, l);
      mask += fmt::format("{}{{{}{{{}}}}}", mask.empty() ? "" : ", ", bytes, there);
    }
    line("  assign m_{}_tkeep = {{{}}};", n, mask);
  }

  const Netlist& given_;
  const Netlist netlist_;
  const Schedule& schedule_;
  const VerilogOptions& options_;
  hardware::DelayLines lines_;
  std::vector<hardware::LineMemory> rows_;
  std::set<std::string> taken_;
  std::string text_;
  std::unique_ptr<VerilogTicks> ticks_;
};

}  // namespace

std::string print_verilog(const Netlist& netlist, const Schedule& schedule, const VerilogOptions& options) {
  check_module_name(options.name);
  return Printer(netlist, schedule, options).print();
}

}  // namespace tessera::emit
