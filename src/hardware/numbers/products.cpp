// Digits, parts by diagonals, and their sums.
#include "hardware/numbers/products.hpp"

#include <algorithm>
#include <vector>

#include "hardware/numbers/arithmetic.hpp"

namespace tessera::hardware {

namespace {

constexpr int any_additions = 64;

class Splitting {
 public:
  Splitting(const Netlist& from, Block block)
      : from_(from), to_(like(from)), make_(to_, block.wide == 0 ? any_additions : 0), block_(block) {}

  Netlist run() {
    for (std::uint32_t k = 0; k < from_.size(); ++k) {
      Node node = from_.node({k});
      for (NodeId& a : node.args) a = now_[a.id];
      make_.stage = node.stage;
      now_.push_back(node.op != Signal::mul || fits(node) ? to_.add(std::move(node)) : product(node));
    }
    return_as(to_, from_, now_);
    return std::move(to_);
  }

 private:
  Bits bits(NodeId n) const { return to_.node(n).bits; }
  int signed_width(NodeId n) const { return bits(n).width + (bits(n).is_signed ? 0 : 1); }

  bool fits(const Node& node) const {
    const int a = signed_width(node.args[0]), b = signed_width(node.args[1]);
    return std::max(a, b) <= block_.wide && std::min(a, b) <= block_.narrow;
  }

  Value value_of(NodeId n) const {
    const Node& node = to_.node(n);
    if (node.op == Signal::constant) return {n, static_cast<double>(node.value), static_cast<double>(node.value)};
    return {n, static_cast<double>(least_of(node.bits)), static_cast<double>(most_of(node.bits))};
  }

  NodeId product(const Node& node) {
    const NodeId a = node.args[0], b = node.args[1];
    if (block_.wide == 0) return make_.resized(in_rows(a, b).node, node.bits);
    // The sides of the block may be changed for each other: fewer parts.
    const auto parts = [&](int of_a, int of_b) { return digits(a, of_a).size() * digits(b, of_b).size(); };
    const bool turned = a != b && parts(block_.wide, block_.narrow) > parts(block_.narrow, block_.wide);
    const int of_a = a == b ? block_.narrow : turned ? block_.narrow : block_.wide;
    const int of_b = turned ? block_.wide : block_.narrow;
    return added(diagonals(a, of_a, b, of_b, node.bits.width), node.bits);
  }

  // ---- digits ------------------------------------------------------------------------------------------------------

  struct Digit {
    int shift = 0, width = 0;  // the uppermost has the sign of what it is a digit of
  };

  // Of a factor for a side of so many bits.
  std::vector<Digit> digits(NodeId n, int side) const {
    std::vector<Digit> all;
    const Bits whole = bits(n);
    const int most = whole.is_signed ? side : side - 1;
    int at = 0;
    for (; whole.width - at > most; at += side - 1) all.push_back({at, side - 1});
    all.push_back({at, whole.width - at});
    return all;
  }

  Value digit(NodeId n, const std::vector<Digit>& all, std::size_t k) {
    const Digit& d = all[k];
    const Bits format{k + 1 == all.size() && bits(n).is_signed, d.width};
    if (to_.node(n).op == Signal::constant)
      return make_.constant(static_cast<double>(wrap(format, to_.node(n).value >> d.shift)));
    if (d.shift == 0) return value_of(make_.resized(n, format));
    return value_of(make_.node(Signal::shift_right, format, {n}, d.shift));
  }

  // ---- parts -------------------------------------------------------------------------------------------------------

  // Parts that lie side by side, as one number: 2^shift times `node`.
  struct Row {
    NodeId node;
    int shift = 0;
  };

