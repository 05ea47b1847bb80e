// Every node at every tick, one after the other in topological order.
#include "hardware/netlist/simulate.hpp"

#include <algorithm>
#include <cmath>

#include "base/division.hpp"
#include "ir/build.hpp"

namespace tessera::hardware {

namespace {

class Simulation {
 public:
  Simulation(const Netlist& netlist, const std::vector<Frames>& inputs, const std::vector<i64>& scalars, i64 height,
             i64 width)
      : netlist_(netlist), inputs_(inputs), scalars_(scalars), frame_(netlist.frame), height_(height), width_(width) {
    frame_.height = netlist.given.high.fine(height), frame_.width = netlist.given.wide.fine(width);
    i64 last = 0;
    for (const Result& r : netlist.results) last = std::max(last, ticks(r.lag));
    count_ = inputs.empty() ? 1 : static_cast<i64>(inputs.front().size());
    ticks_ = count_ * frame_.rows() * frame_.pitch() + last;
  }

  std::vector<Frames> run() {
    for (std::size_t k = 0; k < netlist_.size(); ++k) {
      values_.emplace_back(static_cast<std::size_t>(ticks_));
      compute(netlist_.node({static_cast<std::uint32_t>(k)}), values_.back());
    }
    std::vector<Frames> results;
    for (const Result& r : netlist_.results) results.push_back(collect(r));
    return results;
  }

 private:
  i64 ticks(Lag lag) const { return lag.rows * frame_.pitch() + lag.words; }

  // Of tick n at a lag; the column of lane 0. Nothing where there is no word.
  struct Place {
    bool there = false;
    i64 frame = 0, row = 0, column = 0;
  };
  Place place(i64 n, Lag lag) const {
    n -= ticks(lag);
    const i64 area = frame_.rows() * frame_.pitch();
    if (n < 0) return {};
    return {true, n / area, n % area / frame_.pitch(), n % frame_.pitch() * frame_.lanes};
  }

  void compute(const Node& node, std::vector<i64>& out) {
    const auto arg = [&](std::size_t k) -> const std::vector<i64>& { return values_[node.args[k].id]; };
    if (node.op == Signal::held) return hold(arg(0), arg(1), out);
    if (node.op == Signal::line) return pass_line(node, arg(0), arg(1), arg(2), out);
    const i64 back = node.op == Signal::delay ? ticks(node.lag) : 0;
    for (i64 n = 0; n < ticks_; ++n) {
      const auto t = static_cast<std::size_t>(n);
      if (node.op == Signal::delay) {
        out[t] = n < back ? 0 : arg(0)[static_cast<std::size_t>(n - back)];
        continue;
      }
      i64 v[3] = {};
      for (std::size_t k = 0; k < node.args.size(); ++k) v[k] = arg(k)[t];
      out[t] = wrap(node.bits, node.args.empty() ? leaf(node, n) : operation(node, v));
    }
  }

  static void hold(const std::vector<i64>& value, const std::vector<i64>& moves, std::vector<i64>& out) {
    i64 last = 0;
    for (std::size_t t = 0; t < out.size(); ++t) {
      out[t] = last;
      if (moves[t] != 0) last = value[t];
    }
  }

  void pass_line(const Node& node, const std::vector<i64>& value, const std::vector<i64>& steps,
                 const std::vector<i64>& writes, std::vector<i64>& out) const {
    std::vector<i64> places(static_cast<std::size_t>(ticks(node.lag) / node.value));
    std::size_t at = 0;
    for (std::size_t t = 0; t < out.size(); ++t) {
      // Elsewhere it may be anything, so that nothing may hang on it.
      out[t] = steps[t] != 0 ? places[at] : wrap(node.bits, static_cast<__int128>(t * 0x9e3779b97f4a7c15u >> 9));
      if (steps[t] == 0) continue;
      if (writes[t] != 0) places[at] = value[t];
      at = at + 1 == places.size() ? 0 : at + 1;
    }
  }

  i64 extent_of(const Node& node, bool rows) const {
    if (node.extent < 0) return rows ? frame_.height : frame_.width;
    return netlist_.extents[static_cast<std::size_t>(node.extent)].fine(rows ? height_ : width_);
  }

