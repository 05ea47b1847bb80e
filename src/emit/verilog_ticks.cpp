// Ticks where extents are constants; what both kinds have in common.
#include "emit/verilog_ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

#include "base/division.hpp"
#include "emit/verilog.hpp"

namespace tessera::emit {

using hardware::Lag;
using hardware::Netlist;
using hardware::Node;
using hardware::Port;
using hardware::Result;
using hardware::Signal;

int bits_to(i64 n) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))));
}

bool is_position(Signal s) {
  return s == Signal::row || s == Signal::column || s == Signal::row_is || s == Signal::row_left_is ||
         s == Signal::column_is || s == Signal::column_left_is;
}

std::string all_valid(const Netlist& netlist) {
  std::string have;
  for (const Port& p : netlist.inputs) have += fmt::format("{}{}_valid", have.empty() ? "" : " & ", p.name);
  return have.empty() ? "1'b1" : have;
}

std::string wrong_marks(const Netlist& netlist, const std::string& first, const std::string& last) {
  std::string wrong;
  for (const Port& p : netlist.inputs) {
    const int w = word_bits(netlist, p);
    wrong +=
        fmt::format(" | (take & ({{{}_word[{}], {}_word[{}]}} != {{{}, {}}}))", p.name, w + 1, p.name, w, first, last);
  }
  return wrong;
}

std::string any_full(const Netlist& netlist) {
  std::string full;
  for (const Result& r : netlist.results) full += fmt::format("{}{}_full", full.empty() ? "" : " | ", r.port.name);
  return full;
}

Lag longest_lag(const Netlist& netlist) {
  Lag most;
  for (const Result& r : netlist.results)
    if (netlist.ticks(r.lag) > netlist.ticks(most)) most = r.lag;
  return most;
}

namespace {

class FixedTicks : public VerilogTicks {
 public:
  FixedTicks(const Netlist& netlist, std::string& text)
      : netlist_(netlist),
        pitch_(netlist.frame.pitch()),
        words_(netlist.frame.words()),
        height_(netlist.frame.height),
        x_bits_(bits_to(pitch_ - 1)),
        y_bits_(bits_to(height_ - 1)),
        text_(text) {
    // Frames that are under way at once.
    for (const Result& r : netlist.results) frames_ = std::max(frames_, start_of(r.lag).frames + 1);
  }

  void print() override {
    state();
    line("  wire go = ~({});", any_full(netlist_));
    line("  wire have = {};", all_valid(netlist_));
    const bool lags = netlist_.ticks(longest_lag(netlist_)) != 0;
    line("  wire done = drains & at_end{};", none_real());
    line("  wire drain = go & (drains ? ~done : {});", lags ? "first & under_way & ~have" : "1'b0");
    line("  wire word = go & ~drains & (have{});", words_ < pitch_ ? " | ~in_row" : "");
    line("  wire tick = drain | word;");
    if (!netlist_.inputs.empty()) line("  assign take = word{};", words_ < pitch_ ? " & in_row" : "");
    line("  always @(posedge clk) begin");
    line("    if (rst | done) begin");
    line("      x <= 0; x_ends <= 1'b0; y <= 0; y_ends <= 1'b{}; first <= 1'b1; in_row <= 1'b1; at_end <= 1'b{};",
         height_ == 1 ? 1 : 0, ends_at_once() ? 1 : 0);
    line("      under_way <= 1'b0; drains <= 1'b0; real_frames <= 0;");
    line("    end else if (tick) begin");
    next_position();
    line("      if (word) under_way <= 1'b1;");
    line("      drains <= drain;");
    line("      if (first) real_frames <= {};",
         frames_ > 1 ? fmt::format("{{real_frames[{}:0], word}}", frames_ - 2) : "word");
    line("    end");
    const std::string last = words_ < pitch_ ? fmt::format("x == {}", words_ - 1) : "x_ends";
    line("    error <= ~rst & (error{});", wrong_marks(netlist_, "first", last));
    line("    restart_1 <= done;");
    line("  end");
  }

  void position(const Node& node, const std::string& name) override {
    const Start start = start_of(node.lag);
    const int lanes = netlist_.frame.lanes, shift = std::countr_zero(static_cast<unsigned>(lanes));
    const int w = node.bits.width;
    if (node.op == Signal::column_is || node.op == Signal::column_left_is) {
      const i64 column = node.op == Signal::column_is ? node.value : netlist_.frame.width - 1 - node.value;
      const std::string hit = x_is(start.x + base::floor_divide(column - node.lane, lanes));
      line("  reg {}; always @(posedge clk) {} <= {};", name, name, hit);
      return;
    }
    const std::string begins = x_is(start.x);
    if (node.op == Signal::column) {
      line("  reg [{}:0] {}_x; always @(posedge clk) if (en[1]) {}_x <= {} ? 0 : {}_x + 1'b1;", x_bits_ - 1, name, name,
           begins, name);
      line("  wire [{}:0] {} = {};", w - 1, name,
           shift == 0 ? name + "_x" : fmt::format("{{{}_x, {}'d{}}}", name, shift, node.lane));
    } else if (node.op == Signal::row) {
      line("  reg [{}:0] {}; always @(posedge clk) if (en[1] & {}) {} <= {} ? 0 : {} + 1'b1;", w - 1, name, begins,
           name, y_is(start.y), name);
    } else {
      const i64 row = node.op == Signal::row_is ? node.value : height_ - 1 - node.value;
      line("  reg {}; always @(posedge clk) if (en[1] & {}) {} <= {};", name, begins, name, y_is(start.y + row));
    }
  }