  std::vector<Row> diagonals(NodeId a, int of_a, NodeId b, int of_b, int width) {
    const std::vector<Digit> da = digits(a, of_a), db = digits(b, of_b);
    const auto n = static_cast<int>(da.size()), m = static_cast<int>(db.size());
    std::vector<Row> rows;
    for (int d = a == b ? 0 : 1 - m; d < n; ++d) {
      Row row;
      for (int i = std::max(0, d); i < n && i - d < m; ++i) {
        const auto x = static_cast<std::size_t>(i), y = static_cast<std::size_t>(i - d);
        const int shift = da[x].shift + db[y].shift + (a == b && d > 0 ? 1 : 0);
        if (shift >= width) break;
        const Value part = make_.multiply(digit(a, da, x), digit(b, db, y));
        if (to_.node(part.node).op == Signal::constant && to_.node(part.node).value == 0) continue;
        row = row.node.valid() ? beside(row, {part.node, shift}, width) : Row{part.node, shift};
      }
      if (row.node.valid()) rows.push_back(row);
    }
    return rows;
  }

  // `upper` lies behind the last bit of `lower`, which has no sign: only the uppermost of a diagonal may have one.
  Row beside(const Row& lower, const Row& upper, int width) {
    const int by = upper.shift - lower.shift;
    const Bits format{bits(upper.node).is_signed, std::min(bits(upper.node).width + by, width - lower.shift)};
    const NodeId moved = make_.node(Signal::shift_left, format, {upper.node}, by);
    return {make_.node(Signal::bit_or, format, {moved, lower.node}), lower.shift};
  }

  // ---- sums --------------------------------------------------------------------------------------------------------

  // Of so many bits, which are all that the sum has: those beyond them need not be made on the way. The shortest rows
  // first.
  NodeId added(std::vector<Row> rows, Bits format) {
    if (rows.empty()) return make_.resized(make_.constant(0).node, format);
    const auto end = [&](const Row& r) { return bits(r.node).width + r.shift; };
    while (rows.size() > 1) {
      std::sort(rows.begin(), rows.end(),
                [&](const Row& x, const Row& y) { return std::pair(end(x), x.node) > std::pair(end(y), y.node); });
      const Row x = rows.back(), y = rows[rows.size() - 2];
      rows.resize(rows.size() - 2);
      rows.push_back(sum(x, y, format));
    }
    return make_.resized(moved(rows[0], rows[0].shift, format), format);
  }

  Row sum(const Row& x, const Row& y, Bits format) {
    const int shift = std::min(x.shift, y.shift), room = format.width - shift;
    const auto magnitude = [&](const Row& r) { return bits(r.node).width + r.shift - shift; };
    const bool is_signed = bits(x.node).is_signed || bits(y.node).is_signed;
    const Bits wide{is_signed, std::max(magnitude(x), magnitude(y)) + (is_signed ? 2 : 1)};
    const Bits kept = wide.width > room ? Bits{format.is_signed, room} : wide;
    return {make_.node(Signal::add, kept, {moved(x, x.shift - shift, kept), moved(y, y.shift - shift, kept)}), shift};
  }

  // No wider than needed.
  NodeId moved(const Row& row, int by, Bits needed) {
    const Bits now = bits(row.node);
    const Bits format = now.width + by > needed.width ? needed : Bits{now.is_signed, now.width + by};
    return by == 0 ? make_.resized(row.node, format) : make_.node(Signal::shift_left, format, {row.node}, by);
  }

  // ---- without multipliers -----------------------------------------------------------------------------------------

  Value in_rows(NodeId a, NodeId b) {
    const auto fixed = [&](NodeId n) { return to_.node(n).op == Signal::constant; };
    if (fixed(a) || fixed(b)) return make_.multiply(value_of(a), value_of(b));
    if (bits(a).width < bits(b).width) std::swap(a, b);
    std::vector<Arithmetic::Term> terms;
    const Bits narrow = bits(b);
    for (int k = 0; k < narrow.width; ++k) {
      const NodeId bit = k == 0 ? make_.resized(b, Bits{}) : make_.node(Signal::shift_right, Bits{}, {b}, k);
      const Value row = make_.select(bit, value_of(a), make_.constant(0));
      terms.push_back({make_.shift_left(row, k), narrow.is_signed && k + 1 == narrow.width});
    }
    return make_.sum(std::move(terms));
  }

  const Netlist& from_;
  Netlist to_;
  Arithmetic make_;
  Block block_;
  std::vector<NodeId> now_;
};

}  // namespace

Netlist split_products(const Netlist& netlist, Chip chip) {
  return Splitting(netlist, block_of(chip)).run();
}

}  // namespace tessera::hardware
