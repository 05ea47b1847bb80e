// A netlist and its clocks as text: ports, ticks, positions, nodes by stage, line buffers, results.
#include "emit/verilog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <set>

#include "base/text.hpp"
#include "emit/hardware_notes.hpp"
#include "emit/verilog_parts.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

using hardware::Bits;
using hardware::DelayLine;
using hardware::DelayPiece;
using hardware::Frame;
using hardware::Lag;
using hardware::Netlist;
using hardware::Node;
using hardware::NodeId;
using hardware::Port;
using hardware::Result;
using hardware::Schedule;
using hardware::Signal;

int word_bits(const Netlist& netlist, const Port& port) {
  return static_cast<int>(size_of(port.type)) * 8 * netlist.frame.lanes;
}

namespace {

// Bits that count to n.
int bits_to(i64 n) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))));
}

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name)
    if ((c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a) || c == 0x5f) out += c;
  return out.empty() ? "value" : out;
}

class Printer {
 public:
  Printer(const Netlist& netlist, const Schedule& schedule, const VerilogOptions& options)
      : netlist_(netlist),
        schedule_(schedule),
        options_(options),
        lines_(hardware::delay_lines(netlist, schedule.line)) {
    for (const DelayLine& line : lines_.lines)
      for (const auto& [tap, piece] : line.taps) taps_[tap] = {&line, piece};
    row_bits_ = bits_to(netlist.frame.pitch());
    column_bits_ = bits_to(netlist.frame.height);
    lag_bits_ = row_bits_ + column_bits_ + 1;
  }

  std::string print() {
    head();
    for (const Port& p : netlist_.inputs) entry(p);
    extents();
    ticks();
    for (const Lag& lag : lags()) position(lag);
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
    return fmt::format("// {}: frames of {}{} x {} points, {} a clock; written by Tessera.\n", options_.name,
                       netlist_.frame.fixed ? "" : "at most ", netlist_.frame.height, netlist_.frame.width,
                       netlist_.frame.lanes) +
           hardware_notes(netlist_, lines_) + "`default_nettype none\n" + parts + "\n" + text_;
  }

