// Ticks where extents are constants; what both kinds have in common.
#include "emit/verilog/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

#include "base/division.hpp"
#include "emit/verilog/verilog.hpp"

namespace tessera::emit {

using hardware::Grid;
using hardware::Lag;
using hardware::Netlist;
using hardware::Node;
using hardware::Port;
using hardware::Result;
using hardware::Signal;
using namespace fmt::literals;

int bits_to(i64 n) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))));
}

bool is_position(Signal s) {
  return s == Signal::row || s == Signal::column || s == Signal::row_is || s == Signal::row_left_is ||
         s == Signal::column_is || s == Signal::column_left_is || s == Signal::row_phase || s == Signal::word_phase;
}

std::string phase_is(const std::string& signal, i64 step, i64 rest) {
  if (step == 1) return "1'b1";
  if (!std::has_single_bit(static_cast<std::uint64_t>(step))) return fmt::format("{} % {} == {}", signal, step, rest);
  return fmt::format("{}[{}:0] == {}", signal, bits_to(step - 1) - 1, rest);
}

bool fills_frame(const Netlist& netlist, const Port& p) {
  return netlist.whole(p.grid) && netlist.frame.row_unit == 1;
}

std::string take_of(const Netlist& netlist, const Port& p) {
  return fills_frame(netlist, p) ? "take" : p.name + "_take";
}

std::string all_valid(const Netlist& netlist) {
  std::string have;
  for (const Port& p : netlist.inputs)
    have += (have.empty() ? "" : " & ") +
            (fills_frame(netlist, p) ? p.name + "_valid" : fmt::format("({0}_valid | ~{0}_in)", p.name));
  return have.empty() ? "1'b1" : have;
}

