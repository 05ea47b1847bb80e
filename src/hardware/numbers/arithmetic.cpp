// Sums in pairs, factors as signed digits, divisions as products: see arithmetic.hpp.
#include "hardware/numbers/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "tessera/error.hpp"

namespace tessera::hardware {

namespace {

struct Digit {
  int shift;
  bool minus;
};

// The canonical signed digits of a number, no two of which are neighbours.
std::vector<Digit> signed_digits(i64 v) {
  std::vector<Digit> digits;
  const bool minus = v < 0;
  auto rest = static_cast<unsigned __int128>(minus ? -static_cast<__int128>(v) : v);
  for (int shift = 0; rest != 0; ++shift, rest >>= 1)
    if ((rest & 1) != 0) {
      const bool down = (rest & 3) == 3;
      digits.push_back({shift, down != minus});
      rest = down ? rest + 1 : rest - 1;
    }
  return digits;
}

double corner(Value a, Value b, const std::function<double(double, double)>& f, bool largest) {
  const double v[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return largest ? *std::max_element(v, v + 4) : *std::min_element(v, v + 4);
}

// A quotient's magnitude, at most, unless it is by zero.
double most_quotient(Value a, Value b) {
  const double least = std::max({1.0, b.lo, -b.hi});
  return std::floor(std::max(std::abs(a.lo), std::abs(a.hi)) / least);
}

bool is_constant(Value v) {
  return v.lo == v.hi;
}

}  // namespace

NodeId Arithmetic::node(Signal op, Bits bits, std::vector<NodeId> args, i64 value) {
  Node n;
  n.op = op;
  n.bits = bits;
  n.args = std::move(args);
  n.value = value;
  n.stage = stage;
  return netlist_.add(std::move(n));
}

Value Arithmetic::constant(double v) {
  return {node(Signal::constant, bits_of(std::min(v, 0.0), std::max(v, 0.0)), {}, static_cast<i64>(v)), v, v};
}

Value Arithmetic::zero_or_one(NodeId n) {
  return {n, 0, 1};
}

NodeId Arithmetic::resized(NodeId n, Bits bits) {
  return netlist_.node(n).bits == bits ? n : node(Signal::resize, bits, {n});
}

Value Arithmetic::sum(std::vector<Term> terms) {
  double constants = 0;
  std::vector<Term> kept;
  for (const Term& t : terms)
    if (is_constant(t.value))
      constants += t.minus ? -t.value.lo : t.value.lo;
    else
      kept.push_back(t);
  if (constants != 0 || kept.empty()) kept.push_back({constant(std::abs(constants)), constants < 0});
  // Terms in pairs, the two narrowest first; of equal ones those that came first, so that equal sums are equal nodes.
  using Entry = std::tuple<int, std::size_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto enter = [&](std::size_t k) { queue.push({netlist_.node(kept[k].value.node).bits.width, k, k}); };
  for (std::size_t k = 0; k < kept.size(); ++k) enter(k);
  while (queue.size() > 1) {
    const Term a = kept[std::get<2>(queue.top())];
    queue.pop();
    const Term b = kept[std::get<2>(queue.top())];
    queue.pop();
    Term both;
    if (a.minus == b.minus) {
      both.minus = a.minus;
      both.value.lo = a.value.lo + b.value.lo, both.value.hi = a.value.hi + b.value.hi;
      both.value.node = node(Signal::add, bits_of(both.value.lo, both.value.hi), {a.value.node, b.value.node});
    } else {
      const Value& from = a.minus ? b.value : a.value;
      const Value& taken = a.minus ? a.value : b.value;
      both.value.lo = from.lo - taken.hi, both.value.hi = from.hi - taken.lo;
      both.value.node = node(Signal::sub, bits_of(both.value.lo, both.value.hi), {from.node, taken.node});
    }
    kept.push_back(both);
    enter(kept.size() - 1);
  }
  const Term last = kept[std::get<2>(queue.top())];
  if (!last.minus) return last.value;
  const Value negative{{}, -last.value.hi, -last.value.lo};
  return {node(Signal::sub, bits_of(negative.lo, negative.hi), {constant(0).node, last.value.node}), negative.lo,
          negative.hi};
}

Value Arithmetic::shift_left(Value v, i64 count) {
  if (count == 0) return v;
  const double factor = std::exp2(static_cast<double>(count));
  return {node(Signal::shift_left, bits_of(v.lo * factor, v.hi * factor), {v.node}, count), v.lo * factor,
          v.hi * factor};
}

Value Arithmetic::shift_right(Value v, i64 count) {
  if (count == 0) return v;
  const double factor = std::exp2(static_cast<double>(-count));
  const double lo = std::floor(v.lo * factor), hi = std::floor(v.hi * factor);
  return {node(Signal::shift_right, bits_of(lo, hi), {v.node}, count), lo, hi};
}

// A shift rounds down: of what is negative, 2^count - 1 more.
Value Arithmetic::shifted_towards_zero(Value v, i64 count) {
  const double more = std::exp2(static_cast<double>(count)) - 1;
  const NodeId sign = node(Signal::shift_right, {}, {v.node}, netlist_.node(v.node).bits.width - 1);
  Value sum = add(v, select(sign, constant(more), constant(0)));
  sum.lo = std::min(v.lo + more, 0.0), sum.hi = std::max(v.hi, more - 1);
  sum.node = resized(sum.node, bits_of(sum.lo, sum.hi));
  return shift_right(sum, count);
}

Value Arithmetic::product(Value v, double factor) {
  if (factor == 0) return constant(0);
  const std::vector<Digit> digits = signed_digits(static_cast<i64>(factor));
  const double lo = std::min(v.lo * factor, v.hi * factor), hi = std::max(v.lo * factor, v.hi * factor);
  if (static_cast<int>(digits.size()) > additions_ + 1) return multiplier(v, constant(factor), lo, hi);
  std::vector<Term> terms;
  for (const Digit& d : digits) terms.push_back({shift_left(v, d.shift), d.minus});
  Value result = sum(std::move(terms));
  // Digits forget that they are digits of one number.
  return {resized(result.node, bits_of(lo, hi)), lo, hi};
}

Value Arithmetic::multiply(Value a, Value b) {
  if (is_constant(b)) return product(a, b.lo);
  if (is_constant(a)) return product(b, a.lo);
  const auto f = [](double x, double y) { return x * y; };
  double lo = corner(a, b, f, false);
  const double hi = corner(a, b, f, true);
  if (a.node == b.node) lo = std::max(lo, 0.0);
  return multiplier(a, b, lo, hi);
}

Value Arithmetic::multiplier(Value a, Value b, double lo, double hi) {
  if (instead != nullptr && instead->next < instead->nodes.size())
    if (const NodeId other = instead->nodes[instead->next++]; other.valid()) return {other, lo, hi};
  std::vector<NodeId> args{a.node, b.node};
  if (!is_constant(b)) std::sort(args.begin(), args.end());
  const Product made{a.node, b.node, node(Signal::mul, bits_of(lo, hi), std::move(args))};
  if (products != nullptr) products->push_back(made);
  return {made.result, lo, hi};
}

NodeId Arithmetic::less(Value a, Value b) {
  if (a.hi < b.lo) return constant(1).node;
  if (a.lo >= b.hi) return constant(0).node;
  return node(Signal::lt, {}, {a.node, b.node});
}

NodeId Arithmetic::at_most(Value a, Value b) {
  if (a.hi <= b.lo) return constant(1).node;
  if (a.lo > b.hi) return constant(0).node;
  return node(Signal::le, {}, {a.node, b.node});
}

NodeId Arithmetic::equal(Value a, Value b) {
  if (a.node == b.node) return constant(1).node;
  if (a.hi < b.lo || b.hi < a.lo) return constant(0).node;
  if (b.node < a.node) std::swap(a, b);
  return node(Signal::eq, {}, {a.node, b.node});
}

NodeId Arithmetic::not_of(NodeId n) {
  const Node& from = netlist_.node(n);
  if (from.op == Signal::constant) return constant(from.value == 0 ? 1 : 0).node;
  return node(Signal::bit_not, {}, {n});
}

NodeId Arithmetic::both(NodeId a, NodeId b) {
  for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}})
    if (netlist_.node(x).op == Signal::constant) return netlist_.node(x).value == 0 ? x : y;
  return a == b ? a : node(Signal::bit_and, {}, {std::min(a, b), std::max(a, b)});
}

