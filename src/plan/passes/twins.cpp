// A register of 32 bits holds the value of a column in its low half and that of its twin, half of the thread's columns
// further along, in the high one. As a number it is high * 65536 + low. Sums, differences and products with constants
// of such numbers are those of both values, whatever their signs: the low one borrows from the high one, and once
// everything is added up the number stands for two values again, if half a register holds each. The ranges of values
// say where. What looks at the halves by themselves, a minimum or a shift to the right, takes values that are not
// negative: a constant is added before and taken away behind it. The rest is done one by one, on values that are taken
// apart.
#include "plan/passes/twins.hpp"

#include <algorithm>
#include <bit>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"

namespace tessera::plan {

using analyze::Range;
using ir::ExprId;
using ir::ExprNode;
using ir::Op;

namespace {

bool is_integer(ElementType type) {
  return !is_float(type) && type != ElementType::boolean;
}

Range joined(Range a, Range b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

}  // namespace

bool fits_half(Range r) {
  return (r.lo >= 0 && r.hi <= 65535) || (r.lo >= -32768 && r.hi <= 32767);
}

std::optional<i64> shifted_right(const ir::Graph& graph, analyze::Ranges& ranges, const ExprNode& node) {
  const ExprNode& by = graph.node(node.args[1]);
  if (by.op != Op::constant) return std::nullopt;
  if (node.op == Op::shr) return by.ivalue >= 0 && by.ivalue < 16 ? std::optional(by.ivalue) : std::nullopt;
  const bool power = by.ivalue > 0 && by.ivalue < 65536 && std::has_single_bit(static_cast<std::uint64_t>(by.ivalue));
  if (node.op != Op::div || !power || ranges.of(node.args[0]).lo < 0) return std::nullopt;
  return std::countr_zero(static_cast<std::uint64_t>(by.ivalue));
}

Twins::Twins(const ir::Graph& graph, analyze::Ranges& ranges, const std::vector<ExprId>& roots, bool minima)
    : graph_(graph), ranges_(ranges), roots_(roots), order_(ir::postorder(graph, roots)), minima_(minima) {
  for (const ExprId e : order_) {
    const ExprNode& node = graph.node(e);
    if (is_integer(node.type) && fits_half(ranges.of(e)) && done(node)) together_.insert(e.id);
  }
  std::unordered_set<std::uint32_t> seen;
  const auto part = [&](ExprId e) {
    if (together(e) && !is_constant(e) && seen.insert(e.id).second) parted_.push_back(e);
  };
  for (const ExprId e : order_)
    if (!together(e))
      for (const ExprId a : graph.node(e).args) part(a);
}

bool Twins::is_constant(ExprId e) const {
  return graph_.node(e).op == Op::constant;
}

bool Twins::done(const ExprNode& node) const {
  if (node.op == Op::access || node.op == Op::constant) return true;
  const auto range = [&](std::size_t k) { return ranges_.of(node.args[k]); };
  // Whatever they are, constants of sums and products count for the bits alone that stay.
  const bool all = std::all_of(node.args.begin(), node.args.end(), [&](ExprId a) {
    return together(a) || (is_constant(a) && is_integer(graph_.node(a).type));
  });
  if (!all || node.args.empty()) return false;
  const Range full = analyze::full_range(node.type);
  switch (node.op) {
    case Op::add:
    case Op::sub:
    case Op::neg:
      return true;
    case Op::mul:
      return is_constant(node.args[0]) || is_constant(node.args[1]);
    case Op::shl:
      return is_constant(node.args[1]) && range(1).lo >= 0 && range(1).hi < 16;
    case Op::shr:
    case Op::div:
      return together(node.args[0]) && shifted_right(graph_, ranges_, node);
    case Op::min:
    case Op::max:
      return minima_ && fits_half(joined(range(0), range(1)));
    case Op::abs:
      return range(0).lo >= 0 || (minima_ && range(0).lo > -32768);
    case Op::saturate:
      return minima_ || analyze::contains(full, range(0));
    case Op::convert:
      return node.type == ElementType::u8 || analyze::contains(full, range(0));
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return fits_half(range(0)) && fits_half(range(1)) && range(0).lo >= 0 && range(1).lo >= 0;
    default:
      return false;
  }
}

double Twins::repairs(const ExprNode& node) const {
  const auto negative = [&](std::size_t k) { return ranges_.of(node.args[k]).lo < 0; };
  switch (node.op) {
    case Op::shr:
      return negative(0) ? 3 : 1;  // bits of the high value that reach the low one
    case Op::div:
      return -10;  // a shift and these bits, where a division counts 12
    case Op::min:
    case Op::max:
      return negative(0) || negative(1) ? 3 : 0;
    case Op::abs:
    case Op::saturate:
      return negative(0) ? 2 : 0;
    default:
      return 0;
  }
}

double Twins::instructions(bool contracted) const {
  std::vector<ExprId> whole = parted_;
  double more = 0;
  for (const ExprId e : roots_) {
    if (together(e))
      whole.push_back(e);
    else
      more += 1;
  }
  for (const ExprId e : order_)
    if (together(e)) more += repairs(graph_.node(e));
  for (const ExprId e : parted_) more += ranges_.of(e).lo < 0 ? 3 : 2;
  return 2 * analyze::instruction_count(graph_, roots_, contracted) -
         analyze::instruction_count(graph_, whole, contracted) + more;
}

}  // namespace tessera::plan
