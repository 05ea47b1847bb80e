// The nodes of reductions of whole images, and their types; the order stands in the header.
#include "ir/reductions.hpp"

#include <algorithm>
#include <limits>

#include "ir/build.hpp"

namespace tessera::ir {
namespace {

ExprId leaf(Graph& g, Op op, ElementType type, StageId stage, i64 number) {
  ExprNode n;
  n.op = op;
  n.type = type;
  n.stage = stage;
  n.ivalue = number;
  return g.expr(std::move(n));
}

}  // namespace

ExprId value(Graph& g, StageId s) {
  return leaf(g, Op::value, g.stage(s).type, s, 0);
}

ExprId whole(Graph& g, Op op, StageId s) {
  return leaf(g, op, whole_type(op, g.stage(s).type), s, 0);
}

ExprId lanes(Graph& g, Op op, StageId s, i64 piece) {
  return leaf(g, op, lanes_type(op, g.stage(s).type), s, piece);
}

ExprId size_value(Graph& g, SizeId s) {
  return leaf(g, Op::size, ElementType::f64, 0, s.id);
}

ElementType whole_type(Op op, ElementType type) {
  return op == Op::whole_sum || op == Op::whole_mean ? ElementType::f64 : type;
}

ElementType lanes_type(Op op, ElementType type) {
  const bool narrow = !is_float(type) && size_of(type) < 4;
  if (op == Op::lanes_sum) return narrow ? ElementType::i32 : ElementType::f64;
  if (type == ElementType::f16) return ElementType::f32;
  return type == ElementType::boolean ? ElementType::u8 : type;
}

double first_of_lane(Op op, ElementType type) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (op == Op::lanes_sum) return 0;
  const bool least = op == Op::lanes_min;
  if (is_float(type)) return least ? inf : -inf;
  const IntegerLimits limits = integer_limits(type);
  return least ? limits.hi : limits.lo;
}

Op step_of_lane(Op op) {
  return op == Op::lanes_sum ? Op::add : op == Op::lanes_min ? Op::min : Op::max;
}

Op lanes_of(Op whole) {
  return whole == Op::whole_min ? Op::lanes_min : whole == Op::whole_max ? Op::lanes_max : Op::lanes_sum;
}

bool is_single(const Graph& g, const Stage& stage) {
  return std::all_of(stage.domain.begin(), stage.domain.end(), [&](SizeId n) { return g.constant(n) == 1; });
}

SizeId count_of(Graph& g, const Stage& stage) {
  SizeId count = g.size(1);
  for (const SizeId n : stage.domain) count = g.size_binary(SizeOp::mul, count, n);
  return count;
}

}  // namespace tessera::ir
