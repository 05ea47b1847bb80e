// Ticks where extents are ports: every lag has a pair of counters that begins when as many ticks have passed.
#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "emit/verilog_ticks.hpp"

namespace tessera::emit {

using hardware::Frame;
using hardware::Lag;
using hardware::Netlist;
using hardware::Node;
using hardware::Result;
using hardware::Signal;

namespace {

class RunTimeTicks : public VerilogTicks {
 public:
  RunTimeTicks(const Netlist& netlist, const hardware::DelayLines& lines, std::string module, std::string& text)
      : netlist_(netlist), lines_(lines), module_(std::move(module)), text_(text) {
    row_bits_ = bits_to(netlist.frame.pitch());
    column_bits_ = bits_to(netlist.frame.height);
    lag_bits_ = row_bits_ + column_bits_ + 1;
  }

  void print() override {
    extents();
    ticks();
  }

  void position(const Node& node, const std::string& name) override {
    const std::string value = value_of(node);
    line("  reg [{}:0] {}; always @(posedge clk) {} <= {};", node.bits.width - 1, name, name, value);
  }

  void marks(Lag lag, const std::string& name) override {
    const std::string n = counters(lag);
    line("  reg {}_there, {}_first, {}_last;", name, name, name);
    line("  always @(posedge clk) begin");
    line("    {}_there <= there_{} & x_{} <= last_word & ~(drain_1 & drained_1 >= {});", name, n, n, length(lag));
    line("    {}_first <= x_{} == 0 & y_{} == 0;", name, n, n);
    line("    {}_last <= x_{} == last_word;", name, n);
    line("  end");
  }

  // Declared where it is asked for first.
  std::string length(Lag lag) override {
    if (lag.rows == 0) return fmt::format("{}'d{}", lag_bits_, lag.words);
    const std::string name = "lag_" + lag_name(lag);
    if (lengths_.insert(lag).second) {
      line("  reg [{}:0] {};", lag_bits_ - 1, name);
      line("  always @(posedge clk) {} <= {} * ({}'d0 + last_x + 1'b1) {} {};", name, lag.rows, lag_bits_,
           lag.words < 0 ? '-' : '+', std::abs(lag.words));
    }
    return name;
  }

 private:
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<A>(args)...);
    text_ += '\n';
  }

  const Frame& frame() const { return netlist_.frame; }

  static std::string lag_name(Lag lag) {
    return fmt::format("{}_{}{}", lag.rows, lag.words < 0 ? "m" : "", std::abs(lag.words));
  }

  void extents() {
    const int x = row_bits_, y = column_bits_, lanes = frame().lanes;
    const int shift = std::countr_zero(static_cast<unsigned>(lanes));
    line("  // What follows from the extents; they stand still while frames are under way.");
    line("  reg [{}:0] last_x, last_word;\n  reg [{}:0] last_y;\n  reg good;", x - 1, y - 1);
    line("  wire [{}:0] words = (width + {}) >> {};", bits_to(frame().width + lanes), lanes - 1, shift);
    line("  always @(posedge clk) begin");
    line("    last_word <= words - 1;");
    line("    last_x <= words < {} ? {} : words - 1;", hardware::least_pitch, hardware::least_pitch - 1);
    line("    last_y <= height - 1;");
    line("    good <= height >= {} && height <= {} && width >= {} && width <= {};", netlist_.least_height,
         frame().height, hardware::least_width(netlist_, lines_), frame().width);
    line("  end");
  }

  void ticks() {
    const Lag lag = longest_lag(netlist_);
    const std::string all = length(lag);
    for (const Result& r : netlist_.results) line("  wire {}_full;", r.port.name);
    line("\n  // Ticks: a word of every input, or none beyond the end of a short row and behind the last frame.");
    line("  reg [{}:0] at_word;\n  reg [{}:0] at_row;\n  reg first, under_way, drains;\n  reg [{}:0] drained;",
         row_bits_ - 1, column_bits_ - 1, lag_bits_ - 1);
    line("  wire go = good & ~({});", any_full(netlist_));
    line("  wire in_row = at_word <= last_word;");
    line("  wire have = {};", all_valid(netlist_));
    line("  wire ends = drained + 1'b1 == {};", all);
    line("  wire drain = go & (drains | (first & under_way & ~have)){};", lag == Lag{} ? " & 1'b0" : "");
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
    line("    error <= ~rst & (error | (have & ~good){});", wrong_marks(netlist_, "first", "at_word == last_word"));
    line("  end");
    line("  reg drain_1;\n  reg [{}:0] drained_1;", lag_bits_ - 1);
    line("  always @(posedge clk) begin drain_1 <= drain; drained_1 <= drained; end");
    // The last tick of all: rings begin anew behind it, for they may be shorter next time.
    line("  always @(posedge clk) restart <= rst ? 0 : {{restart, drain & ends}};");
  }

  // The suffix of the counters of a lag, which are declared where they are asked for first.
  std::string counters(Lag lag) {
    const std::string n = lag_name(lag);
    if (!counted_.insert(lag).second) return n;
    const std::string ticks = length(lag);
    line("  wire there_{};\n  wire [{}:0] x_{};\n  wire [{}:0] y_{};", n, row_bits_ - 1, n, column_bits_ - 1, n);
    line(
        "  {}_position #(.X({}), .Y({}), .L({})) position_{} (.clk, .rst, .step(en[1]), .restart(restart[1]), "
        ".lag({}), .last_x, .last_y,",
        module_, row_bits_, column_bits_, lag_bits_, n, ticks);
    line("    .there(there_{}), .x(x_{}), .y(y_{}));", n, n, n);
    return n;
  }

  std::string value_of(const Node& node) {
    const std::string n = counters(node.lag);
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

  const Netlist& netlist_;
  const hardware::DelayLines& lines_;
  std::string module_;
  std::set<Lag> lengths_, counted_;
  int row_bits_ = 1, column_bits_ = 1, lag_bits_ = 1;
  std::string& text_;
};

}  // namespace

std::unique_ptr<VerilogTicks> run_time_ticks(const Netlist& netlist, const hardware::DelayLines& lines,
                                             std::string module, std::string& text) {
  return std::make_unique<RunTimeTicks>(netlist, lines, std::move(module), text);
}

}  // namespace tessera::emit
