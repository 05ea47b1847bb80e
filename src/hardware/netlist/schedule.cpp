// Clocks as differences: a value is there after its operands, a line keeps its past at one clock.
#include "hardware/netlist/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "hardware/netlist/delay_lines.hpp"
#include "hardware/netlist/differences.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

namespace {

constexpr std::size_t most_exact = 60000;  // nodes

constexpr int row_of_multipliers = 16;
constexpr int mark_cost = 4;  // bits that go with a result through every clock

bool is_position(Signal s) {
  return s == Signal::row || s == Signal::column || s == Signal::row_is || s == Signal::row_left_is ||
         s == Signal::column_is || s == Signal::column_left_is || s == Signal::row_phase || s == Signal::word_phase;
}

// Is it the state of registers or a memory?
bool is_past(Signal s) {
  return s == Signal::delay || s == Signal::held || s == Signal::line;
}

// Multipliers of an ECP5 lie in rows: the more there are, the further away they are.
int way_to_multipliers(const Netlist& netlist, Chip chip) {
  const int near = delays_of(chip).multiplier;
  if (chip != Chip::ecp5) return near;
  int multipliers = 0;
  for (std::uint32_t k = 0; k < netlist.size(); ++k) multipliers += netlist.node({k}).op == Signal::mul ? 1 : 0;
  return near + near * multipliers / row_of_multipliers;
}

// Of what takes clocks, other than a multiplier: to the first of its registers.
int entry_delay(const Netlist& netlist, const Node& node, const Delays& delays) {
  if (node.op == Signal::table) return delays.multiplier;
  if (node.op != Signal::divide && node.op != Signal::remainder) return 0;
  // A divider takes magnitudes first.
  int most = 0;
  for (const NodeId a : node.args)
    if (const Bits bits = netlist.node(a).bits; bits.is_signed)
      most = std::max(most, delays.carry + delays.carry_bit * bits.width);
  return most;
}

// Variables: clock of node k, last reading n + k, its line 2 n + k, result 3 n + r, then the clock 0.
class Clocks {
 public:
  // `tied`: the lanes of a stage keep their past at the same clock.
  Clocks(const Netlist& netlist, const ScheduleOptions& options, bool tied)
      : netlist_(netlist),
        delays_(delays_of(options.chip)),
        way_(way_to_multipliers(netlist, options.chip)),
        n_(netlist.size()),
        zero_(3 * n_ + netlist.results.size()) {
    constrain();
    break_chains(static_cast<int>(1e6 / options.frequency) - delays_.clock);
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
  void at_clock(std::size_t v, int clock) { at_least(v, zero_, clock), at_least(zero_, v, -clock); }

  void constrain() {
    cost_.assign(zero_ + 1, 0);
    has_line_.assign(n_, false);
    from_memory_.assign(n_, false);
    const DelayLines lines = delay_lines(netlist_);
    for (const DelayLine& line : lines.lines) {
      const std::size_t k = line.source.id;
      has_line_[k] = true;
      at_least(2 * n_ + k, k, 0);
      at_least(n_ + k, 2 * n_ + k, 0);
      int earliest = shift_clock;
      for (const DelayPiece& piece : line.pieces)
        if (piece.memory >= 0)
          earliest = std::max(
              earliest, follows_columns(netlist_, piece.length, row_memory_clock) ? row_memory_clock : memory_clock);
      at_least(2 * n_ + k, zero_, earliest);
      // Memories lie far away.
      if (earliest > shift_clock && chains(k)) at_least(2 * n_ + k, k, 1);
      for (const auto& [tap, piece] : line.taps) {
        equal(tap, 2 * n_ + k);
        if (line.pieces[piece].memory >= 0) from_memory_[tap] = true;
      }
    }
    for (std::size_t k = 0; k < n_; ++k) {
      if (is_static(node(k))) {
        equal(k, zero_);
        continue;
      }
      at_least(n_ + k, k, 0);
      cost_[n_ + k] += node(k).bits.width;
      cost_[k] -= node(k).bits.width;
      if (node(k).op == Signal::input) at_clock(k, input_clock);
      if (is_position(node(k).op)) at_clock(k, position_clock);
      if (node(k).op == Signal::delay || node(k).op == Signal::input || is_position(node(k).op)) continue;
      if (node(k).op == Signal::held) at_least(k, zero_, shift_clock);
      if (node(k).op == Signal::line) {
        at_least(k, zero_, memory_clock);
        from_memory_[k] = true;
        if (chains(node(k).args[0].id)) at_least(k, node(k).args[0].id, 1);
      }
      bool moves = false;
      for (std::size_t arg = 0; arg < node(k).args.size(); ++arg) {
        const NodeId a = node(k).args[arg];
        // A line is read two clocks ahead.
        const int latency = node(k).op == Signal::line && arg == 1 ? 2 : latency_of(netlist_, node(k));
        if (is_static(netlist_.node(a))) continue;
        moves = true;
        at_least(k, a.id, latency);
        at_least(n_ + a.id, k, -latency);
      }
      if (!moves) at_least(k, zero_, latency_of(netlist_, node(k)));
    }
    for (std::size_t r = 0; r < netlist_.results.size(); ++r) {
      at_least(3 * n_ + r, zero_, position_clock);
      cost_[3 * n_ + r] += mark_cost;
      cost_[zero_] -= mark_cost;
      for (const NodeId lane : netlist_.results[r].lanes) {
        if (is_static(netlist_.node(lane))) continue;
        at_least(3 * n_ + r, lane.id, chains(lane.id) ? 1 : 0);
        at_least(n_ + lane.id, 3 * n_ + r, 0);
      }
    }
  }

  bool chains(std::size_t k) const {
    const Node& one = node(k);
    return !is_static(one) && !one.args.empty() && !is_past(one.op) && latency_of(netlist_, one) == 0;
  }

  // What a chain has behind it before it begins with this: nothing out of a register near by.
  int exit_delay(std::size_t k) const {
    return from_memory_[k] ? delays_.memory : node(k).op == Signal::mul ? delays_.multiplier : 0;
  }
  // What has registers of its own takes a share of the clock before the first of them.
  int own_delay(std::size_t k) const {
    if (latency_of(netlist_, node(k)) == 0) return delay_of(netlist_, node(k), delays_);
    return node(k).op == Signal::mul ? way_ : entry_delay(netlist_, node(k), delays_);
  }

  // From every operation along what may share its clock, in order, to the first that fit no more.
  void break_chains(int room) {
    const auto begins = [&](std::size_t k) { return chains(k) || exit_delay(k) > 0; };
    std::vector<std::vector<std::size_t>> readers(n_);
    std::vector<int> delay(n_, 0);
    for (std::size_t k = 0; k < n_; ++k) {
      if (!chains(k) && latency_of(netlist_, node(k)) == 0) continue;
      delay[k] = own_delay(k);
      for (const NodeId a : node(k).args)
        if (begins(a.id) && (readers[a.id].empty() || readers[a.id].back() != k)) readers[a.id].push_back(k);
    }
    for (std::size_t first = 0; first < n_; ++first) {
      if (!begins(first)) continue;
      std::map<std::size_t, int> until;  // the longest ways
      const auto go_on = [&](std::size_t from, int way) {
        for (const std::size_t next : readers[from]) {
          int& longest = until[next];
          longest = std::max(longest, way + delay[next]);
        }
      };
      go_on(first, chains(first) ? delay[first] : exit_delay(first));
      for (auto it = until.begin(); it != until.end(); it = until.erase(it)) {
        const int latency = latency_of(netlist_, node(it->first));
        if (it->second > room)
          at_least(it->first, first, latency + 1);
        else if (latency == 0)
          go_on(it->first, it->second);
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
  const Delays& delays_;
  int way_;
  std::size_t n_, zero_;
  std::vector<i64> cost_;
  std::vector<bool> has_line_, from_memory_;
  std::vector<Difference> constraints_;
};

}  // namespace

bool is_static(const Node& node) {
  return node.op == Signal::constant || node.op == Signal::scalar;
}

int root_bits(Bits bits) {
  return (bits.width - (bits.is_signed ? 1 : 0) + 1) / 2;
}

int quotient_bits(const Netlist& netlist, const Node& node) {
  const int dividend = netlist.node(node.args[0]).bits.width;
  return node.value > 0 ? std::min(static_cast<int>(node.value), dividend) : dividend;
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
    case Signal::up:
    case Signal::down:
    case Signal::table:
      return 2;
    case Signal::root:
      return root_bits(netlist.node(node.args[0]).bits) + 1;
    case Signal::divide:
      return quotient_bits(netlist, node) + 2;
    case Signal::remainder:
      return quotient_bits(netlist, node) + 3;
    default:
      return 0;
  }
}

int delay_of(const Netlist& netlist, const Node& node, const Delays& delays) {
  const auto operand = [&](std::size_t k) -> const Node& { return netlist.node(node.args[k]); };
  const auto width = [&](std::size_t k) { return operand(k).bits.width; };
  // Bits in which one operand is 0 by its shift have no carry, if they are not taken from.
  const auto moved = [&](std::size_t k) {
    return operand(k).op == Signal::shift_left ? static_cast<int>(operand(k).value) : 0;
  };
  switch (node.op) {
    case Signal::add:
      return delays.carry + delays.carry_bit * std::max(1, node.bits.width - std::max(moved(0), moved(1)));
    case Signal::sub:
      return delays.carry + delays.carry_bit * std::max(1, node.bits.width - moved(1));
    case Signal::lt:
    case Signal::le:
      // A sign is there already.
      if (node.op == Signal::lt && operand(1).op == Signal::constant && operand(1).value == 0) return 0;
      if (node.op == Signal::le && operand(0).op == Signal::constant && operand(0).value == 0) return 0;
      return delays.carry + delays.carry_bit * std::max(width(0), width(1));
    case Signal::eq:
      return delays.cell * (std::max(width(0), width(1)) > 2 ? 2 : 1);
    case Signal::bit_or:
      // Numbers side by side are wiring.
      return !operand(1).bits.is_signed && moved(0) >= width(1) ? 0 : delays.cell;
    case Signal::bit_and:
    case Signal::bit_xor:
      return delays.cell;
    case Signal::select:
      return delays.cell + (node.bits.width > delays.narrow ? delays.fan : 0);
    default:
      return 0;
  }
}

bool follows_columns(const Netlist& netlist, Lag length, int clock) {
  return netlist.frame.fixed && netlist.ticks(length) == netlist.frame.pitch() && clock == row_memory_clock;
}

Schedule make_schedule(const Netlist& netlist, const ScheduleOptions& options) {
  if (!(options.frequency >= least_frequency && options.frequency <= most_frequency))
    throw Error(ErrorClass::argument, fmt::format("a frequency of {} MHz; expected {} to {}", options.frequency,
                                                  least_frequency, most_frequency));
  // A stage that hands a value on as it is may stand in two stages' lanes: then they cannot be tied.
  auto schedule = Clocks(netlist, options, true).solve();
  if (!schedule) schedule = Clocks(netlist, options, false).solve();
  if (!schedule) throw Error(ErrorClass::internal, "no clocks fit a netlist");
  return *schedule;
}

}  // namespace tessera::hardware
