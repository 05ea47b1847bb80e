// Rules that look at several signals at once, and at who reads them.
//
// A selection of two products is a product of selections, which are no wider together and are shared with other
// products of the same factors; what is left, a sum of products, is what multipliers' blocks add by themselves.
// Largest values: max(max(a, b), max(b, c)) is max(max(a, b), c). What is compared with a largest value is compared
// with each of those it is of, where nobody else asks for it: x >= max(a, b) is x >= a and x >= b, without the
// selection. And where somebody does ask: x >= max(max(y, x), z) is known from the comparisons that found the maximum.
// Smallest values are the same, turned round.
#include "hardware/netlist/simplify.hpp"

#include <algorithm>
#include <optional>

namespace tessera::hardware {

namespace {

constexpr int most_rounds = 4;
constexpr std::size_t most_looked_into = 64;  // extremes of extremes
constexpr int most_compared = 2;  // comparisons with an extreme that cost no more with each of the two that it is of
constexpr i64 most_waiting = 16;  // ticks that a known comparison is kept for, rather than made again

// The larger (smaller) of two: `acc`, but `fresh` where `beats`, which is acc < fresh (fresh < acc).
struct Extreme {
  bool largest = true;
  NodeId acc, fresh, beats;
};

class Simplify {
 public:
  explicit Simplify(const Netlist& from) : from_(from), to_(like(from)), readers_(from.size()) {
    for (std::uint32_t k = 0; k < from.size(); ++k)
      for (const NodeId a : from.node({k}).args)
        if (readers_[a.id].empty() || readers_[a.id].back() != k) readers_[a.id].push_back(k);
    for (const Result& r : from.results)
      for (const NodeId n : r.lanes) readers_[n.id].push_back(result);
  }

  bool changed() const { return changed_; }

  Netlist run() {
    for (std::uint32_t k = 0; k < from_.size(); ++k) {
      Node node = from_.node({k});
      for (NodeId& a : node.args) a = map_[a.id];
      stage_ = node.stage;
      const NodeId plain = to_.add(node);
      const auto turned = turned_round(k);
      map_.push_back(turned ? *turned : simpler(std::move(node)));
      changed_ |= map_.back() != plain;
      asked_.resize(to_.size(), 0);
      read_.resize(to_.size(), 0);
      asked_[map_[k].id] += consumers(k);
      read_[map_[k].id] += only_compared(k) ? static_cast<int>(readers_[k].size()) : most_compared + 1;
    }
    return_as(to_, from_, map_);
    return living(to_);
  }

 private:
  static constexpr std::uint32_t result = 0xffffffff;

  // How many ask for a signal; a comparison and the selection that it decides are one.
  int consumers(std::uint32_t k) const {
    const std::vector<std::uint32_t>& all = readers_[k];
    int count = static_cast<int>(all.size());
    for (const std::uint32_t reader : all)
      if (reader != result && from_.node({reader}).op == Signal::select) {
        const std::uint32_t condition = from_.node({reader}).args[0].id;
        if (condition != k && std::find(all.begin(), all.end(), condition) != all.end() &&
            readers_[condition].size() == 1)
          --count;
      }
    return count;
  }
  bool asked_once(NodeId n) const { return n.id >= asked_.size() || asked_[n.id] <= 1; }

  // Is it read by comparisons alone, and few?
  bool only_compared(std::uint32_t k) const {
    return std::all_of(readers_[k].begin(), readers_[k].end(), [&](std::uint32_t reader) {
      return reader != result && (from_.node({reader}).op == Signal::lt || from_.node({reader}).op == Signal::le);
    });
  }
  bool compared_apart(NodeId n) const { return n.id >= read_.size() || read_[n.id] <= most_compared; }

  const Node& at(NodeId n) const { return to_.node(n); }
  NodeId node(Signal op, Bits bits, std::vector<NodeId> args) {
    Node n;
    n.op = op;
    n.bits = bits;
    n.args = std::move(args);
    n.stage = stage_;
    return to_.add(std::move(n));
  }

  NodeId simpler(Node n) {
    switch (n.op) {
      case Signal::lt:
        return less(n.args[0], n.args[1]);
      case Signal::le:
        return negated(less(n.args[1], n.args[0]));
      case Signal::bit_not:
        return is_bit(n) ? negated(n.args[0]) : to_.add(std::move(n));
      case Signal::bit_and:
      case Signal::bit_or:
        return is_bit(n) ? joined(n.op, n.args[0], n.args[1]) : to_.add(std::move(n));
      case Signal::delay:
        return at(n.args[0]).op == Signal::constant ? n.args[0] : to_.add(std::move(n));
      case Signal::select:
        return selection(std::move(n));
      default:
        return to_.add(std::move(n));
    }
  }

  // ---- bits --------------------------------------------------------------------------------------------------------