NodeId Arithmetic::any(const std::vector<NodeId>& bits) {
  NodeId result;
  for (const NodeId b : bits) {
    if (netlist_.node(b).op == Signal::constant) {
      if (netlist_.node(b).value != 0) return b;
      if (!result.valid()) result = b;
      continue;
    }
    const bool first = !result.valid() || netlist_.node(result).op == Signal::constant;
    result = first ? b : result == b ? b : node(Signal::bit_or, {}, {result, b});
  }
  return result;
}

Value Arithmetic::select(NodeId condition, Value a, Value b) {
  const Node& c = netlist_.node(condition);
  if (c.op == Signal::constant) return c.value != 0 ? a : b;
  if (a.node == b.node) return a;
  const double lo = std::min(a.lo, b.lo), hi = std::max(a.hi, b.hi);
  return {node(Signal::select, bits_of(lo, hi), {condition, a.node, b.node}), lo, hi};
}

Value Arithmetic::least(Value a, Value b) {
  if (a.hi <= b.lo) return a;
  if (b.hi <= a.lo) return b;
  Value v = select(less(a, b), a, b);
  v.hi = std::min(a.hi, b.hi);
  v.node = resized(v.node, bits_of(v.lo, v.hi));
  return v;
}

Value Arithmetic::most(Value a, Value b) {
  if (a.lo >= b.hi) return a;
  if (b.lo >= a.hi) return b;
  Value v = select(less(b, a), a, b);
  v.lo = std::max(a.lo, b.lo);
  v.node = resized(v.node, bits_of(v.lo, v.hi));
  return v;
}