std::string wrong_marks(const Netlist& netlist, const std::string& first, const std::string& last) {
  std::string wrong;
  for (const Port& p : netlist.inputs) {
    const int w = word_bits(netlist, p);
    wrong += fmt::format(" | ({take} & ({{{port}_word[{user}], {port}_word[{end}]}} != {{{first}, {last}}}))",
                         "take"_a = take_of(netlist, p), "port"_a = p.name, "user"_a = w + 1, "end"_a = w,
                         "first"_a = first, "last"_a = fills_frame(netlist, p) ? last : p.name + "_ends");
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
        height_(netlist.frame.rows()),
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
    line("  wire done = at_end{};", none_real());
    line("  wire drain = go & (drains ? ~done : {});", lags ? "again & ~have" : "1'b0");
    const bool any = std::any_of(netlist_.inputs.begin(), netlist_.inputs.end(),
                                 [&](const Port& p) { return fills_frame(netlist_, p); });
    line("  wire word = go & ~drains & (have{});", words_ < pitch_ && any ? " | ~in_row" : "");
    line("  wire tick = drain | word;");
    // A tick, or the clock in which all begins anew: without what makes the difference, since it enables many
    // registers.
    line("  wire move = go & ({}have{});", lags ? "drains | again | " : "", words_ < pitch_ && any ? " | ~in_row" : "");
    if (any) line("  assign take = word{};", words_ < pitch_ ? " & in_row" : "");
    for (const Port& p : netlist_.inputs)
      if (!fills_frame(netlist_, p)) entry(p);
    line("  always @(posedge clk) begin");
    line("    if (rst | move) if (rst | done) begin");
    line("      x <= 0; x_ends <= 1'b0; y <= 0; y_ends <= 1'b{}; first <= 1'b1; again <= 1'b0; in_row <= 1'b1;",
         height_ == 1 ? 1 : 0);
    line("      at_end <= 1'b0; drains <= 1'b0; real_frames <= 0;");
    for (const Port& p : netlist_.inputs)
      if (!fills_frame(netlist_, p)) first_entry(p);
    line("    end else begin");
    next_position();
    for (const Port& p : netlist_.inputs)
      if (!fills_frame(netlist_, p)) next_entry(p);
    line("      drains <= drain;");
    line("      if (first) real_frames <= {};",
         frames_ > 1 ? fmt::format("{{real_frames[{}:0], word}}", frames_ - 2) : "word");
    line("    end");
    const std::string last = words_ < pitch_ ? fmt::format("x == {}", words_ - 1) : "x_ends";
    line("    error <= ~rst & (error{});", wrong_marks(netlist_, "first", last));
    line("    restart_1 <= go & done;");
    line("  end");
  }

  void position(const Node& node, const std::string& name) override {
    const Start start = start_of(node.lag);
    if (node.op == Signal::word_phase) {
      line("  reg {}; always @(posedge clk) {} <= {};", name, name, x_phase(node.value, node.lane + start.x));
      return;
    }
    if (node.op == Signal::row_phase) {
      // Both may declare a register: in one order, whatever compiler this is.
      const std::string hit = y_phase(node.value, node.lane + start.y), begins = x_is(start.x);
      line("  reg {0}; always @(posedge clk) if (en[1] & {1}) {0} <= {2};", name, begins, hit);
      return;
    }
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
      line("  reg [{1}:0] {0}_x; always @(posedge clk) if (en[1]) {0}_x <= {2} ? 0 : {0}_x + 1'b1;", name, x_bits_ - 1,
           begins);
      line("  wire [{}:0] {} = {};", w - 1, name,
           shift == 0 ? name + "_x" : fmt::format("{{{}_x, {}'d{}}}", name, shift, node.lane));
    } else if (node.op == Signal::row) {
      line("  reg [{high}:0] {name}; always @(posedge clk) if (en[1] & {begins}) {name} <= {top} ? 0 : {name} + 1'b1;",
           "high"_a = w - 1, "name"_a = name, "begins"_a = begins, "top"_a = y_is(start.y));
    } else {
      const i64 row = node.op == Signal::row_is ? node.value : height_ - 1 - node.value;
      line("  reg {0}; always @(posedge clk) if (en[1] & {1}) {0} <= {2};", name, begins, y_is(start.y + row));
    }
  }

  void marks(const Result& result, const std::string& name) override {
    const Start start = start_of(result.lag);
    const Place place = place_of(result.port.grid);
    const std::string begins = x_is(start.x), top = y_is(start.y), last = x_is(start.x + place.last_word);
    std::string there = fmt::format("{}_real", name);
    line("  reg {0}_first, {0}_last, {0}_real;", name);
    line("  always @(posedge clk) begin");
    line("    {name}_first <= {begins} & {top};\n    {name}_last <= {last};", "name"_a = name, "begins"_a = begins,
         "top"_a = top, "last"_a = last);
    line("    if (rst | restart_1) {}_real <= 1'b0;", name);
    line("    else if (en[1] & {begins} & {top}) {name}_real <= real_frames[{frame}];", "begins"_a = begins,
         "top"_a = top, "name"_a = name, "frame"_a = start.frames);
    line("  end");
    const auto also = [&](const char* what, const std::string& when, const std::string& value) {
      line("  reg {name}_{what}; always @(posedge clk) {when}{name}_{what} <= {value};", "name"_a = name,
           "what"_a = what, "when"_a = when, "value"_a = value);
      there += fmt::format(" & {}_{}", name, what);
    };
    const std::string row = fmt::format("if (en[1] & {}) ", begins);
    if (place.last_word + 1 < pitch_)
      also("in", "if (en[1]) ", fmt::format("{} | ({}_in & ~{})", begins, name, x_is(start.x + place.last_word + 1)));
    if (place.word_step > 1) also("word", "", x_phase(place.word_step, start.x));
    if (place.last_row + 1 < height_)
      also("rows", row, fmt::format("{} | ({}_rows & ~{})", top, name, y_is(start.y + place.last_row + 1)));
    if (place.row_step > 1) also("row", row, y_phase(place.row_step, start.y));
    line("  wire {}_there = {};", name, there);
  }

  std::string length(Lag lag) override { return fmt::format("{}", netlist_.ticks(lag)); }
  std::string columns(const Grid&) override { return ""; }

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

  // Of the points of an image, in rows and words of the frame.
  struct Place {
    i64 row_step = 1, word_step = 1, last_row = 0, last_word = 0;
  };
  Place place_of(const Grid& grid) const {
    const i64 step = netlist_.word_step(grid), lanes = netlist_.lanes(grid);
    const i64 words = base::ceil_divide(grid.columns.points(netlist_.given.most[1]), lanes);
    return {grid.rows.rate, step, grid.rows.fine(netlist_.given.most[0]) - grid.rows.rate, (words - 1) * step};
  }

  // An input that has no word for some of those of a frame. Whether it has one at the next tick is known a tick before:
  // the decision whether one happens takes no comparison.
  void entry(const Port& p) {
    line("  assign {0}_in = {0}_word_in & {0}_row_in;\n  assign {0}_take = word & {0}_in;", p.name);
  }
  void first_entry(const Port& p) {
    line("      {0}_words <= 1'b1; {0}_rows <= 1'b1; {0}_word_in <= 1'b1; {0}_row_in <= 1'b1; {0}_ends <= 1'b{1};",
         p.name, place_of(p.grid).last_word == 0 ? 1 : 0);
  }
  void next_entry(const Port& p) {
    const Place place = place_of(p.grid);
    const std::string words = not_beyond("x", p.name + "_words", place.last_word, pitch_),
                      rows = not_beyond("y", p.name + "_rows", place.last_row, height_);
    line("      {0}_words <= {1}; {0}_word_in <= {2} & {1};", p.name, words,
         phase_is("x", place.word_step, place.word_step - 1));
    line("      {}_ends <= {};", p.name, place.last_word == 0 ? "x_ends" : fmt::format("x == {}", place.last_word - 1));
    line("      if (x_ends) begin {0}_rows <= {1}; {0}_row_in <= {2} & {1}; end", p.name, rows,
         phase_is("y", place.row_step, place.row_step - 1));
  }
  // Does the next place along an axis, of so many, still lie at `last` or before, if `now` says so of this one?
  static std::string not_beyond(const char* axis, const std::string& now, i64 last, i64 count) {
    return last + 1 >= count ? "1'b1" : fmt::format("({0}_ends | ({1} & {0} != {2}))", axis, now, last);
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
    line("  reg [{}:0] x;\n  reg [{}:0] y;\n  reg x_ends, y_ends, first, again, in_row, at_end, drains, restart_1;",
         x_bits_ - 1, y_bits_ - 1);
    line("  reg [{}:0] real_frames;", frames_ - 1);
    for (const Result& r : netlist_.results) line("  wire {}_full;", r.port.name);
    for (const Port& p : netlist_.inputs)
      if (!fills_frame(netlist_, p))
        line("  wire {0}_in;\n  reg {0}_words, {0}_rows, {0}_word_in, {0}_row_in, {0}_ends;", p.name);
  }

  void next_position() {
    line("      x <= x_ends ? 0 : x + 1'b1;\n      x_ends <= x == {};", pitch_ - 2);
    line("      if (x_ends) begin y <= y_ends ? 0 : y + 1'b1; y_ends <= {}; end",
         height_ == 1 ? "1'b1" : fmt::format("y == {}", height_ - 2));
    line("      first <= x_ends & y_ends; again <= x_ends & y_ends;");
    line("      in_row <= {};", words_ < pitch_ ? fmt::format("x_ends | (in_row & x != {})", words_ - 1) : "1'b1");
    const Start at = end();
    if (at.x > 0)
      line("      at_end <= drain & x == {} & y == {};", at.x - 1, at.y);
    else
      line("      at_end <= drain & x_ends & y == {};", (at.y + height_ - 1) % height_);
  }

  // Comparisons of the position at clock 1, made once.
  std::string x_is(i64 where) {
    where -= base::floor_divide(where, pitch_) * pitch_;
    const std::string name = fmt::format("x_is_{}", where);
    if (known_.insert(name).second) line("  reg {}; always @(posedge clk) {} <= x == {};", name, name, where);
    return name;
  }
  std::string x_phase(i64 step, i64 rest) { return phase("x", step, rest); }
  std::string y_phase(i64 step, i64 rest) { return phase("y", step, rest); }
  std::string phase(const char* of, i64 step, i64 rest) {
    rest -= base::floor_divide(rest, step) * step;
    const std::string name = fmt::format("{}_is_{}_of_{}", of, rest, step);
    if (known_.insert(name).second)
      line("  reg {}; always @(posedge clk) {} <= {};", name, name, phase_is(of, step, rest));
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