  // Is it a bit, of bits?
  bool is_bit(const Node& n) const {
    return n.bits == Bits{} &&
           std::all_of(n.args.begin(), n.args.end(), [&](NodeId a) { return at(a).bits == Bits{}; });
  }
  NodeId negated(NodeId n) {
    if (at(n).op == Signal::bit_not) return at(n).args[0];
    if (at(n).op == Signal::constant) return bit(at(n).value == 0);
    return node(Signal::bit_not, {}, {n});
  }
  NodeId bit(bool v) {
    Node n;
    n.value = v ? 1 : 0;
    n.stage = stage_;
    return to_.add(std::move(n));
  }
  // Of both, or either.
  NodeId joined(Signal op, NodeId a, NodeId b) {
    for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}})
      if (at(x).op == Signal::constant) return (at(x).value == 0) == (op == Signal::bit_and) ? x : y;
    return a == b ? a : node(op, {}, {std::min(a, b), std::max(a, b)});
  }

  // ---- the largest and the smallest --------------------------------------------------------------------------------

  std::optional<Extreme> extreme(NodeId n) const { return extreme(to_, n); }
  static std::optional<Extreme> extreme(const Netlist& of, NodeId n) {
    const auto at = [&](NodeId k) -> const Node& { return of.node(k); };
    const Node& s = at(n);
    if (s.op != Signal::select || at(s.args[0]).op != Signal::lt) return {};
    const NodeId p = at(s.args[0]).args[0], q = at(s.args[0]).args[1];
    if (at(p).bits != s.bits || at(q).bits != s.bits) return {};
    if (s.args[1] == q && s.args[2] == p) return Extreme{true, p, q, s.args[0]};
    if (s.args[1] == p && s.args[2] == q) return Extreme{false, q, p, s.args[0]};
    return {};
  }

  // Of two that are equal either is the extreme. Where one is found by p < q, and somebody asks for q < p, that is
  // enough to find it.
  std::optional<NodeId> turned_round(std::uint32_t k) {
    const Node& was = from_.node({k});
    if (was.op != Signal::select) return {};
    const Node& condition = from_.node(was.args[0]);
    if (condition.op != Signal::lt || readers_[was.args[0].id].size() > 1) return {};
    Node other = condition;
    std::swap(other.args[0], other.args[1]);
    if (!from_.find(other) || !extreme(from_, {k})) return {};
    const NodeId beats = node(Signal::lt, {}, {map_[other.args[0].id], map_[other.args[1].id]});
    return node(Signal::select, was.bits, {beats, map_[was.args[2].id], map_[was.args[1].id]});
  }

  NodeId extreme_of(bool largest, NodeId acc, NodeId fresh) {
    const NodeId beats = largest ? compared(acc, fresh) : compared(fresh, acc);
    return node(Signal::select, at(acc).bits, {beats, fresh, acc});
  }

  // Is `x` one of those that `n` is the extreme of?
  bool among(NodeId x, NodeId n, bool largest) const {
    std::vector<NodeId> all{n};
    for (std::size_t k = 0; k < all.size() && k < most_looked_into; ++k) {
      if (all[k] == x) return true;
      const auto e = extreme(all[k]);
      if (!e || e->largest != largest) continue;
      for (const NodeId part : {e->acc, e->fresh})
        if (std::find(all.begin(), all.end(), part) == all.end()) all.push_back(part);
    }
    return false;
  }

  // Does `n`, an extreme that `x` is among, beat it?
  NodeId beaten(NodeId x, NodeId n, bool largest) {
    if (x == n) return bit(false);
    const Extreme e = *extreme(n);
    const bool before = among(x, e.acc, largest);
    const NodeId with = before ? e.acc : e.fresh, other = before ? e.fresh : e.acc;
    const NodeId beats = before ? e.beats : largest ? compared(with, other) : compared(other, with);
    return joined(Signal::bit_or, beaten(x, with, largest), beats);
  }

  NodeId compared(NodeId a, NodeId b) { return node(Signal::lt, {}, {a, b}); }

  // a < b
  NodeId less(NodeId a, NodeId b) {
    if (a == b) return bit(false);
    if (const auto known = as_found(a, b)) return *known;
    // Of the extreme on either side: with what is on its other side, all or any of its parts.
    for (const bool left : {true, false}) {
      const NodeId n = left ? a : b;
      const auto e = extreme(n);
      if (!e || !compared_apart(n)) continue;
      const auto part = [&](NodeId p) { return left ? compared(p, b) : compared(a, p); };
      const NodeId first = part(e->acc), second = part(e->fresh);
      return joined(e->largest == left ? Signal::bit_and : Signal::bit_or, first, second);
    }
    return compared(a, b);
  }

  // What finding an extreme has told: b is one that a was among, or a one that b was, as long ago.
  std::optional<NodeId> as_found(NodeId a, NodeId b) {
    for (const bool largest : {true, false}) {
      const NodeId now = largest ? b : a;
      const Lag since = at(now).op == Signal::delay ? at(now).lag : Lag{};
      const NodeId whole = since == Lag{} ? now : at(now).args[0];
      if (to_.ticks(since) > most_waiting) continue;
      const auto one = before(largest ? a : b, since);
      const auto e = extreme(whole);
      if (!one || !e || e->largest != largest || !among(*one, whole, largest)) continue;
      return delayed(beaten(*one, whole, largest), since);
    }
    return {};
  }

  // What a signal was before it waited so long, where there is such a one.
  std::optional<NodeId> before(NodeId n, Lag since) const {
    if (since == Lag{}) return n;
    Node past = at(n);
    if (past.op != Signal::delay) return {};
    if (past.lag == since) return past.args[0];
    past.lag = past.lag - since;
    return to_.ticks(past.lag) > 0 ? to_.find(past) : std::nullopt;
  }

  NodeId delayed(NodeId of, Lag by) {
    if (by == Lag{} || at(of).op == Signal::constant) return of;
    Node n;
    n.op = Signal::delay;
    n.bits = at(of).bits;
    n.lag = by;
    n.args = {of};
    n.stage = stage_;
    return to_.add(std::move(n));
  }

  // ---- selections --------------------------------------------------------------------------------------------------

  NodeId selection(Node n) {
    if (at(n.args[0]).op == Signal::bit_not && is_bit(at(n.args[0]))) {
      n.args[0] = at(n.args[0]).args[0];
      std::swap(n.args[1], n.args[2]);
    }
    if (at(n.args[0]).op == Signal::constant) {
      const NodeId one = at(n.args[0]).value != 0 ? n.args[1] : n.args[2];
      return at(one).bits == n.bits ? one : node(Signal::resize, n.bits, {one});
    }
    if (const auto product = product_of(n)) return *product;
    const NodeId plain = to_.add(std::move(n));
    if (const auto e = extreme(plain)) return without_doubles(plain, *e);
    return plain;
  }

  // Of two that have one in common, one is enough of the other where nobody else wants both.
  NodeId without_doubles(NodeId plain, const Extreme& e) {
    for (const auto& [whole, part] : {std::pair{e.acc, e.fresh}, std::pair{e.fresh, e.acc}}) {
      const auto two = extreme(part);
      if (!two || two->largest != e.largest || !asked_once(part)) continue;
      for (const auto& [one, other] : {std::pair{two->acc, two->fresh}, std::pair{two->fresh, two->acc}})
        if (among(one, whole, e.largest)) return extreme_of(e.largest, whole, other);
    }
    return plain;
  }

  // A selection of two products, at least one of which nobody else asks for, as a product of selections.
  std::optional<NodeId> product_of(const Node& n) {
    NodeId a = n.args[1], b = n.args[2];
    const bool resized =
        at(a).op == Signal::resize && at(b).op == Signal::resize && at(a).bits == n.bits && at(b).bits == n.bits;
    if (!asked_once(a) && !asked_once(b)) return {};
    if (resized) a = at(a).args[0], b = at(b).args[0];
    const Node x = at(a), y = at(b);
    if (x.op != Signal::mul || y.op != Signal::mul || x.bits != y.bits) return {};
    if (!resized && x.bits != n.bits) return {};
    std::vector<NodeId> factors = y.args;
    // What comes from the same stage goes together: the selection of it is shared.
    if (at(x.args[0]).stage == at(factors[1]).stage && at(x.args[0]).stage != at(factors[0]).stage)
      std::swap(factors[0], factors[1]);
    for (std::size_t k = 0; k < 2; ++k) {
      if (at(x.args[k]).op == Signal::constant || at(factors[k]).op == Signal::constant) return {};
      if (at(x.args[k]).bits != at(factors[k]).bits) return {};
    }
    for (std::size_t k = 0; k < 2; ++k)
      if (x.args[k] != factors[k])
        factors[k] = node(Signal::select, at(factors[k]).bits, {n.args[0], x.args[k], factors[k]});
    if (factors[1] < factors[0]) std::swap(factors[0], factors[1]);
    const NodeId product = node(Signal::mul, x.bits, factors);
    return resized ? node(Signal::resize, n.bits, {product}) : product;
  }

  const Netlist& from_;
  Netlist to_;
  std::vector<std::vector<std::uint32_t>> readers_;  // of what there was, by node
  std::vector<int> asked_, read_;  // by node of what there is: consumers and readers of what it stands for
  std::vector<NodeId> map_;
  std::uint32_t stage_ = 0;
  bool changed_ = false;
};

}  // namespace

// What one rule leaves is what another looks for.
Netlist simplified(const Netlist& netlist) {
  Netlist now = netlist;
  bool changed = true;
  for (int round = 0; changed && round < most_rounds; ++round) {
    Simplify next(now);
    Netlist then = next.run();
    changed = next.changed();
    now = std::move(then);
  }
  return now;
}

}  // namespace tessera::hardware
