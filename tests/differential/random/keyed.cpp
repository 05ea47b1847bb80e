// Random keyed reductions: elements, and the bins right behind them.
#include "ir/keyed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "differential/random/points.hpp"
#include "ir/build.hpp"

namespace tessera::differential {

using ir::ExprId;
using ir::Op;
using ir::StageId;

void PointGenerator::keyed() {
  const StageId main = recent();
  const std::vector<ir::SizeId> domain = g_.stage(main).domain;
  const std::size_t rank = domain.size();
  std::vector<StageId> alike, integers;
  for (StageId s = 0; s < g_.stage_count(); ++s) {
    if (g_.stage(s).domain != domain || ir::is_keyed(g_, g_.stage(s))) continue;
    alike.push_back(s);
    if (!is_float(g_.stage(s).type)) integers.push_back(s);
  }
  const auto own = [&](StageId s) {
    return ir::access(g_, s, std::vector<ir::Index>(rank), std::vector<Border>(rank));
  };
  const auto number = [&](i64 v) { return ir::constant(g_, ElementType::i32, static_cast<double>(v)); };
  ir::Keyed keyed;
  const std::size_t keys = rank_ > 1 && r_.chance(40) ? 2 : 1;
  for (std::size_t k = 0; k < keys; ++k) {
    ExprId key = ir::coord(g_, r_.below(rank));
    if (!integers.empty() && r_.chance(70)) key = ir::convert(g_, ElementType::i32, own(r_.pick(integers)));
    if (r_.chance(30)) key = ir::binary(g_, Op::div, key, number(r_.between(2, 5)));
    if (r_.chance(20)) key = ir::binary(g_, Op::sub, key, number(r_.between(0, 3)));
    keyed.keys.push_back(key);
    const bool many = keys == 1 && r_.chance(20);
    keyed.bins.push_back(many            ? g_.size(r_.between(200, 9000))
                         : r_.chance(20) ? base_.back()
                                         : g_.size(r_.between(1, 12)));
  }
  const StageId of = r_.chance(60) ? main : r_.pick(alike);
  ExprId value = own(of);
  Bound bound = bounds_[of];
  if (r_.chance(20)) value = number(r_.between(1, 3)), bound = {3, 0};
  const ElementType type = g_.node(value).type;
  keyed.op = r_.pick(std::array{Op::into_sum, Op::into_sum, Op::into_min, Op::into_max});
  const Bound sum{bound.most * 65536, bound.places};
  // Bins without elements hold infinity, which is no number that is free of rounding.
  const bool floats = is_float(type);
  const bool may_sum = !floats || wild_ || (!odd_ && fits(ElementType::f32, sum));
  const bool may_choose = !floats || wild_ || odd_;
  if (!may_sum && !may_choose) value = number(1), bound = {1, 0};
  if (keyed.op == Op::into_sum ? !may_sum : !may_choose) keyed.op = may_sum ? Op::into_sum : Op::into_max;
  keyed.value = ir::convert(g_, ir::keyed_operand(keyed.op, g_.node(value).type), value);
  const ElementType held = g_.node(value).type;
  const ElementType result = keyed.op == Op::into_sum ? ir::promote(held, held) : held;
  if (keyed.op == Op::into_sum) bound = {bound.most * 65536, bound.places};
  if (!is_float(result)) bound = input_bound(result);
  ir::Stage elements;
  elements.name = fmt::format("e{}", g_.stage_count());
  elements.domain = domain;
  elements.body = ir::into(g_, keyed);
  elements.type = g_.node(elements.body).type;
  elements.margin_lo = elements.margin_hi = std::vector<i64>(rank, 0);
  const StageId from = add(std::move(elements), bound);
  ir::Stage bins;
  bins.name = fmt::format("b{}", g_.stage_count());
  bins.domain = keyed.bins;
  bins.body = ir::bins(g_, from, result);
  bins.type = result;
  bins.margin_lo = bins.margin_hi = std::vector<i64>(keys, 0);
  add(std::move(bins), bound);
}

}  // namespace tessera::differential