  void marks(Lag lag, const std::string& name) override {
    const Start start = start_of(lag);
    const std::string begins = x_is(start.x), top = y_is(start.y), last = x_is(start.x + words_ - 1);
    line("  reg {}_first, {}_last, {}_real;", name, name, name);
    line("  always @(posedge clk) begin");
    line("    {}_first <= {} & {};\n    {}_last <= {};", name, begins, top, name, last);
    line("    if (rst | restart_1) {}_real <= 1'b0;", name);
    line("    else if (en[1] & {} & {}) {}_real <= real_frames[{}];", begins, top, name, start.frames);
    line("  end");
    if (words_ < pitch_) {
      const std::string ends = x_is(start.x + words_);
      line("  reg {}_in; always @(posedge clk) if (en[1]) {}_in <= {} | ({}_in & ~{});", name, name, begins, name,
           ends);
    }
    line("  wire {}_there = {}_real{};", name, name, words_ < pitch_ ? fmt::format(" & {}_in", name) : "");
  }

  std::string length(Lag lag) override { return fmt::format("{}", netlist_.ticks(lag)); }

 private:
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<A>(args)...);
    text_ += '\n';
  }

  // Where the word that comes in lies when the first word of a lag is there, so many frames later.
  struct Start {
    i64 x = 0, y = 0, frames = 0;
  };
  Start start_of(Lag lag) const {
    const i64 ticks = netlist_.ticks(lag), rows = base::floor_divide(ticks, pitch_);
    const i64 frames = base::floor_divide(rows, height_);
    return {ticks - rows * pitch_, rows - frames * height_, frames};
  }

  Start end() const { return start_of(longest_lag(netlist_)); }
  bool ends_at_once() const { return end().x == 0 && end().y == 0; }

  // Is no frame left that was real? Where the last one ends as another begins, the oldest mark is that of the former.
  std::string none_real() const {
    if (!ends_at_once()) return " & real_frames == 0";
    return frames_ > 1 ? fmt::format(" & real_frames[{}:0] == 0", frames_ - 2) : "";
  }

  void state() {
    line("\n  // Ticks: a word of every input, or none beyond the end of a short row and behind the last frame.");
    line("  reg [{}:0] x;\n  reg [{}:0] y;\n  reg x_ends, y_ends, first, in_row, at_end, under_way, drains, restart_1;",
         x_bits_ - 1, y_bits_ - 1);
    line("  reg [{}:0] real_frames;", frames_ - 1);
    for (const Result& r : netlist_.results) line("  wire {}_full;", r.port.name);
  }

  void next_position() {
    line("      x <= x_ends ? 0 : x + 1'b1;\n      x_ends <= x == {};", pitch_ - 2);
    line("      if (x_ends) begin y <= y_ends ? 0 : y + 1'b1; y_ends <= {}; end",
         height_ == 1 ? "1'b1" : fmt::format("y == {}", height_ - 2));
    line("      first <= x_ends & y_ends;");
    line("      in_row <= {};", words_ < pitch_ ? fmt::format("x_ends | (in_row & x != {})", words_ - 1) : "1'b1");
    const Start at = end();
    if (at.x > 0)
      line("      at_end <= x == {} & y == {};", at.x - 1, at.y);
    else
      line("      at_end <= x_ends & y == {};", (at.y + height_ - 1) % height_);
  }

  // Comparisons of the position at clock 1, made once.
  std::string x_is(i64 where) {
    where -= base::floor_divide(where, pitch_) * pitch_;
    const std::string name = fmt::format("x_is_{}", where);
    if (known_.insert(name).second) line("  reg {}; always @(posedge clk) {} <= x == {};", name, name, where);
    return name;
  }
  std::string y_is(i64 where) {
    where -= base::floor_divide(where, height_) * height_;
    const std::string name = fmt::format("y_is_{}", where);
    if (known_.insert(name).second) line("  reg {}; always @(posedge clk) {} <= y == {};", name, name, where);
    return name;
  }

  const Netlist& netlist_;
  i64 pitch_, words_, height_, frames_ = 1;
  int x_bits_, y_bits_;
  std::set<std::string> known_;
  std::string& text_;
};

}  // namespace

std::unique_ptr<VerilogTicks> fixed_ticks(const Netlist& netlist, std::string& text) {
  return std::make_unique<FixedTicks>(netlist, text);
}

}  // namespace tessera::emit
