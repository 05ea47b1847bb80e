// Ticks where extents are ports: every lag has a pair of counters that begins when as many ticks have passed.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "emit/verilog/ticks.hpp"

namespace tessera::emit {

using hardware::Frame;
using hardware::Lag;
using hardware::Netlist;
using hardware::Node;
using hardware::Result;
using hardware::Signal;
using namespace fmt::literals;

namespace {

// From the ports to the last of the registers that follow from them.
constexpr int settling_clocks = 4;

class RunTimeTicks : public VerilogTicks {
 public:
  RunTimeTicks(const Netlist& netlist, const hardware::DelayLines& lines, std::string module, std::string& text)
      : netlist_(netlist), lines_(lines), module_(std::move(module)), text_(text) {
    row_bits_ = bits_to(netlist.frame.pitch());
    column_bits_ = bits_to(netlist.frame.rows());
    lag_bits_ = row_bits_ + column_bits_ + 1;
  }

  void print() override {
    extents();
    ticks();
  }

  void position(const Node& node, const std::string& name) override {
    const std::string value = value_of(node);
    register_of(node.bits.width, name, value);
  }

  void marks(const Result& result, const std::string& name) override {
    const std::string n = counters(result.lag);
    const hardware::Grid& grid = result.port.grid;
    const std::string last = last_word(grid);
    std::string there = fmt::format("there_{} & x_{} <= {}", n, n, last);
    if (!netlist_.whole(grid) || frame().row_unit > 1)
      there +=
          fmt::format(" & {x_fits} & {y_fits} & y_{lag} <= {last_row}",
                      "x_fits"_a = phase_is("x_" + n, netlist_.word_step(grid), 0),
                      "y_fits"_a = phase_is("y_" + n, grid.rows.rate, 0), "lag"_a = n, "last_row"_a = last_row(grid));
    line("  reg {}_there, {}_first, {}_last;", name, name, name);
    line("  always @(posedge clk) begin");
    line("    {}_there <= {} & ~(drain_1 & drained_1 >= {});", name, there, length(result.lag));
    line("    {}_first <= x_{} == 0 & y_{} == 0;", name, n, n);
    line("    {}_last <= x_{} == {};", name, n, last);
    line("  end");
  }

  std::string columns(const hardware::Grid& grid) override { return points(grid.columns, false); }