 private:
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<A>(args)...);
    text_ += '\n';
  }

  const Node& at(std::uint32_t k) const { return netlist_.node({k}); }
  const Frame& frame() const { return netlist_.frame; }

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
      line("  input wire [{}:0] height, input wire [{}:0] width,", bits_to(frame().height) - 1,
           bits_to(frame().width) - 1);
    for (const Port& p : netlist_.inputs)
      line(
          "  input wire [{}:0] s_{}_tdata, input wire s_{}_tvalid, output wire s_{}_tready, input wire s_{}_tlast, "
          "input wire s_{}_tuser,",
          word_bits(netlist_, p) - 1, p.name, p.name, p.name, p.name, p.name);
    for (const Port& p : netlist_.scalars) line("  input wire [{}:0] {},", p.bits.width - 1, p.name);
    for (const Result& r : netlist_.results)
      line(
          "  output wire [{}:0] m_{}_tdata, output wire [{}:0] m_{}_tkeep, output wire m_{}_tvalid, input wire "
          "m_{}_tready, output wire m_{}_tlast, output wire m_{}_tuser,",
          word_bits(netlist_, r.port) - 1, r.port.name, word_bits(netlist_, r.port) / 8 - 1, r.port.name, r.port.name,
          r.port.name, r.port.name, r.port.name);
    line("  output reg error");
    line(");");
  }

  void entry(const Port& p) {
    const int w = word_bits(netlist_, p);
    line("  wire [{}:0] {}_word;\n  wire {}_valid, take;", w + 1, p.name, p.name);
    if (&p != &netlist_.inputs.front()) text_.erase(text_.rfind(", take"), 6);
    line(
        "  {}_entry #(.W({})) {}_entry (.clk, .rst, .in({{s_{}_tuser, s_{}_tlast, s_{}_tdata}}), "
        ".in_valid(s_{}_tvalid), .in_ready(s_{}_tready),",
        options_.name, w + 2, p.name, p.name, p.name, p.name, p.name, p.name);
    line("    .out({}_word), .out_valid({}_valid), .take);", p.name, p.name);
  }

  // ---- extents -----------------------------------------------------------------------------------------------------

  void extents() {
    const int x = row_bits_, y = column_bits_;
    if (frame().fixed) {
      line("  localparam [{}:0] last_x = {}, last_word = {};", x - 1, frame().pitch() - 1, frame().words() - 1);
      line("  localparam [{}:0] last_y = {};", y - 1, frame().height - 1);
      line("  wire good = 1'b1;");
      return;
    }
    const int lanes = frame().lanes, shift = std::countr_zero(static_cast<unsigned>(lanes));
    const i64 least = hardware::least_width(netlist_, lines_);
    line("  // What follows from the extents; they stand still while frames are under way.");
    line("  reg [{}:0] last_x, last_word;\n  reg [{}:0] last_y;\n  reg good;", x - 1, y - 1);
    line("  wire [{}:0] words = (width + {}) >> {};", bits_to(frame().width + lanes), lanes - 1, shift);
    line("  always @(posedge clk) begin");
    line("    last_word <= words - 1;");
    line("    last_x <= words < {} ? {} : words - 1;", hardware::least_pitch, hardware::least_pitch - 1);
    line("    last_y <= height - 1;");
    line("    good <= height >= {} && height <= {} && width >= {} && width <= {};", netlist_.least_height,
         frame().height, least, frame().width);
    line("  end");
  }

  // Ticks of a lag.
  std::string ticks_of(Lag lag) const {
    if (frame().fixed) return fmt::format("{}'d{}", lag_bits_, netlist_.ticks(lag));
    if (lag.rows == 0) return fmt::format("{}'d{}", lag_bits_, lag.words);
    return fmt::format("lag_{}", lag_name(lag));
  }

  static std::string lag_name(Lag lag) {
    return fmt::format("{}_{}{}", lag.rows, lag.words < 0 ? "m" : "", std::abs(lag.words));
  }

  void declare_lag(Lag lag) {
    if (frame().fixed || lag.rows == 0 || !declared_.insert(lag).second) return;
    line("  reg [{}:0] lag_{};", lag_bits_ - 1, lag_name(lag));
    line("  always @(posedge clk) lag_{} <= {} * ({}'d0 + last_x + 1'b1) {} {};", lag_name(lag), lag.rows, lag_bits_,
         lag.words < 0 ? '-' : '+', std::abs(lag.words));
  }

  // ---- ticks -------------------------------------------------------------------------------------------------------

  Lag longest() const {
    Lag most;
    for (const Result& r : netlist_.results)
      if (netlist_.ticks(r.lag) > netlist_.ticks(most)) most = r.lag;
    return most;
  }

  void ticks() {
    const Lag lag = longest();
    std::string have = "1'b1", full, wrong;
    for (const Port& p : netlist_.inputs) {
      have += fmt::format(" & {}_valid", p.name);
      wrong += fmt::format(" | (take & ({{{}_word[{}], {}_word[{}]}} != {{first, at_word == last_word}}))", p.name,
                           word_bits(netlist_, p) + 1, p.name, word_bits(netlist_, p));
    }
    for (const Result& r : netlist_.results) {
      line("  wire {}_full;", r.port.name);
      full += fmt::format("{}{}_full", full.empty() ? "" : " | ", r.port.name);
    }
    for (const Lag& l : lags()) declare_lag(l);
    declare_lag(lag);
    line("\n  // Ticks: a word of every input, or none beyond the end of a short row and behind the last frame.");
    line("  reg [{}:0] at_word;\n  reg [{}:0] at_row;\n  reg first, under_way, drains;\n  reg [{}:0] drained;",
         row_bits_ - 1, column_bits_ - 1, lag_bits_ - 1);
    line("  wire go = good & ~({});", full);
    line("  wire in_row = at_word <= last_word;");
    line("  wire have = {};", have);
    line("  wire ends = drained + 1'b1 == {};", ticks_of(lag));
    line("  wire drain = go & (drains | (first & under_way & ~have){});", netlist_.ticks(lag) == 0 ? " & 1'b0" : "");
    line("  wire word = go & ~drain & ~drains & (have | ~in_row);");
    line("  wire tick = drain | word;");
    if (!netlist_.inputs.empty()) line("  assign take = word & in_row;");
    line("  always @(posedge clk) begin");
    line("    if (rst) begin");
    line("      at_word <= 0; at_row <= 0; first <= 1'b1; under_way <= 1'b0; drains <= 1'b0; drained <= 0;");
    line("    end else begin");
    line("      if (word) begin");
    line("        first <= at_word == last_x & at_row == last_y;");
    line("        under_way <= 1'b1;");
    line("        at_word <= at_word == last_x ? 0 : at_word + 1'b1;");
    line("        if (at_word == last_x) at_row <= at_row == last_y ? 0 : at_row + 1'b1;");
    line("      end");
    line("      if (drain) begin");
    line("        drains <= ~ends;");
    line("        if (ends) under_way <= 1'b0;");
    line("        drained <= ends ? 0 : drained + 1'b1;");
    line("      end");
    line("    end");
    line("    error <= ~rst & (error{}{});", frame().fixed ? "" : " | (have & ~good)", wrong);
    line("  end");
    // The tick travels: en[c] is set while it is at clock c.
    line("  reg [{}:1] en;", std::max(schedule_.depth, 4));
    line("  always @(posedge clk) en <= rst ? 0 : {{en, tick}};");
    line("  reg drain_1, restart_1;\n  reg [{}:0] drained_1;", lag_bits_ - 1);
    line("  always @(posedge clk) begin drain_1 <= drain; restart_1 <= drain & ends; drained_1 <= drained; end");
  }

  // ---- positions ---------------------------------------------------------------------------------------------------

  Lag whole(Lag lag) const { return frame().fixed ? Lag{0, netlist_.ticks(lag)} : lag; }

  std::set<Lag> lags() const {
    std::set<Lag> all;
    for (std::uint32_t k = 0; k < netlist_.size(); ++k)
      if (of_position(at(k).op)) all.insert(whole(at(k).lag));
    for (const Result& r : netlist_.results) all.insert(whole(r.lag));
    return all;
  }

  static bool of_position(Signal s) {
    return s == Signal::row || s == Signal::column || s == Signal::row_is || s == Signal::row_left_is ||
           s == Signal::column_is || s == Signal::column_left_is;
  }

  void position(Lag lag) {
    const std::string n = lag_name(lag);
    line("  wire there_{};\n  wire [{}:0] x_{};\n  wire [{}:0] y_{};", n, row_bits_ - 1, n, column_bits_ - 1, n);
    line(
        "  {}_position #(.X({}), .Y({}), .L({})) position_{} (.clk, .rst, .step(en[1]), .restart(en[1] & restart_1), "
        ".lag({}), .last_x, .last_y,",
        options_.name, row_bits_, column_bits_, lag_bits_, n, ticks_of(lag));
    line("    .there(there_{}), .x(x_{}), .y(y_{}));", n, n, n);
  }

  std::string position_value(const Node& node) const {
    const std::string n = lag_name(whole(node.lag));
    const int lanes = frame().lanes, shift = std::countr_zero(static_cast<unsigned>(lanes));
    const std::string column =
        lanes == 1 ? fmt::format("x_{}", n) : fmt::format("{{x_{}, {}'d{}}}", n, shift, node.lane);
    switch (node.op) {
      case Signal::row:
        return fmt::format("y_{}", n);
      case Signal::column:
        return column;
      case Signal::row_is:
        return fmt::format("there_{} & y_{} == {}", n, n, node.value);
      case Signal::row_left_is:
        return fmt::format("there_{} & y_{} + {} == last_y", n, n, node.value);
      case Signal::column_is:
        return fmt::format("there_{} & x_{} == {}", n, n, (node.value - node.lane) / lanes);
      default:
        return fmt::format("there_{} & {} + {} == width", n, column, node.value + 1);
    }
  }

  // ---- nodes -------------------------------------------------------------------------------------------------------

  std::string name_of(std::uint32_t k) const {
    const std::uint32_t s = at(k).stage;
    return fmt::format("{}_{}", s < netlist_.stages.size() ? plain_name(netlist_.stages[s]) : "n", k);
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
      case Signal::lt:
        return fmt::format("{} < {}", a(0), a(1));
      case Signal::le:
        return fmt::format("{} <= {}", a(0), a(1));
      case Signal::select:
        return fmt::format("{} ? {} : {}", bits_at(node.args[0].id, clock), a(1), a(2));
      default:
        return position_value(node);
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
        line("  wire {} {};", type, name);
        return;
      case Signal::mul:
        return product(n, name, type, clock);
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
    if (latency == 0)
      line("  wire {} {} = {};", type, name, expression(n, clock));
    else if (of_position(n.op) && clock > hardware::position_clock)
      line(
          "  wire [{}:0] {}_p = {};\n  reg [{}:0] {}_r; always @(posedge clk) {}_r <= {{{}_r, {}_p}};\n  wire {} {} = "
          "{}_r[{}:{}];",
          n.bits.width - 1, name, position_value(n), (clock - 1) * n.bits.width - 1, name, name, name, name, type, name,
          name, (clock - 1) * n.bits.width - 1, (clock - 2) * n.bits.width);
    else
      line("  reg {} {}; always @(posedge clk) {} <= {};", type, name, name, expression(n, clock - 1));
  }

  void input(const Node& n, const std::string& name, const std::string& type) {
    const Port& p = netlist_.inputs[static_cast<std::size_t>(n.value)];
    const int element = static_cast<int>(size_of(p.type)) * 8;
    line("  reg {} {}; always @(posedge clk) {} <= {}_word[{}:{}];", type, name, name, p.name,
         n.lane * element + n.bits.width - 1, n.lane * element);
  }

  void product(const Node& n, const std::string& name, const std::string& type, int clock) {
    const auto width = [&](std::size_t k) { return netlist_.node(n.args[k]).bits.width; };
    line("  reg signed [{}:0] {}_a; reg signed [{}:0] {}_b; reg {} {}_m, {};", width(0), name, width(1), name, type,
         name, name);
    line("  always @(posedge clk) begin {}_a <= {}; {}_b <= {}; {}_m <= {}_a * {}_b; {} <= {}_m; end", name,
         signed_at(n.args[0], clock - 3), name, signed_at(n.args[1], clock - 3), name, name, name, name, name);
  }

  void table(const Node& n, const std::string& name, const std::string& type, int clock) {
    const hardware::Rom& rom = netlist_.tables[static_cast<std::size_t>(n.value)];
    const int index = bits_to(static_cast<i64>(rom.values.size()) - 1);
    line("  reg {} {}_r, {}; reg [{}:0] {}_t [0:{}];", type, name, name, n.bits.width - 1, name, (i64{1} << index) - 1);
    line("  initial begin");
    for (std::size_t k = 0; k < static_cast<std::size_t>(i64{1} << index); ++k) {
      const i64 v = k < rom.values.size() ? rom.values[k] : rom.values.back();
      line("    {}_t[{}] = {}{}'d{};", name, k, v < 0 ? "-" : "", n.bits.width, magnitude(v));
    }
    line("  end");
    line("  wire [{}:0] {}_at = {};", index - 1, name, signed_at(n.args[0], clock - 2));
    line("  always @(posedge clk) begin {}_r <= {}_t[{}_at]; {} <= {}_r; end", name, name, name, name, name);
  }

  void division(const Node& n, const std::string& name, const std::string& type, int clock) {
    const int dividend = hardware::dividend_bits(netlist_.node(n.args[0]).bits);
    const int divisor = hardware::dividend_bits(netlist_.node(n.args[1]).bits);
    const bool quotient = n.op == Signal::divide;
    line("  wire signed [{}:0] {}_d;", quotient ? dividend : divisor, name);
    line("  {}_divide #(.N({}), .D({})) {}_divide (.clk, .n({}), .d({}), .{}({}_d), .{}());", options_.name, dividend,
         divisor, name, signed_at(n.args[0], clock), signed_at(n.args[1], clock), quotient ? "quotient" : "remainder",
         name, quotient ? "remainder" : "quotient");
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
    for (std::size_t m = 0; m < lines_.memories.size(); ++m) {
      const hardware::DelayMemory& memory = lines_.memories[m];
      declare_lag(memory.length);
      const i64 length = netlist_.ticks(memory.length);
      const int log = bits_to(length - 1);
      line("  wire [{}:0] ring{}_in = {{{}}};\n  wire [{}:0] ring{}_out;", memory.width - 1, m, in[static_cast<int>(m)],
           memory.width - 1, m);
      line("  assign {{{}}} = ring{}_out;", out[static_cast<int>(m)], m);
      line("  wire [{}:0] ring{}_last = {} - 1'b1;", log - 1, m, ticks_of(memory.length));
      line(
          "  {}_ring #(.W({}), .LOG({})) ring{} (.clk, .rst, .ahead(en[{}]), .en(en[{}]), .last(ring{}_last), "
          ".d(ring{}_in), .q(ring{}_out));",
          options_.name, memory.width, log, m, memory.clock - 2, memory.clock, m, m, m);
    }
  }

  // ---- results -----------------------------------------------------------------------------------------------------

  void result(std::size_t k) {
    const Result& r = netlist_.results[k];
    const std::string& n = r.port.name;
    const int clock = schedule_.result[k], element = static_cast<int>(size_of(r.port.type)) * 8, lanes = frame().lanes;
    const std::string lag = lag_name(whole(r.lag));
    line("\n  // {}", n);
    line("  reg [{}:1] {}_is, {}_first, {}_last;", clock, n, n, n);
    line("  always @(posedge clk) begin");
    // {x, 1} at clock 1; bits 2 and up are registers, so that they stand beside the value.
    line("    {}_is <= rst ? 0 : {{{}_is, en[1] & there_{} & x_{} <= last_word & ~(drain_1 & drained_1 >= {})}};", n, n,
         lag, lag, ticks_of(whole(r.lag)));
    line("    {}_first <= {{{}_first, x_{} == 0 & y_{} == 0}};", n, n, lag, lag);
    line("    {}_last <= {{{}_last, x_{} == last_word}};", n, n, lag);
    line("  end");
    std::string data;
    for (std::size_t l = r.lanes.size(); l-- > 0;) {
      const std::string lane = fmt::format("{}_lane{}", n, l);
      line("  wire {}[{}:0] {} = {};", r.port.bits.is_signed ? "signed " : "", element - 1, lane,
           signed_at(r.lanes[l], clock));
      data += (data.empty() ? "" : ", ") + lane;
    }
    const int w = word_bits(netlist_, r.port), room = clock + 6;
    const int log = bits_to(2 * room + 2);
    line("  wire [{}:0] {}_out;", w + 1, n);
    line(
        "  {}_exit #(.W({}), .LOG({}), .MARK({})) {}_exit (.clk, .rst, .in({{{}_first[{}], {}_last[{}], {}}}), "
        ".in_valid({}_is[{}]), .full({}_full),",
        options_.name, w + 2, log, room, n, n, clock - 1, n, clock - 1, data, n, clock - 1, n);
    line("    .out({}_out), .out_valid(m_{}_tvalid), .out_ready(m_{}_tready));", n, n, n);
    line("  assign m_{}_tdata = {}_out[{}:0];\n  assign m_{}_tlast = {}_out[{}];\n  assign m_{}_tuser = {}_out[{}];", n,
         n, w - 1, n, n, w, n, n, w + 1);
    keep(n, element / 8, lanes);
  }

  void keep(const std::string& n, int bytes, int lanes) {
    std::string mask;
    for (int l = lanes; l-- > 0;) {
      std::string there = "1'b1";
      if (l > 0 && frame().fixed && frame().width % lanes != 0 && l >= frame().width % lanes)
        there = fmt::format("~m_{}_tlast", n);
      else if (l > 0 && !frame().fixed)
        there = fmt::format("~m_{}_tlast | width[{}:0] == 0 | width[{}:0] > {}", n,
                            std::countr_zero(static_cast<unsigned>(lanes)) - 1,
                            std::countr_zero(static_cast<unsigned>(lanes)) - 1, l);
      mask += fmt::format("{}{{{}{{{}}}}}", mask.empty() ? "" : ", ", bytes, there);
    }
    line("  assign m_{}_tkeep = {{{}}};", n, mask);
  }

  const Netlist& netlist_;
  const Schedule& schedule_;
  const VerilogOptions& options_;
  hardware::DelayLines lines_;
  std::map<std::uint32_t, std::pair<const DelayLine*, std::size_t>> taps_;
  std::set<Lag> declared_;
  int row_bits_ = 1, column_bits_ = 1, lag_bits_ = 1;
  std::string text_;
};

}  // namespace

std::string print_verilog(const Netlist& netlist, const Schedule& schedule, const VerilogOptions& options) {
  return Printer(netlist, schedule, options).print();
}

}  // namespace tessera::emit
