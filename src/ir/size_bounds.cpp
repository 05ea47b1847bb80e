// Inequalities between extents that hold whatever the parameters are.
#include <map>
#include <numeric>
#include <optional>

#include "ir/graph.hpp"

namespace tessera::ir {

namespace {

struct Ratio {
  i64 num = 0, den = 1;
};

bool fits(__int128 v) {
  constexpr __int128 most = __int128{1} << 40;
  return -most < v && v < most;
}

// num1/den1 + factor * num2/den2, in lowest terms; nothing when the numbers grow beyond 2^40.
std::optional<Ratio> add_scaled(Ratio a, Ratio b, Ratio factor) {
  __int128 num = __int128{a.num} * b.den * factor.den + __int128{b.num} * factor.num * a.den;
  __int128 den = __int128{a.den} * b.den * factor.den;
  if (!fits(num) || !fits(den)) return {};
  i64 common = std::gcd(static_cast<i64>(num), static_cast<i64>(den));
  if (common == 0) common = 1;
  return Ratio{static_cast<i64>(num) / common, static_cast<i64>(den) / common};
}

// sum of coefficient * parameter; the constant stands under -1.
using Linear = std::map<i64, Ratio>;

bool accumulate(Linear& into, const Linear& from, Ratio factor) {
  for (auto [parameter, coefficient] : from) {
    auto sum = add_scaled(into[parameter], coefficient, factor);
    if (!sum) return false;
    into[parameter] = *sum;
  }
  return true;
}

// A linear form that is never below (upper) or never above the extent; nothing where none is known.
std::optional<Linear> bound(const Graph& graph, SizeId s, bool upper) {
  const SizeNode& node = graph.node(s);
  Linear result;
  switch (node.op) {
    case SizeOp::constant:
      result[-1] = {node.value, 1};
      return result;
    case SizeOp::parameter:
      result[node.value] = {1, 1};
      return result;
    case SizeOp::add:
    case SizeOp::sub: {
      auto a = bound(graph, node.a, upper), b = bound(graph, node.b, (node.op == SizeOp::add) == upper);
      if (!a || !b || !accumulate(*a, *b, {node.op == SizeOp::add ? 1 : -1, 1})) return {};
      return a;
    }
    case SizeOp::mul: {
      auto factor = graph.constant(node.a);
      SizeId other = factor ? node.b : node.a;
      if (!factor) factor = graph.constant(node.b);
      if (!factor || !fits(*factor)) return {};
      auto form = bound(graph, other, *factor >= 0 ? upper : !upper);
      if (!form || !accumulate(result, *form, {*factor, 1})) return {};
      return result;
    }
    case SizeOp::floor_div: {
      auto form = bound(graph, node.a, upper);
      if (!form || !fits(node.value)) return {};
      if (!upper && !accumulate(*form, {{-1, {node.value - 1, 1}}}, {-1, 1})) return {};
      if (!accumulate(result, *form, {1, node.value})) return {};
      return result;
    }
    case SizeOp::min:
    case SizeOp::max: {
      // Either operand bounds a minimum from above and a maximum from below.
      if ((node.op == SizeOp::min) != upper) return {};
      auto form = bound(graph, node.a, upper);
      return form ? form : bound(graph, node.b, upper);
    }
  }
  return {};
}

// An extent as a function of one parameter, made of sums, multiples and quotients: beyond `period` points it is the
// same again, but for what it grows by.
struct Periodic {
  std::optional<i64> parameter;
  i64 period = 1;
};

constexpr i64 longest_period = 4096;

// Adds what is below `s`; false where it is of another kind, or a period becomes too long.
bool add_below(const Graph& graph, SizeId s, Periodic& of) {
  const SizeNode& node = graph.node(s);
  switch (node.op) {
    case SizeOp::constant:
      return fits(node.value);
    case SizeOp::parameter:
      if (of.parameter && *of.parameter != node.value) return false;
      of.parameter = node.value;
      return true;
    case SizeOp::mul:
      if (!graph.constant(node.a) && !graph.constant(node.b)) return false;
      return add_below(graph, node.a, of) && add_below(graph, node.b, of);
    case SizeOp::floor_div:
      if (node.value > longest_period || of.period * node.value > longest_period) return false;
      of.period *= node.value;
      return add_below(graph, node.a, of);
    case SizeOp::add:
    case SizeOp::sub:
    case SizeOp::min:
    case SizeOp::max:
      break;
  }
  Periodic a = of, b = of;
  if (node.op == SizeOp::min || node.op == SizeOp::max || !add_below(graph, node.a, a)) return false;
  b.parameter = a.parameter;
  if (!add_below(graph, node.b, b)) return false;
  const i64 common = std::lcm(a.period, b.period);
  if (common > longest_period) return false;
  of = {b.parameter, common};
  return true;
}

__int128 value_at(const Graph& graph, SizeId s, i64 x) {
  const SizeNode& node = graph.node(s);
  switch (node.op) {
    case SizeOp::constant:
      return node.value;
    case SizeOp::parameter:
      return x;
    case SizeOp::add:
      return value_at(graph, node.a, x) + value_at(graph, node.b, x);
    case SizeOp::sub:
      return value_at(graph, node.a, x) - value_at(graph, node.b, x);
    case SizeOp::mul:
      return value_at(graph, node.a, x) * value_at(graph, node.b, x);
    case SizeOp::floor_div: {
      const __int128 a = value_at(graph, node.a, x);
      return a / node.value - (a % node.value < 0 ? 1 : 0);
    }
    case SizeOp::min:
    case SizeOp::max:
      break;
  }
  return 0;
}

// Two extents that grow alike keep their order if they keep it for one period.
bool at_most_for_a_period(const Graph& graph, SizeId a, SizeId b) {
  Periodic left, right;
  if (!add_below(graph, a, left) || !add_below(graph, b, right)) return false;
  if (!left.parameter || !right.parameter || *left.parameter != *right.parameter) return false;
  const i64 period = std::lcm(left.period, right.period);
  if (period > longest_period) return false;
  const auto difference = [&](i64 x) { return value_at(graph, b, x) - value_at(graph, a, x); };
  if (difference(0) != difference(period)) return false;
  for (i64 x = 0; x < period; ++x)
    if (difference(x) < 0) return false;
  return true;
}

}  // namespace

bool at_most(Graph& graph, SizeId a, SizeId b) {
  if (auto difference = graph.constant(graph.size_binary(SizeOp::sub, b, a))) return *difference >= 0;
  const SizeNode left = graph.node(a), right = graph.node(b);
  if (right.op == SizeOp::min) return at_most(graph, a, right.a) && at_most(graph, a, right.b);
  if (left.op == SizeOp::max) return at_most(graph, left.a, b) && at_most(graph, left.b, b);
  if (left.op == SizeOp::min && (at_most(graph, left.a, b) || at_most(graph, left.b, b))) return true;
  if (right.op == SizeOp::max && (at_most(graph, a, right.a) || at_most(graph, a, right.b))) return true;
  // Extents are not negative: a part of one is no larger than the whole.
  if (left.op == SizeOp::floor_div && at_most(graph, left.a, b)) return true;
  auto least = bound(graph, b, false), most = bound(graph, a, true);
  if (!least || !most || !accumulate(*least, *most, {-1, 1})) return at_most_for_a_period(graph, a, b);
  bool surely = true, alike = true;
  for (auto [parameter, coefficient] : *least) {
    if (parameter >= 0 && coefficient.num != 0) alike = false;
    if (parameter < 0 && coefficient.num < 0) surely = false;
  }
  return alike && (surely || at_most_for_a_period(graph, a, b));
}

}  // namespace tessera::ir
