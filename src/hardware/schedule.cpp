// Clocks as differences: a value is there after its operands, a line keeps its past at one clock.
#include "hardware/schedule.hpp"

#include <algorithm>
#include <optional>

#include "hardware/delay_lines.hpp"
#include "hardware/differences.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

namespace {

constexpr std::size_t most_exact = 3000;  // nodes

bool is_position(Signal s) {
  return s == Signal::row || s == Signal::column || s == Signal::row_is || s == Signal::row_left_is ||
         s == Signal::column_is || s == Signal::column_left_is;
}

// Variables: clock of node k, last reading n + k, its line 2 n + k, result 3 n + r, then the clock 0.
class Clocks {
 public:
  // `tied`: the lanes of a stage keep their past at the same clock.
  Clocks(const Netlist& netlist, bool tied)
      : netlist_(netlist), n_(netlist.size()), zero_(3 * n_ + netlist.results.size()) {
    constrain();
    if (tied) tie_lanes();
  }

  // Nothing where the constraints contradict each other.
  std::optional<Schedule> solve() {
    std::vector<i64> x;
    if (n_ <= most_exact) {
      const auto best = minimise_differences(cost_, constraints_);
      if (!best) return {};
      x = *best;
    } else {
      const auto found = earliest();
      if (!found) return {};
      x = *found;
    }
    Schedule s;
    for (std::size_t k = 0; k < n_; ++k) {
      const auto at = [&](std::size_t v) { return static_cast<int>(x[v] - x[zero_]); };
      s.clock.push_back(at(k));
      s.until.push_back(is_static(node(k)) ? at(k) : std::max(at(k), at(n_ + k)));
      s.line.push_back(has_line_[k] ? at(2 * n_ + k) : -1);
      s.depth = std::max({s.depth, s.clock.back(), s.until.back()});
      s.waiting_bits += i64{s.until.back() - s.clock.back()} * node(k).bits.width;
    }
    for (std::size_t r = 0; r < netlist_.results.size(); ++r) {
      s.result.push_back(static_cast<int>(x[3 * n_ + r] - x[zero_]));
      s.depth = std::max(s.depth, s.result.back());
    }
    return s;
  }

 private:
  const Node& node(std::size_t k) const { return netlist_.node({static_cast<std::uint32_t>(k)}); }
  void at_least(std::size_t later, std::size_t earlier, i64 by) { constraints_.push_back({earlier, later, by}); }
  void equal(std::size_t a, std::size_t b) { at_least(a, b, 0), at_least(b, a, 0); }

  void constrain() {
    cost_.assign(zero_ + 1, 0);
    has_line_.assign(n_, false);
    const DelayLines lines = delay_lines(netlist_);
    for (const DelayLine& line : lines.lines) {
      const std::size_t k = line.source.id;
      has_line_[k] = true;
      at_least(2 * n_ + k, k, 0);
      at_least(n_ + k, 2 * n_ + k, 0);
      const bool rings =
          std::any_of(line.pieces.begin(), line.pieces.end(), [](const DelayPiece& p) { return p.memory >= 0; });
      if (rings) at_least(2 * n_ + k, zero_, memory_clock);
      for (const auto& [tap, piece] : line.taps) equal(tap, 2 * n_ + k);
    }
    for (std::size_t k = 0; k < n_; ++k) {
      if (is_static(node(k))) {
        equal(k, zero_);
        continue;
      }
      at_least(n_ + k, k, 0);
      cost_[n_ + k] += node(k).bits.width;
      cost_[k] -= node(k).bits.width;
      if (node(k).op == Signal::input) at_least(k, zero_, input_clock), at_least(zero_, k, -input_clock);
      if (is_position(node(k).op)) at_least(k, zero_, position_clock);
      if (node(k).op == Signal::delay) continue;
      const int latency = latency_of(netlist_, node(k));
      bool moves = false;
      for (const NodeId a : node(k).args) {
        if (is_static(netlist_.node(a))) continue;
        moves = true;
        at_least(k, a.id, latency);
        at_least(n_ + a.id, k, -latency);
      }
      if (!moves) at_least(k, zero_, latency);
    }
    for (std::size_t r = 0; r < netlist_.results.size(); ++r) {
      at_least(3 * n_ + r, zero_, position_clock);
      for (const NodeId lane : netlist_.results[r].lanes) {
        if (is_static(netlist_.node(lane))) continue;
        at_least(3 * n_ + r, lane.id, 0);
        at_least(n_ + lane.id, 3 * n_ + r, 0);
      }
    }
  }

  // The lanes of a stage keep their past at the same clock, so that one memory holds it.
  void tie_lanes() {
    for (const std::vector<NodeId>& lanes : netlist_.stored) {
      std::optional<std::size_t> first;
      for (const NodeId lane : lanes)
        if (has_line_[lane.id] && !first) first = lane.id;
      for (const NodeId lane : lanes)
        if (first && has_line_[lane.id] && lane.id != *first) equal(2 * n_ + *first, 2 * n_ + lane.id);
    }
  }

  // Longest paths from the clock 0, of clocks alone: last readings follow.
  std::optional<std::vector<i64>> earliest() const {
    std::vector<i64> x(zero_ + 1, 0);
    std::size_t rounds = 0;
    for (bool changed = true; changed;) {
      if (++rounds > n_) return {};
      changed = false;
      for (const Difference& d : constraints_)
        if (x[d.from] + d.least > x[d.to] && d.to != zero_) x[d.to] = x[d.from] + d.least, changed = true;
    }
    return x;
  }

  const Netlist& netlist_;
  std::size_t n_, zero_;
  std::vector<i64> cost_;
  std::vector<bool> has_line_;
  std::vector<Difference> constraints_;
};

}  // namespace

bool is_static(const Node& node) {
  return node.op == Signal::constant || node.op == Signal::scalar;
}

int root_bits(Bits bits) {
  return (bits.width - (bits.is_signed ? 1 : 0) + 1) / 2;
}

int dividend_bits(Bits bits) {
  return std::max(2, bits.width + (bits.is_signed ? 0 : 1));
}

int latency_of(const Netlist& netlist, const Node& node) {
  switch (node.op) {
    case Signal::shift_left:
    case Signal::shift_right:
    case Signal::resize:
    case Signal::bit_not:
    case Signal::delay:
      return 0;
    case Signal::mul:
      return 3;
    case Signal::up:
    case Signal::down:
    case Signal::table:
      return 2;
    case Signal::root:
      return root_bits(netlist.node(node.args[0]).bits) + 1;
    case Signal::divide:
    case Signal::remainder:
      return dividend_bits(netlist.node(node.args[0]).bits) + 2;
    default:
      return is_static(node) ? 0 : 1;
  }
}

Schedule make_schedule(const Netlist& netlist) {
  // A stage that hands a value on as it is may stand in two stages' lanes: then they cannot be tied.
  auto schedule = Clocks(netlist, true).solve();
  if (!schedule) schedule = Clocks(netlist, false).solve();
  if (!schedule) throw Error(ErrorClass::internal, "no clocks fit a netlist");
  return *schedule;
}

}  // namespace tessera::hardware
