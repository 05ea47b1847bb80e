// Random stages as stencils with named points make them: images read at sums of indices of the result and of
// reductions, in any order, with borders; sums of their products over extents known at run time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "differential/random/points.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"

namespace tessera::differential {

using ir::ExprId;
using ir::Op;
using ir::SizeId;
using ir::StageId;

// A factor: mostly at one index of the result and the indices of the reduction.
Term PointGenerator::factor(StageId s, ElementType type, std::size_t point, const std::vector<ir::Var>& vars) {
  const std::vector<SizeId> domain = g_.stage(s).domain;
  const auto number = [&](i64 v) { return ir::constant(g_, ElementType::i32, static_cast<double>(v)); };
  std::vector<ExprId> at;
  std::vector<Border> borders(domain.size());
  const bool plain = r_.chance(50);
  const std::size_t own = plain && point + 1 == rank_ ? domain.size() - 1 : r_.below(domain.size());
  for (std::size_t d = 0; d < domain.size(); ++d) {
    ExprId index = d == own ? ir::coord(g_, point) : ir::var(g_, vars[d % vars.size()].id);
    if (!plain && r_.chance(30)) index = ir::binary(g_, Op::mul, index, number(r_.between(-2, 3)));
    if (!plain && r_.chance(40)) index = ir::binary(g_, Op::add, index, ir::var(g_, r_.pick(vars).id));
    if (!plain && r_.chance(20)) index = ir::binary(g_, Op::add, index, ir::coord(g_, r_.below(rank_)));
    if (!plain && r_.chance(50)) index = ir::binary(g_, Op::add, index, number(r_.between(-4, 4)));
    if (!plain && r_.chance(10)) index = ir::binary(g_, Op::sub, ir::extent_value(g_, domain[d]), index);
    at.push_back(index);
    borders[d] = {r_.pick(modes_), 2};
  }
  Term read = converted({ir::gather(g_, s, at, borders), join(bounds_[s], {2, 0})}, type);
  if (is_float(type) || !r_.chance(30)) return read;
  return {ir::binary(g_, Op::sub, read.id, ir::constant(g_, type, 3)), {read.bound.most + 3, read.bound.places}};
}

void PointGenerator::sum_of_products() {
  const auto computable = [&](StageId s) {
    const ElementType t = g_.stage(s).type;
    return t != ElementType::boolean && t != ElementType::f16;
  };
  const StageId a = recent(), b = recent();
  if (!computable(a) || !computable(b)) return point();
  const auto either = [&](ElementType t) { return g_.stage(a).type == t || g_.stage(b).type == t; };
  const ElementType type = either(ElementType::f64)   ? ElementType::f64
                           : either(ElementType::f32) ? ElementType::f32
                                                      : ElementType::i32;
  constexpr double likely_terms = 2048;  // more than any of these images has elements along a dimension
  std::vector<ir::Var> vars;
  double terms = 1;
  const SizeId over = r_.pick(g_.stage(r_.chance(50) ? a : b).domain);
  vars.push_back(ir::variable_over(g_, over));
  terms *= likely_terms;
  if (r_.chance(40)) {
    const i64 lo = r_.between(-2, 0);
    vars.push_back({g_.new_var(), lo, lo + r_.between(0, 2), {}});
    terms *= 3;
  }
  if (r_.chance(30)) std::swap(vars.front(), vars.back());
  const std::size_t row = rank_ > 1 ? r_.below(rank_ - 1) : 0;
  const Term x = factor(a, type, row, vars), y = factor(b, type, rank_ - 1, vars);
  const Bound product{x.bound.most * y.bound.most, x.bound.places + y.bound.places};
  const Bound sum{product.most * terms + 8, product.places + 2};
  ir::Stage s;
  s.kind = ir::StageKind::point;
  s.name = fmt::format("m{}", g_.stage_count());
  s.domain = base_;
  s.margin_lo.assign(rank_, 0);
  s.margin_hi.assign(rank_, 0);
  s.type = type;
  const bool sums = fits(type, {sum.most + 0x1p20, sum.places}) && !(odd_ && is_float(type));
  Bound around;
  if (sums) {
    const ExprId term = r_.chance(50) ? ir::binary(g_, Op::mul, x.id, y.id) : ir::binary(g_, Op::mul, y.id, x.id);
    s.body = ir::reduce(g_, Op::reduce_sum, vars, term);
    if (r_.chance(40)) s.body = ir::binary(g_, Op::add, s.body, ir::constant(g_, type, 2));
    if (r_.chance(40)) {  // the same along a row
      const StageId from = r_.chance(50) ? a : b;
      std::vector<ExprId> at(g_.stage(from).domain.size(), ir::coord(g_, row));
      const Term bias = converted({ir::gather(g_, from, at), bounds_[from]}, type);
      s.body = ir::binary(g_, Op::add, s.body, bias.id);
      around = bias.bound;
    }
    if (r_.chance(30)) s.body = ir::binary(g_, Op::max, s.body, ir::constant(g_, type, 0));
    if (r_.chance(10)) s.margin_lo[r_.below(rank_)] = 1;
  } else {
    const Op op = r_.pick(std::array{Op::reduce_min, Op::reduce_max});
    s.body = ir::reduce(g_, op, vars, ir::binary(g_, op == Op::reduce_min ? Op::max : Op::min, x.id, y.id));
  }
  add(std::move(s), sums ? Bound{sum.most + around.most, std::max(sum.places, around.places)} : join(x.bound, y.bound));
}

}  // namespace tessera::differential