  __int128 leaf(const Node& node, i64 n) const {
    if (node.op == Signal::constant) return node.value;
    if (node.op == Signal::scalar) return scalars_[static_cast<std::size_t>(node.value)];
    const Place at = place(n, node.lag);
    const i64 column = at.column + node.lane;
    if (!at.there) return 0;
    switch (node.op) {
      case Signal::input: {
        const Grid& grid = netlist_.inputs[static_cast<std::size_t>(node.value)].grid;
        const i64 k = point(at, grid, node.lane);
        const Frames& frames = inputs_[static_cast<std::size_t>(node.value)];
        if (at.frame >= static_cast<i64>(frames.size()) || k < 0) return 0;
        return frames[static_cast<std::size_t>(at.frame)][static_cast<std::size_t>(k)];
      }
      case Signal::row:
        return at.row;
      case Signal::column:
        return column;
      case Signal::row_is:
        return at.row == node.value;
      case Signal::row_left_is:
        return extent_of(node, true) - 1 - at.row == node.value;
      case Signal::row_phase:
        return at.row % node.value == node.lane;
      case Signal::word_phase:
        return at.column / frame_.lanes % node.value == node.lane;
      case Signal::column_is:
        return column == node.value;
      default:
        return extent_of(node, false) - 1 - column == node.value;
    }
  }

  __int128 operation(const Node& node, const i64* v) const {
    const auto a = static_cast<__int128>(v[0]), b = static_cast<__int128>(v[1]);
    switch (node.op) {
      case Signal::add:
        return a + b;
      case Signal::sub:
        return a - b;
      case Signal::mul:
        return a * b;
      case Signal::shift_left:
        return a << node.value;
      case Signal::shift_right:
        return a >> node.value;
      case Signal::resize:
        return a;
      case Signal::bit_and:
        return v[0] & v[1];
      case Signal::bit_or:
        return v[0] | v[1];
      case Signal::bit_xor:
        return v[0] ^ v[1];
      case Signal::bit_not:
        return ~v[0];
      case Signal::eq:
        return a == b;
      case Signal::lt:
        return a < b;
      case Signal::le:
        return a <= b;
      case Signal::select:
        return v[0] != 0 ? v[1] : v[2];
      case Signal::divide:
        return b == 0 ? 0 : a / b;
      case Signal::remainder:
        return b == 0 ? 0 : a % b;
      case Signal::up:
        return a << v[1];
      case Signal::down:
        return a >> v[1];
      case Signal::root: {
        auto r = static_cast<i64>(std::sqrt(std::max(0.0, static_cast<double>(v[0]))));
        while (static_cast<__int128>(r) * r > a && r > 0) --r;
        while (static_cast<__int128>(r + 1) * (r + 1) <= a) ++r;
        return r;
      }
      case Signal::float_unary:
      case Signal::float_binary: {
        const FloatOperation f = FloatOperation::of(node.value);
        const double x[2] = {number_of(v[0], f.operands), number_of(v[1], f.operands)};
        return pattern_of(ir::evaluate(static_cast<ir::Op>(f.op), f.type, f.operands, x), f.type);
      }
      case Signal::table:
        return netlist_.tables[static_cast<std::size_t>(node.value)].values[static_cast<std::size_t>(std::clamp<i64>(
            v[0], 0, static_cast<i64>(netlist_.tables[static_cast<std::size_t>(node.value)].values.size()) - 1))];
      default:
        return 0;
    }
  }

  // Which point of an image with that grid lane `lane` of a word carries; -1: none.
  i64 point(const Place& at, const Grid& grid, int lane) const {
    const i64 step = netlist_.word_step(grid), word = at.column / frame_.lanes;
    if (at.row % grid.rows.rate != 0 || word % step != 0) return -1;
    const i64 row = at.row / grid.rows.rate, column = word / step * netlist_.lanes(grid) + lane;
    if (row >= grid.rows.points(height_) || column >= grid.columns.points(width_)) return -1;
    return row * grid.columns.points(width_) + column;
  }

  Frames collect(const Result& r) const {
    const Grid& grid = r.port.grid;
    Frames frames(static_cast<std::size_t>(count_),
                  std::vector<i64>(static_cast<std::size_t>(grid.rows.points(height_) * grid.columns.points(width_))));
    for (i64 n = 0; n < ticks_; ++n) {
      const Place at = place(n, r.lag);
      if (!at.there || at.frame >= count_) continue;
      for (std::size_t lane = 0; lane < r.lanes.size(); ++lane)
        if (const i64 k = point(at, grid, static_cast<int>(lane)); k >= 0)
          frames[static_cast<std::size_t>(at.frame)][static_cast<std::size_t>(k)] =
              values_[r.lanes[lane].id][static_cast<std::size_t>(n)];
    }
    return frames;
  }

  const Netlist& netlist_;
  const std::vector<Frames>& inputs_;
  const std::vector<i64>& scalars_;
  Frame frame_;
  i64 height_ = 0, width_ = 0;  // as given
  i64 count_ = 1, ticks_ = 0;
  std::vector<std::vector<i64>> values_;
};

}  // namespace

std::vector<Frames> simulate(const Netlist& netlist, const std::vector<Frames>& inputs, const std::vector<i64>& scalars,
                             i64 height, i64 width) {
  if (netlist.frame.fixed) height = netlist.given.most[0], width = netlist.given.most[1];
  return Simulation(netlist, inputs, scalars, height, width).run();
}

}  // namespace tessera::hardware
