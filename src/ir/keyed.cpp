// See keyed.hpp.
#include "ir/keyed.hpp"

#include <algorithm>
#include <utility>

#include "ir/build.hpp"
#include "ir/reductions.hpp"

namespace tessera::ir {

namespace {

// Pieces, and the bins up to which there are so many.
constexpr i64 most_pieces = 64, bins_of_most_pieces = 4096, pieces_of_unknown = 4;

}  // namespace

bool is_keyed(const Graph& g, const Stage& stage) {
  return stage.kind == StageKind::point && is_into(g.node(stage.body).op);
}

std::optional<Keyed> keyed_of(const Graph& g, const Stage& stage) {
  if (!is_keyed(g, stage)) return {};
  const ExprNode& node = g.node(stage.body);
  Keyed keyed;
  keyed.op = node.op;
  keyed.value = node.args.front();
  for (std::size_t k = 1; k + 1 < node.args.size(); k += 2) {
    keyed.keys.push_back(node.args[k]);
    keyed.bins.push_back(SizeId{static_cast<std::uint32_t>(g.node(node.args[k + 1]).ivalue)});
  }
  return keyed;
}

ExprId into(Graph& g, const Keyed& keyed) {
  ExprNode n;
  n.op = keyed.op;
  n.type = keyed_type(keyed.op, g.node(keyed.value).type);
  n.args = {keyed.value};
  for (std::size_t k = 0; k < keyed.keys.size(); ++k) {
    n.args.push_back(keyed.keys[k]);
    n.args.push_back(size_value(g, keyed.bins[k]));
  }
  return g.expr(std::move(n));
}

ExprId bins(Graph& g, StageId elements, ElementType type) {
  ExprNode n;
  n.op = Op::bins;
  n.type = type;
  n.stage = elements;
  return g.expr(std::move(n));
}

ExprId partial(Graph& g, StageId elements, ExprId piece, ExprId bin) {
  ExprNode n;
  n.op = Op::partial;
  n.type = g.stage(elements).type;
  n.stage = elements;
  n.args = {piece, bin};
  return g.expr(std::move(n));
}

ElementType keyed_operand(Op op, ElementType type) {
  if (op == Op::into_sum) return promote(type, type);
  if (type == ElementType::f16) return ElementType::f32;
  return type == ElementType::boolean ? ElementType::u8 : type;
}

ElementType keyed_type(Op op, ElementType type) {
  const ElementType operand = keyed_operand(op, type);
  return op == Op::into_sum && is_float(operand) ? ElementType::f64 : operand;
}

double first_of_bin(Op op, ElementType type) {
  return first_of_lane(op == Op::into_sum ? Op::lanes_sum : op == Op::into_min ? Op::lanes_min : Op::lanes_max, type);
}

Op step_of_bin(Op op) {
  return op == Op::into_sum ? Op::add : op == Op::into_min ? Op::min : Op::max;
}

bool is_orderless(Op op, ElementType type) {
  return op != Op::into_sum || !is_float(type);
}

SizeId bins_of(Graph& g, const Keyed& keyed) {
  SizeId count = g.size(1);
  for (const SizeId n : keyed.bins) count = g.size_binary(SizeOp::mul, count, n);
  return count;
}

std::optional<i64> constant_bins(const Graph& g, const Keyed& keyed) {
  i64 count = 1;
  for (const SizeId n : keyed.bins) {
    const auto extent = g.constant(n);
    if (!extent || __builtin_mul_overflow(count, *extent, &count)) return {};
  }
  return count;
}

i64 pieces_of(const Graph& g, const Keyed& keyed) {
  const auto count = constant_bins(g, keyed);
  if (!count) return pieces_of_unknown;
  i64 pieces = most_pieces;
  while (pieces > 1 && pieces * *count > most_pieces * bins_of_most_pieces) pieces /= 2;
  return pieces;
}

std::vector<SizeId> partial_extents(Graph& g, const Keyed& keyed) {
  return {g.size(pieces_of(g, keyed)), g.size_binary(SizeOp::add, bins_of(g, keyed), g.size(1))};
}

}  // namespace tessera::ir