  // Declared where it is asked for first.
  std::string length(Lag lag) override {
    if (lag.rows == 0) return fmt::format("{}'d{}", lag_bits_, lag.words);
    const std::string name = "lag_" + lag_name(lag);
    if (lengths_.insert(lag).second) {
      line("  reg [{}:0] {};", lag_bits_ - 1, name);
      line("  always @(posedge clk) {name} <= {rows} * ({bits}'d0 + last_x + 1'b1) {sign} {words};", "name"_a = name,
           "rows"_a = lag.rows, "bits"_a = lag_bits_, "sign"_a = lag.words < 0 ? '-' : '+',
           "words"_a = std::abs(lag.words));
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

  void register_of(int bits, const std::string& name, const std::string& value) {
    line("  reg [{0}:0] {1}; always @(posedge clk) {1} <= {2};", bits - 1, name, value);
  }

  static std::string lag_name(Lag lag) {
    return fmt::format("{}_{}{}", lag.rows, lag.words < 0 ? "m" : "", std::abs(lag.words));
  }

  // Rounded up to a whole number of steps; `of` is an expression of 32 bits.
  static std::string in_steps(const std::string& of, i64 step) {
    return step == 1 ? of : fmt::format("({0} + {1}) / {2} * {2}", of, step - 1, step);
  }

  // Registers that follow from the extents, declared where they are asked for first.
  std::string from_extents(const std::string& name, const std::string& value) {
    if (named_.insert(name).second) register_of(lag_bits_, name, value);
    return name;
  }
  std::string points(const hardware::Extent& e, bool rows) {
    const std::string given = rows ? "height" : "width";
    if (hardware::Extent{e.rate, 1, 0, 1, 0} == e) return given;
    const bool less = e.then < 0;
    const i64 then = std::abs(e.then);
    return from_extents(
        fmt::format("{given}_{times}_{plus}_{over}_{minus}{then}", "given"_a = given, "times"_a = e.times,
                    "plus"_a = e.plus, "over"_a = e.over, "minus"_a = less ? "m" : "", "then"_a = then),
        fmt::format("{times} * ((32'd0 + {given} + {plus}) / {over}) {sign} {then}", "given"_a = given,
                    "times"_a = e.times, "plus"_a = e.plus, "over"_a = e.over, "sign"_a = less ? '-' : '+',
                    "then"_a = then));
  }
  std::string fine(const hardware::Extent& e, bool rows) {
    const std::string own = points(e, rows);
    return e.rate == 1 ? own : from_extents(fmt::format("{}_by_{}", own, e.rate), fmt::format("{} * {}", own, e.rate));
  }
  std::string last_word(const hardware::Grid& grid) {
    if (netlist_.whole(grid)) return "last_word";
    const std::string own = points(grid.columns, false);
    const int lanes = netlist_.lanes(grid);
    return from_extents(
        fmt::format("last_word_of_{}_{}", own, grid.columns.rate),
        fmt::format("((32'd0 + {points} + {lanes_but_one}) / {lanes} - 1) * {step}", "points"_a = own,
                    "lanes_but_one"_a = lanes - 1, "lanes"_a = lanes, "step"_a = netlist_.word_step(grid)));
  }
  std::string last_row(const hardware::Grid& grid) {
    const std::string own = points(grid.rows, true);
    return from_extents(fmt::format("last_row_of_{}_{}", own, grid.rows.rate),
                        fmt::format("(32'd0 + {} - 1) * {}", own, grid.rows.rate));
  }

  void extents() {
    const int x = row_bits_, y = column_bits_, lanes = frame().lanes;
    const int shift = std::countr_zero(static_cast<unsigned>(lanes));
    const hardware::Given& given = netlist_.given;
    line("  // What follows from the extents, some clocks after they were set: no tick comes earlier.");
    line("  reg [{}:0] height_1; reg [{}:0] width_1; reg [{}:0] stood;", bits_to(netlist_.given.most[0]) - 1,
         bits_to(netlist_.given.most[1]) - 1, settling_clocks - 1);
    line("  wire moved = height_1 != height | width_1 != width;");
    line("  always @(posedge clk) begin");
    line("    height_1 <= height; width_1 <= width;");
    line("    stood <= moved ? 0 : {{stood, 1'b1}};");
    line("  end");
    line("  reg [{}:0] last_x, last_word;\n  reg [{}:0] last_y;\n  reg good;", x - 1, y - 1);
    line("  wire [{high}:0] words = ({columns} + {lanes_but_one}) >> {shift};",
         "high"_a = bits_to(frame().width + lanes), "columns"_a = fine(given.wide, false),
         "lanes_but_one"_a = lanes - 1, "shift"_a = shift);
    const std::string high = fine(given.high, true);
    line("  always @(posedge clk) begin");
    line("    last_word <= words - 1;");
    const i64 unit = frame().word_unit;
    line("    last_x <= words < {} ? {} : {} - 1;", hardware::least_pitch,
         (hardware::least_pitch + unit - 1) / unit * unit - 1, in_steps("words", unit));
    line("    last_y <= {} - 1;", in_steps(high, frame().row_unit));
    line(
        "    good <= height >= {least_height} && height <= {height} && width >= {least_width} && width <= "
        "{width}{rows_fit}{columns_fit};",
        "least_height"_a = netlist_.least_height, "height"_a = given.most[0],
        "least_width"_a = hardware::least_width(netlist_, lines_), "width"_a = given.most[1],
        "rows_fit"_a = unit_test(0), "columns_fit"_a = unit_test(1));
    line("  end");
  }

  std::string unit_test(std::size_t d) const {
    const hardware::Given& given = netlist_.given;
    if (given.unit[d] == 1) return "";
    return " && " + phase_is(d == 0 ? "height" : "width", given.unit[d], given.rest[d]);
  }

  void entry(const hardware::Port& p) {
    // Both may declare a register: in one order, whatever compiler this is.
    const std::string row = last_row(p.grid), word = last_word(p.grid);
    line("  assign {port}_in = {word_fits} & {row_fits} & at_word <= {last_word} & at_row <= {last_row};",
         "port"_a = p.name, "word_fits"_a = phase_is("at_word", netlist_.word_step(p.grid), 0),
         "row_fits"_a = phase_is("at_row", p.grid.rows.rate, 0), "last_word"_a = word, "last_row"_a = row);
    line("  assign {0}_ends = at_word == {1};\n  assign {0}_take = word & {0}_in;", p.name, word);
  }

  void ticks() {
    const Lag lag = longest_lag(netlist_);
    const std::string all = length(lag);
    for (const Result& r : netlist_.results) line("  wire {0}_full, {0}_busy;", r.port.name);
    for (const hardware::Port& p : netlist_.inputs)
      if (!fills_frame(netlist_, p)) line("  wire {}_in, {}_ends;", p.name, p.name);
    line("\n  // Ticks: a word of every input, or none beyond the end of a short row and behind the last frame.");
    line("  reg [{}:0] at_word;\n  reg [{}:0] at_row;\n  reg first, under_way, drains;\n  reg [{}:0] drained;",
         row_bits_ - 1, column_bits_ - 1, lag_bits_ - 1);
    line("  wire go = good & stood[{}] & ~({});", settling_clocks - 1, any_full(netlist_));
    line("  wire in_row = at_word <= last_word;");
    line("  wire have = {};", all_valid(netlist_));
    line("  wire ends = drained + 1'b1 == {};", all);
    // Results that come with their words leave nothing to be pushed out.
    const bool at_once = lag == Lag{};
    line("  wire drain = go & (drains | (first & under_way & ~have)){};", at_once ? " & 1'b0" : "");
    const bool any = std::any_of(netlist_.inputs.begin(), netlist_.inputs.end(),
                                 [&](const hardware::Port& p) { return fills_frame(netlist_, p); });
    line("  wire word = go & ~drain & ~drains & (have{});", any ? " | ~in_row" : "");
    line("  wire tick = drain | word;");
    if (any) line("  assign take = word & in_row;");
    for (const hardware::Port& p : netlist_.inputs)
      if (!fills_frame(netlist_, p)) entry(p);
    // From the first word of a frame to the last one that is taken from a result; `leaves` is the last tick between.
    std::string waiting;
    for (const Result& r : netlist_.results) waiting += fmt::format(" | {}_busy", r.port.name);
    for (const hardware::Port& p : netlist_.inputs) waiting += fmt::format(" | {}_valid", p.name);
    line("  wire row_ends = at_word == last_x, frame_ends = row_ends & at_row == last_y;");
    line("  wire leaves = {};", at_once ? "word & frame_ends" : "drain & ends");
    line("  assign busy = under_way | (|restart){};", waiting);
    line("  always @(posedge clk) begin");
    line("    if (rst) begin");
    line("      at_word <= 0; at_row <= 0; first <= 1'b1; under_way <= 1'b0; drains <= 1'b0; drained <= 0;");
    line("    end else begin");
    line("      if (word) begin");
    line("        first <= frame_ends;");
    line("        under_way <= 1'b1;");
    line("        at_word <= row_ends ? 0 : at_word + 1'b1;");
    line("        if (row_ends) at_row <= frame_ends ? 0 : at_row + 1'b1;");
    line("      end");
    line("      if (drain) begin");
    line("        drains <= ~ends;");
    line("        drained <= ends ? 0 : drained + 1'b1;");
    line("      end");
    line("      if (leaves) under_way <= 1'b0;");
    line("    end");
    line("    error <= ~rst & (error | (have & stood[{}] & ~good) | (moved & busy){});", settling_clocks - 1,
         wrong_marks(netlist_, "first", "at_word == last_word"));
    line("  end");
    line("  reg drain_1;\n  reg [{}:0] drained_1;", lag_bits_ - 1);
    line("  always @(posedge clk) begin drain_1 <= drain; drained_1 <= drained; end");
    // The last tick of all: rings begin anew behind it, for they may be shorter next time.
    line("  always @(posedge clk) restart <= rst ? 0 : {{restart, leaves}};");
  }

  // The suffix of the counters of a lag, which are declared where they are asked for first.
  std::string counters(Lag lag) {
    const std::string n = lag_name(lag);
    if (!counted_.insert(lag).second) return n;
    const std::string ticks = length(lag);
    line("  wire there_{0};\n  wire [{1}:0] x_{0};\n  wire [{2}:0] y_{0};", n, row_bits_ - 1, column_bits_ - 1);
    line(
        "  {module}_position #(.X({x}), .Y({y}), .L({l})) position_{lag} (.clk, .rst, .step(en[1]), "
        ".restart(restart[1]), .lag({ticks}), .last_x, .last_y,",
        "module"_a = module_, "x"_a = row_bits_, "y"_a = column_bits_, "l"_a = lag_bits_, "lag"_a = n,
        "ticks"_a = ticks);
    line("    .there(there_{0}), .x(x_{0}), .y(y_{0}));", n);
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
        if (node.extent < 0 && frame().row_unit == 1)
          return fmt::format("there_{} & y_{} + {} == last_y", n, n, node.value);
        return fmt::format("there_{0} & 32'd0 + y_{0} + {1} == {2}", n, node.value + 1, fine(extent(node, true), true));
      case Signal::row_phase:
        return fmt::format("there_{} & {}", n, phase_is("y_" + n, node.value, node.lane));
      case Signal::word_phase:
        return fmt::format("there_{} & {}", n, phase_is("x_" + n, node.value, node.lane));
      case Signal::column_is:
        return fmt::format("there_{} & x_{} == {}", n, n, (node.value - node.lane) / lanes);
      default:
        return fmt::format("there_{lag} & 32'd0 + {column} + {left} == {columns}", "lag"_a = n, "column"_a = column,
                           "left"_a = node.value + 1, "columns"_a = fine(extent(node, false), false));
    }
  }

  hardware::Extent extent(const Node& node, bool rows) const {
    if (node.extent >= 0) return netlist_.extents[static_cast<std::size_t>(node.extent)];
    return rows ? netlist_.given.high : netlist_.given.wide;
  }

  const Netlist& netlist_;
  const hardware::DelayLines& lines_;
  std::string module_;
  std::set<Lag> lengths_, counted_;
  std::set<std::string> named_;
  int row_bits_ = 1, column_bits_ = 1, lag_bits_ = 1;
  std::string& text_;
};

}  // namespace

std::unique_ptr<VerilogTicks> run_time_ticks(const Netlist& netlist, const hardware::DelayLines& lines,
                                             std::string module, std::string& text) {
  return std::make_unique<RunTimeTicks>(netlist, lines, std::move(module), text);
}

}  // namespace tessera::emit
