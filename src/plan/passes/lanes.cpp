// Narrow lanes from value ranges.
#include "plan/passes/lanes.hpp"

#include <algorithm>

namespace tessera::plan {

using analyze::Range;
using ir::ExprNode;
using ir::Op;
using ir::nest::Lane;

Lane narrowest(Range r) {
  if (r.lo >= 0 && r.hi <= 255) return Lane::u8;
  if (r.lo >= -32768 && r.hi <= 32767) return Lane::i16;
  if (r.lo >= 0 && r.hi <= 65535) return Lane::u16;
  if (r.lo >= -2147483648.0 && r.hi <= 2147483647.0) return Lane::i32;
  return Lane::u32;
}

Lane lane_of(const ir::Graph& graph, analyze::Ranges& ranges, ir::ExprId e) {
  const ExprNode& node = graph.node(e);
  if (node.type == ElementType::boolean) return Lane::i8;
  if (is_float(node.type)) return ir::nest::lane_of(node.type);
  return narrowest(ranges.of(e));
}

namespace {

// The low bits of the result follow from the low bits of the operands.
bool modular(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::neg || op == Op::bit_and || op == Op::bit_or ||
         op == Op::bit_xor || op == Op::bit_not || op == Op::reduce_sum;
}

bool wide_integer(ElementType type) {
  return type == ElementType::i32 || type == ElementType::u32;
}

}  // namespace

LowBits::LowBits(const ir::Graph& graph, const std::vector<ir::ExprId>& roots) {
  std::vector<ir::ExprId> order = ir::postorder(graph, roots);
  std::unordered_set<std::uint32_t> whole;  // some use needs all bits
  for (ir::ExprId root : roots) whole.insert(root.id);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const ExprNode& node = graph.node(*it);
    bool low = modular(node.op) && wide_integer(node.type) && !whole.contains(it->id);
    if (low) low_.insert(it->id);
    bool truncates = node.op == Op::convert && !is_float(node.type) && node.type != ElementType::boolean &&
                     tessera::size_of(node.type) <= 2;
    for (ir::ExprId a : node.args)
      if (!low && !(truncates && wide_integer(graph.node(a).type))) whole.insert(a.id);
  }
}

Lane working_lane(const ir::Graph& graph, analyze::Ranges& ranges, const LowBits& low, ir::ExprId e) {
  const ExprNode& node = graph.node(e);
  if (low.contains(e)) {
    Lane lane = narrowest(ranges.of(e));
    if (lane == Lane::i32 || lane == Lane::u32) return Lane::u16;
  }
  Range r = node.type == ElementType::boolean ? Range{0, 0} : ranges.of(e);
  auto widen = [&](std::size_t k) {
    Range a = ranges.of(node.args[k]);
    r = {std::min(r.lo, a.lo), std::max(r.hi, a.hi)};
  };
  auto at_least_16 = [&](Lane lane) { return lane != Lane::u8 ? lane : Lane::i16; };
  switch (node.op) {
    case Op::add:
    case Op::sub:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not:
    case Op::neg:
      return narrowest(r);
    case Op::mul:
    case Op::shl:
      return at_least_16(narrowest(r));
    case Op::div:
    case Op::rem:
    case Op::shr:
      widen(0), widen(1);
      return at_least_16(narrowest(r));
    case Op::select:
      return narrowest(r);
    default:
      for (std::size_t k = 0; k < node.args.size(); ++k)
        if (graph.node(node.args[k]).type != ElementType::boolean) widen(k);
      return narrowest(r);
  }
}

}  // namespace tessera::plan