Value Arithmetic::clamp(Value v, double lo, double hi) {
  return most(least(v, constant(hi)), constant(lo));
}

Value Arithmetic::magnitude(Value v) {
  if (v.lo >= 0) return v;
  const Value minus = subtract(constant(0), v);
  if (v.hi <= 0) return minus;
  Value result = select(less(v, constant(0)), minus, v);
  result.lo = 0;
  result.hi = std::max(-v.lo, v.hi);
  result.node = resized(result.node, bits_of(0, result.hi));
  return result;
}

Value Arithmetic::root(Value v) {
  const double lo = std::floor(std::sqrt(std::max(v.lo, 0.0))), hi = std::floor(std::sqrt(v.hi));
  if (v.hi <= 0) return constant(0);
  return {node(Signal::root, bits_of(lo, hi), {v.node}), lo, hi};
}

Value Arithmetic::divide(Value a, Value b, double most) {
  if (is_constant(b) && b.lo == 0) return constant(0);
  const auto divider = [&]() -> Value {
    most = std::min(most, most_quotient(a, b));
    const double lo = a.lo < 0 || b.lo < 0 ? -most : 0;
    return {node(Signal::divide, bits_of(lo, most), {a.node, b.node}, bits_of(0, most).width), lo, most};
  };
  if (!is_constant(b)) return divider();
  const double divisor = std::abs(b.lo);
  if (divisor == 1) return b.lo > 0 ? a : subtract(constant(0), a);
  const auto n = static_cast<__int128>(std::max(std::abs(a.lo), std::abs(a.hi)));
  const auto c = static_cast<__int128>(divisor);
  if (n < c) return constant(0);
  if (a.lo < 0 && b.lo == std::exp2(std::ilogb(divisor))) return shifted_towards_zero(a, std::ilogb(divisor));
  // floor(x / c) = floor(x m / 2^s) for 0 <= x <= n: m is rounded up, so it is enough to look at n and at the largest x
  // with remainder c - 1.
  const auto right = [](__int128 x, __int128 by, __int128 factor, int shift) {
    return x * factor < ((x / by + 1) << shift);
  };
  int s = 0;
  __int128 m = 1;
  for (; s < 62; ++s) {
    m = ((__int128{1} << s) + c - 1) / c;
    if (right(n, c, m, s) && right((n + 1) / c * c - 1, c, m, s)) break;
  }
  if (s == 62 || n * m >= __int128{1} << 63) return divider();  // the product would not fit
  const bool turned = b.lo < 0;
  const Value x = magnitude(a);
  Value q = shift_right(multiply(x, constant(static_cast<double>(m))), s);
  q.hi = std::floor(x.hi / divisor), q.lo = std::floor(x.lo / divisor);
  q.node = resized(q.node, bits_of(q.lo, q.hi));
  const Value minus = subtract(constant(0), q);
  if (a.lo >= 0) return turned ? minus : q;
  const NodeId below = less(a, constant(0));
  return turned ? select(below, q, minus) : select(below, minus, q);
}

Value Arithmetic::remainder(Value a, Value b) {
  if (is_constant(b) && b.lo == 0) return constant(0);
  const double most = std::max(std::abs(b.lo), std::abs(b.hi)) - 1;
  const double lo = a.lo < 0 ? std::max(-most, a.lo) : 0, hi = a.hi > 0 ? std::min(most, a.hi) : 0;
  if (!is_constant(b))
    return {node(Signal::remainder, bits_of(lo, hi), {a.node, b.node}, bits_of(0, most_quotient(a, b)).width), lo, hi};
  const Value r = subtract(a, multiply(divide(a, b), b));
  return {resized(r.node, bits_of(lo, hi)), lo, hi};
}

Value Arithmetic::wrapped(Value v, double lo, double hi) {
  if (v.lo >= lo && v.hi <= hi) return v;
  return {resized(v.node, bits_of(lo, hi)), lo, hi};
}

}  // namespace tessera::hardware
