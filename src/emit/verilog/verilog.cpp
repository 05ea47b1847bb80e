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
using namespace fmt::literals;

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
               "// {name}: frames of {at_most}{height} x {width} points, {lanes} a clock; written by Tessera.\n"
               "{notes}`default_nettype none\n",
               "name"_a = options_.name, "at_most"_a = netlist_.frame.fixed ? "" : "at most ",
               "height"_a = netlist_.frame.height, "width"_a = netlist_.frame.width, "lanes"_a = netlist_.frame.lanes,
               "notes"_a = hardware_notes(given_, lines_) + decision_notes(given_) + extents_note()) +
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
          "  input wire [{1}:0] s_{0}_tdata, input wire s_{0}_tvalid, output wire s_{0}_tready, input wire "
          "s_{0}_tlast, "
          "input wire s_{0}_tuser,",
          p.name, word_bits(netlist_, p) - 1);
    for (const Port& p : netlist_.scalars) line("  input wire [{}:0] {},", p.bits.width - 1, p.name);
    for (const Result& r : given_.results)
      line(
          "  output wire [{1}:0] m_{0}_tdata, output wire [{2}:0] m_{0}_tkeep, output wire m_{0}_tvalid, input wire "
          "m_{0}_tready, output wire m_{0}_tlast, output wire m_{0}_tuser,",
          r.port.name, word_bits(netlist_, r.port) - 1, word_bits(netlist_, r.port) / 8 - 1);
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
        "  {module}_entry #(.W({width})) {port}_entry (.clk, .rst, .in({{s_{stream}_tuser, s_{stream}_tlast, "
        "s_{stream}_tdata}}), .in_valid(s_{stream}_tvalid), .in_ready(s_{stream}_tready),",
        "module"_a = options_.name, "width"_a = w + 2, "port"_a = p.name, "stream"_a = stream);
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

  static std::string literal(i64 v, int width) {
    return fmt::format("{}{}'d{}", v < 0 ? "-" : "", width, magnitude(v));
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
        line("  localparam {} {} = {};", type, name, literal(n.value, n.bits.width));
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
        line("  reg {type} {name}; always @(posedge clk) if (en[{clock}] & {when}) {name} <= {value};", "type"_a = type,
             "name"_a = name, "clock"_a = clock, "when"_a = bits_at(n.args[1].id, clock),
             "value"_a = bits_at(n.args[0].id, clock));
        return;
      case Signal::mul:
        return product(n, name, type, clock);
      case Signal::lt:
      case Signal::le:
        return comparison(n, name, clock);
      case Signal::up:
      case Signal::down:
        line("  reg signed [{1}:0] {0}_a;\n  reg [5:0] {0}_by;\n  reg {2} {0};", name,
             netlist_.node(n.args[0]).bits.width, type);
        line(
            "  always @(posedge clk) begin {name}_a <= {a}; {name}_by <= {by}; {name} <= {name}_a {shift} {name}_by; "
            "end",
            "name"_a = name, "a"_a = signed_at(n.args[0], clock - 2), "by"_a = bits_at(n.args[1].id, clock - 2),
            "shift"_a = n.op == Signal::up ? "<<<" : ">>>");
        return;
      case Signal::table:
        return table(n, name, type, clock);
      case Signal::root:
        line("  wire {type} {name};\n  {module}_root #(.W({width})) {name}_root (.clk, .x({x}), .root({name}));",
             "type"_a = type, "name"_a = name, "module"_a = options_.name,
             "width"_a = 2 * hardware::root_bits(netlist_.node(n.args[0]).bits),
             "x"_a = signed_at(n.args[0], clock - latency));
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
    line("  wire {type} {name} = {port}_word[{high}:{low}];", "type"_a = type, "name"_a = name, "port"_a = p.name,
         "high"_a = n.lane * element + n.bits.width - 1, "low"_a = n.lane * element);
  }

  // As the sign of a difference: one chain of carries, where synthesis puts further levels behind `<`.
  void comparison(const Node& n, const std::string& name, int clock) {
    const bool less = n.op == Signal::lt;
    const int w = std::max(signed_width(n.args[0]), signed_width(n.args[1]));
    line("  wire signed [{width}:0] {name}_d = {a} - {b}; wire {name} = {no}{name}_d[{width}];", "width"_a = w,
         "name"_a = name, "a"_a = signed_at(n.args[less ? 0 : 1], clock),
         "b"_a = signed_at(n.args[less ? 1 : 0], clock), "no"_a = less ? "" : "~");
  }

  int signed_width(NodeId n) const {
    const Bits bits = netlist_.node(n).bits;
    return bits.width + (bits.is_signed ? 0 : 1);
  }

  void product(const Node& n, const std::string& name, const std::string& type, int clock) {
    const auto width = [&](std::size_t k) { return signed_width(n.args[k]); };
    line("  wire signed [{a_high}:0] {name}_a = {a}; wire signed [{b_high}:0] {name}_b = {b}; wire {type} {name};",
         "name"_a = name, "a_high"_a = width(0) - 1, "a"_a = signed_at(n.args[0], clock - 2), "b_high"_a = width(1) - 1,
         "b"_a = signed_at(n.args[1], clock - 2), "type"_a = type);
    line(
        "  {module}_multiply #(.A({a}), .B({b}), .P({p})) {name}_multiply (.clk, .a({name}_a), .b({name}_b), "
        ".p({name}));",
        "module"_a = options_.name, "a"_a = width(0), "b"_a = width(1), "p"_a = n.bits.width, "name"_a = name);
  }

  void table(const Node& n, const std::string& name, const std::string& type, int clock) {
    const hardware::Rom& rom = netlist_.tables[static_cast<std::size_t>(n.value)];
    const int index = bits_to(static_cast<i64>(rom.values.size()) - 1);
    // Large ones lie in blocks of memory. Those of an ECP5 have the second register in them, as line buffers do.
    const bool block = (i64{n.bits.width} << index) > most_logic_bits;
    const std::string t = name + (block ? "_block_t" : "_t");
    line("  reg {} {}_r;", type, name);
    line("  (* rom_style = \"{style}\" *) reg [{high}:0] {table} [0:{last}];", "style"_a = block ? "block" : "logic",
         "high"_a = n.bits.width - 1, "table"_a = t, "last"_a = (i64{1} << index) - 1);
    line("  initial begin");
    for (std::size_t k = 0; k < static_cast<std::size_t>(i64{1} << index); ++k) {
      const i64 v = k < rom.values.size() ? rom.values[k] : rom.values.back();
      line("    {}[{}] = {};", t, k, literal(v, n.bits.width));
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
    line(
        "  wire signed [{n_bits}:0] {name}_n = {n}; wire signed [{by_bits}:0] {name}_by = {by}; wire signed "
        "[{d_bits}:0] {name}_d;",
        "name"_a = name, "n_bits"_a = dividend, "n"_a = signed_at(n.args[0], clock), "by_bits"_a = divisor,
        "by"_a = signed_at(n.args[1], clock), "d_bits"_a = quotient ? rows : divisor);
    line(
        "  {module}_divide #(.N({n_bits}), .D({d_bits}), .Q({rows})) {name}_divide (.clk, .n({name}_n), .d({name}_by), "
        ".{wanted}({name}_d), .{other}());",
        "module"_a = options_.name, "n_bits"_a = dividend, "d_bits"_a = divisor, "rows"_a = rows, "name"_a = name,
        "wanted"_a = quotient ? "quotient" : "remainder", "other"_a = quotient ? "remainder" : "quotient");
    line("  wire {0} {1} = {1}_d;", type, name);
  }

  // Registers in which a value waits for those that are later.
  void wait(std::uint32_t k) {
    if (hardware::is_static(at(k))) return;
    const int by = schedule_.until[k] - schedule_.clock[k], w = at(k).bits.width;
    if (by <= 0) return;
    const std::string n = name_of(k);
    line("  reg [{1}:0] {0}_q; always @(posedge clk) {0}_q <= {{{0}_q, {0}}};", n, by * w - 1);
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
          line("  reg [{high}:0] {name}_r; always @(posedge clk) if (en[{clock}]) {name}_r <= {{{name}_r, {before}}};",
               "high"_a = length * w - 1, "name"_a = name, "clock"_a = clock, "before"_a = before);
          line("  assign {0} = {0}_r[{1}:{2}];", name, length * w - 1, (length - 1) * w);
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
    ends("line", m, memory.width, in, out);
    const std::string length = ticks_->length(memory.length);
    line("  wire [{}:0] line{}_last = {} - 1;", log - 1, m,
         frame().fixed      ? fmt::format("{}", size)
         : memory.step == 1 ? length
                            : fmt::format("{} / {}", length, memory.step));
    ring_part(fmt::format("line{}", m), memory.width, log, size, clock,
              fmt::format("en[{}] & {}", clock - 2, bits_at(memory.steps.id, clock - 2)),
              fmt::format("en[{}] & {}", clock, bits_at(memory.writes.id, clock)));
  }

  // What goes into a memory, NAME_in, and what comes out of it.
  void ends(const char* kind, std::size_t m, int width, const std::string& in, const std::string& out) {
    line("  wire [{high}:0] {kind}{m}_in = {{{in}}};\n  wire [{high}:0] {kind}{m}_out;", "high"_a = width - 1,
         "kind"_a = kind, "m"_a = m, "in"_a = in);
    line("  assign {{{}}} = {}{}_out;", out, kind, m);
  }

  void ring_part(const std::string& name, int width, int log, i64 size, int clock, const std::string& ahead,
                 const std::string& enabled) {
    line(
        "  {module}_ring #(.W({width}), .LOG({log}), .SIZE({size})) {name} (.clk, .rst({rst}), .ahead({ahead}), "
        ".en({enabled}), .last({name}_last), .d({name}_in), .q({name}_out));",
        "module"_a = options_.name, "width"_a = width, "log"_a = log, "size"_a = frame().fixed ? size : i64{1} << log,
        "name"_a = name, "rst"_a = frame().fixed ? "rst" : fmt::format("rst | restart[{}]", clock - 2),
        "ahead"_a = ahead, "enabled"_a = enabled);
  }

  void ring(std::size_t m, const std::string& in, const std::string& out) {
    const hardware::DelayMemory& memory = lines_.memories[m];
    const i64 length = netlist_.ticks(memory.length);
    const int log = bits_to(length - 1);
    ends("ring", m, memory.width, in, out);
    if (hardware::follows_columns(netlist_, memory.length, memory.clock)) {
      line(
          "  {module}_rows #(.W({width}), .LOG({log}), .SIZE({size})) ring{m} (.clk, .at(x), .en(en[{clock}]), "
          ".d(ring{m}_in), .q(ring{m}_out));",
          "module"_a = options_.name, "width"_a = memory.width, "log"_a = log, "size"_a = length, "m"_a = m,
          "clock"_a = memory.clock);
      return;
    }
    const std::string ticks = ticks_->length(memory.length);
    line("  wire [{}:0] ring{}_last = {} - 1;", log - 1, m, ticks);
    ring_part(fmt::format("ring{}", m), memory.width, log, length, memory.clock,
              fmt::format("en[{}]", memory.clock - 2), fmt::format("en[{}]", memory.clock));
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
        "  {module}_exit #(.W({width}), .LOG({log}), .MARK({mark})) {name}_exit (.clk, .rst, .in({{{name}_first{at}, "
        "{name}_last{at}, {data}}}), .in_valid(en[{clock}] & {name}_there{at}), .full({name}_full),",
        "module"_a = options_.name, "width"_a = w + 2, "log"_a = log, "mark"_a = (1 << log) - room, "name"_a = n,
        "at"_a = at, "data"_a = data, "clock"_a = clock);
    line("    .out({0}_out), .out_valid(m_{1}_tvalid), .out_ready(m_{1}_tready), .busy({2}));", n, m,
         frame().fixed ? "" : n + "_busy");
    line("  assign m_{port}_tlast = {name}_out[{last}];\n  assign m_{port}_tuser = {name}_out[{user}];", "port"_a = m,
         "name"_a = n, "last"_a = w, "user"_a = w + 1);
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
        there = fmt::format("~m_{port}_tlast | {columns}[{low}:0] == 0 | {columns}[{low}:0] > {lane}", "port"_a = n,
                            "columns"_a = columns, "low"_a = low, "lane"_a = l);
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
