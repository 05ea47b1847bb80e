// See gather.hpp. Gathers clamp their indices, so a border is arithmetic on the index before it. The maps are modulo
// maps, as those of accesses are (data/border.cpp): right for any index, also of an image of one element, where the
// period of `mirror` is 0 and a remainder of it is 0.
#include "ir/gather.hpp"

#include "ir/build.hpp"

namespace tessera::ir {
namespace {

ExprId whole(Graph& g, i64 v) {
  return constant(g, ElementType::i32, static_cast<double>(v));
}

// i mod n, from 0 on.
ExprId modulo(Graph& g, ExprId i, ExprId n) {
  const ExprId rest = binary(g, Op::rem, i, n);
  return select(g, binary(g, Op::lt, rest, whole(g, 0)), binary(g, Op::add, rest, n), rest);
}

ExprId mapped(Graph& g, BorderMode mode, ExprId i, ExprId n) {
  if (mode == BorderMode::wrap) return modulo(g, i, n);
  if (mode != BorderMode::mirror && mode != BorderMode::symmetric) return i;
  const bool twice = mode == BorderMode::symmetric;  // the element at the edge stands twice
  const ExprId half = twice ? n : binary(g, Op::sub, n, whole(g, 1));
  const ExprId period = binary(g, Op::mul, half, whole(g, 2)), m = modulo(g, i, period);
  const ExprId back = binary(g, Op::sub, period, twice ? binary(g, Op::add, m, whole(g, 1)) : m);
  return binary(g, Op::min, m, back);
}

}  // namespace

ExprId extent_value(Graph& g, SizeId s) {
  const SizeNode n = g.node(s);
  const auto both = [&](Op op) { return binary(g, op, extent_value(g, n.a), extent_value(g, n.b)); };
  switch (n.op) {
    case SizeOp::constant:
      return whole(g, n.value);
    case SizeOp::parameter:
      return parameter(g, static_cast<std::size_t>(n.value));
    case SizeOp::add:
      return both(Op::add);
    case SizeOp::sub:
      return both(Op::sub);
    case SizeOp::mul:
      return both(Op::mul);
    case SizeOp::min:
      return both(Op::min);
    case SizeOp::max:
      return both(Op::max);
    case SizeOp::floor_div: {
      const ExprId a = extent_value(g, n.a), by = whole(g, n.value);
      const ExprId down = binary(g, Op::div, binary(g, Op::sub, a, whole(g, n.value - 1)), by);
      return select(g, binary(g, Op::lt, a, whole(g, 0)), down, binary(g, Op::div, a, by));
    }
  }
  throw Error(ErrorClass::internal, "an extent of no kind");
}

ExprId lies_inside(Graph& g, ExprId index, SizeId extent) {
  return binary(g, Op::bit_and, binary(g, Op::le, whole(g, 0), index),
                binary(g, Op::lt, index, extent_value(g, extent)));
}

ExprId gather(Graph& g, StageId s, std::vector<ExprId> indices, const std::vector<Border>& borders) {
  const std::vector<SizeId> domain = g.stage(s).domain;
  const ElementType type = g.stage(s).type;
  std::vector<ExprId> inside(indices.size());  // of dimensions that continue with a constant
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const BorderMode mode = borders[d].mode;
    if (mode == BorderMode::none || mode == BorderMode::clamp) continue;
    indices[d] = convert(g, ElementType::i32, indices[d]);
    if (mode == BorderMode::constant)
      inside[d] = lies_inside(g, indices[d], domain[d]);
    else
      indices[d] = mapped(g, mode, indices[d], extent_value(g, domain[d]));
  }
  ExprId value = gather(g, s, indices);
  for (std::size_t d = indices.size(); d-- > 0;)
    if (inside[d].valid()) value = convert(g, type, select(g, inside[d], value, constant(g, type, borders[d].value)));
  return value;
}

}  // namespace tessera::ir
