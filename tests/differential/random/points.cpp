// Beside every float stands a bound and a number of binary places: as long as bound * 2^places fits the significand, no
// operation on it rounds.
#include "differential/random/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/build.hpp"
#include "ir/functions/functions.hpp"
#include "ir/gather.hpp"
#include "ir/keyed.hpp"
#include "ir/reductions.hpp"

namespace tessera::differential {

using ir::ExprId;
using ir::Graph;
using ir::Op;
using ir::SizeId;
using ir::StageId;

namespace {

bool is_narrow(ElementType t) {
  return t == ElementType::u8 || t == ElementType::i16 || t == ElementType::u16;
}
}  // namespace

Bound PointGenerator::input_bound(ElementType t) {
  switch (t) {
    case ElementType::boolean:
      return {1, 0};
    case ElementType::u8:
      return {255, 0};
    case ElementType::i16:
      return {32768, 0};
    case ElementType::u16:
      return {65535, 0};
    case ElementType::i32:
    case ElementType::u32:
      return {4294967296.0, 0};
    default:
      return {8, 0};
  }
}

double PointGenerator::small(ElementType t) {
  if (t == ElementType::boolean) return static_cast<double>(r_.between(0, 1));
  if (is_float(t) && r_.chance(30)) return static_cast<double>(r_.between(-8, 8)) / 4;
  const bool no_sign = t == ElementType::u8 || t == ElementType::u16 || t == ElementType::u32;
  return static_cast<double>(r_.between(no_sign ? 0 : -5, 5));
}

StageId PointGenerator::add(ir::Stage s, Bound b) {
  bounds_.push_back(b);
  return g_.add(std::move(s));
}

void PointGenerator::point() {
  const StageId main = recent();
  const ir::Stage& source = g_.stage(main);
  Context c;
  c.domain = source.domain;
  if (c.domain.size() < rank_ && r_.chance(70)) c.domain = base_;
  if (scales_)
    for (SizeId& n : c.domain) {
      const i64 what = r_.between(0, 9);
      if (what < 2)
        n = g_.size_floor_div(n, r_.between(2, 3));
      else if (what == 2)
        n = g_.size_binary(ir::SizeOp::add, n, g_.size(r_.between(1, 3)));
      else if (what == 3 && r_.chance(50))
        n = g_.size_binary(ir::SizeOp::mul, n, g_.size(2));
      else if (what == 4 && r_.chance(50))
        n = g_.size_binary(ir::SizeOp::sub, n, g_.size(1));
    }
  c.margin_lo.assign(c.domain.size(), 0);
  c.margin_hi.assign(c.domain.size(), 0);
  c.extra_leaves = oddities_;
  c.budget = r_.between(1, 14);
  must_read_ = main;
  ir::Stage s;
  s.kind = ir::StageKind::point;
  s.name = fmt::format("p{}", g_.stage_count());
  s.type = r_.pick(types_);
  Term t = stored(c, s.type);
  s.domain = c.domain;
  s.body = t.id;
  s.margin_lo = c.margin_lo;
  s.margin_hi = c.margin_hi;
  if (r_.chance(5)) s.margin_hi[r_.below(s.margin_hi.size())] += r_.between(1, 2);
  add(std::move(s), t.bound);
}

StageId PointGenerator::recent() {
  const std::size_t n = g_.stage_count();
  const StageId s = r_.chance(65) ? static_cast<StageId>(n - 1 - r_.below(std::min<std::size_t>(n, 2)))
                                  : static_cast<StageId>(r_.below(n));
  return ir::is_keyed(g_, g_.stage(s)) ? s + 1 : s;  // its bins
}

Term PointGenerator::stored(Context& c, ElementType type) {
  if (type == ElementType::boolean || type == ElementType::i32 || type == ElementType::u32 ||
      type == ElementType::f32 || type == ElementType::f64)
    return expression(c, type, 0);
  if (type == ElementType::f16) {
    Term t = expression(c, r_.chance(70) ? ElementType::f32 : ElementType::f64, 0);
    if (!wild_ && t.bound.most > 60000) t = constant(ElementType::f32, 3);
    return {ir::convert(g_, type, t.id), {t.bound.most * 2, std::min(t.bound.places, 24)}};
  }
  const ElementType from = is_float_flavour() && r_.chance(50) ? ElementType::f32
                           : r_.chance(70)                     ? ElementType::i32
                                                               : ElementType::u32;
  Term t = expression(c, from, 0);
  return {r_.chance(50) ? ir::convert(g_, type, t.id) : ir::saturate(g_, type, t.id), input_bound(type)};
}

bool PointGenerator::is_float_flavour() const {
  return std::any_of(types_.begin(), types_.end(), [](ElementType t) { return is_float(t); });
}

double PointGenerator::room(ElementType t) {
  return t == ElementType::f32 ? 0x1p24 : 0x1p53;
}

bool PointGenerator::fits(ElementType t, Bound b) const {
  return wild_ || !is_float(t) || (b.most * std::exp2(b.places) <= room(t) && b.most < 0x1p30 && b.places < 30);
}

Term PointGenerator::constant(ElementType t, double v) {
  return {ir::constant(g_, t, v), {std::fabs(v), 4}};
}

Term PointGenerator::converted(Term t, ElementType to) {
  const ElementType from = g_.node(t.id).type;
  if (from == to) return t;
  if (wild_ || !is_float(to)) return {ir::convert(g_, to, t.id), t.bound};
  if (from == ElementType::boolean || is_narrow(from) || is_float(from)) {
    Term u{ir::convert(g_, to, t.id), t.bound};
    return fits(to, u.bound) ? u : constant(to, 1);
  }
  const double mask = static_cast<double>((1 << r_.between(2, 8)) - 1);
  const ExprId low = ir::binary(g_, Op::bit_and, t.id, ir::constant(g_, from, mask));
  return {ir::convert(g_, to, low), {mask, 0}};
}

Term PointGenerator::expression(Context& c, ElementType type, int depth) {
  if (c.budget <= 0 || depth > 6 || r_.chance(depth == 0 ? 5 : 20)) return leaf(c, type);
  --c.budget;
  if (c.extra_leaves && r_.chance(14)) return reduction(c, type, depth);
  if (type == ElementType::boolean) return logic(c, depth);
  if (r_.chance(12)) {  // a change of type
    static constexpr std::array others = {ElementType::boolean, ElementType::i32, ElementType::u32, ElementType::f32,
                                          ElementType::f64};
    const ElementType from = r_.pick(others);
    if (allowed(from)) {
      Term t = expression(c, from, depth + 1);
      if (!is_float(type) && from != ElementType::boolean && r_.chance(40)) {
        const ElementType narrow = r_.pick(
            std::array{ElementType::u8, ElementType::i16, ElementType::u16, ElementType::i32, ElementType::u32});
        const ExprId s = r_.chance(50) ? ir::saturate(g_, narrow, t.id) : ir::convert(g_, narrow, t.id);
        return converted({s, input_bound(narrow)}, type);
      }
      return converted(t, type);
    }
  }
  if (r_.chance(10)) {
    const Term k = expression(c, ElementType::boolean, depth + 1), a = expression(c, type, depth + 1),
               b = expression(c, type, depth + 1);
    return {ir::select(g_, k.id, a.id, b.id), join(a.bound, b.bound)};
  }
  return is_float(type) ? float_operation(c, type, depth) : integer_operation(c, type, depth);
}

bool PointGenerator::allowed(ElementType t) const {
  if (t == ElementType::f64) return std::count(types_.begin(), types_.end(), ElementType::f64) > 0;
  return !is_float(t) || is_float_flavour();
}

Bound PointGenerator::join(Bound a, Bound b) {
  return {std::max(a.most, b.most), std::max(a.places, b.places)};
}

Term PointGenerator::float_operation(Context& c, ElementType type, int depth) {
  if (r_.chance(15)) {
    static constexpr std::array plain = {Op::neg, Op::abs, Op::floor, Op::ceil, Op::round, Op::trunc};
    static constexpr std::array wild = {Op::sqrt,  Op::exp,  Op::log,   Op::sin,  Op::cos,   Op::tan,  Op::asin,
                                        Op::acos,  Op::atan, Op::sinh,  Op::cosh, Op::tanh,  Op::exp2, Op::log2,
                                        Op::log10, Op::cbrt, Op::floor, Op::ceil, Op::round, Op::trunc};
    const Term a = expression(c, type, depth + 1);
    const Op op = wild_ && r_.chance(50) ? r_.pick(wild) : r_.pick(plain);
    return {ir::unary(g_, op, a.id), {a.bound.most + 1, a.bound.places}};
  }
  static constexpr std::array plain = {Op::add, Op::add, Op::add, Op::sub, Op::sub, Op::mul, Op::mul, Op::min, Op::max};
  static constexpr std::array wild = {Op::div, Op::div, Op::pow, Op::atan2, Op::hypot, Op::fmod};
  static constexpr std::array chosen = {Op::min, Op::max};
  const Op op = odd_ ? r_.pick(chosen) : wild_ && r_.chance(25) ? r_.pick(wild) : r_.pick(plain);
  const Term a = expression(c, type, depth + 1);
  const Term b = op == Op::mul && r_.chance(60) ? constant(type, small(type)) : expression(c, type, depth + 1);
  Bound bound = join(a.bound, b.bound);
  if (op == Op::add || op == Op::sub) bound.most = a.bound.most + b.bound.most;
  if (op == Op::mul) bound = {a.bound.most * b.bound.most, a.bound.places + b.bound.places};
  if (!fits(type, bound)) return a;
  return {ir::binary(g_, op, a.id, b.id), bound};
}

Term PointGenerator::integer_operation(Context& c, ElementType type, int depth) {
  if (r_.chance(12)) {
    static constexpr std::array unary = {Op::neg, Op::abs, Op::bit_not};
    return {ir::unary(g_, r_.pick(unary), expression(c, type, depth + 1).id), input_bound(type)};
  }
  static constexpr std::array often = {Op::add, Op::add, Op::sub, Op::mul, Op::min, Op::max};
  static constexpr std::array rare = {Op::div, Op::rem, Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr};
  const Op op = r_.chance(60) ? r_.pick(often) : r_.pick(rare);
  const Term a = expression(c, type, depth + 1);
  Term b;
  if ((op == Op::shl || op == Op::shr) && r_.chance(75))
    b = constant(type, static_cast<double>(r_.between(type == ElementType::u32 ? 0 : -1, 33)));
  else if (r_.chance(35))
    b = constant(type, small(type) * (r_.chance(15) ? 40000 : 1));
  else
    b = expression(c, type, depth + 1);
  return {ir::binary(g_, op, a.id, b.id), input_bound(type)};
}

Term PointGenerator::logic(Context& c, int depth) {
  const Bound flag{1, 0};
  if (r_.chance(35)) {
    static constexpr std::array binary = {Op::bit_and, Op::bit_or, Op::bit_xor, Op::eq, Op::ne};
    if (r_.chance(25)) return {ir::unary(g_, Op::bit_not, expression(c, ElementType::boolean, depth + 1).id), flag};
    const Term a = expression(c, ElementType::boolean, depth + 1), b = expression(c, ElementType::boolean, depth + 1);
    if (r_.chance(15)) return {ir::select(g_, expression(c, ElementType::boolean, depth + 1).id, a.id, b.id), flag};
    return {ir::binary(g_, r_.pick(binary), a.id, b.id), flag};
  }
  static constexpr std::array types = {ElementType::i32, ElementType::u32, ElementType::f32, ElementType::f64};
  ElementType t = r_.pick(types);
  if (!allowed(t)) t = ElementType::i32;
  static constexpr std::array compare = {Op::lt, Op::le, Op::eq, Op::ne};
  const Term a = expression(c, t, depth + 1), b = r_.chance(40) ? constant(t, small(t)) : expression(c, t, depth + 1);
  if (r_.chance(10)) return {ir::truth(g_, a.id), flag};
  return {ir::binary(g_, r_.pick(compare), a.id, b.id), flag};
}

Term PointGenerator::reduction(Context& c, ElementType type, int depth) {
  if (c.vars.size() > 2) return leaf(c, type);
  if (c.vars.empty() && type != ElementType::boolean && !(odd_ && is_float(type)) && r_.chance(40))
    return weighted_window(c, type);
  std::vector<ir::Var> vars;
  const i64 count = r_.chance(55) ? 2 : 1;
  i64 terms = 1;
  for (i64 k = 0; k < count; ++k) {
    const i64 lo = r_.between(-3, 1), span = r_.chance(6) && c.vars.empty() ? r_.between(8, 12) : r_.between(0, 4);
    vars.push_back({g_.new_var(), lo, lo + span});
    terms *= span + 1;
  }
  static constexpr std::array number = {Op::reduce_sum,    Op::reduce_sum,  Op::reduce_sum,
                                        Op::reduce_prod,   Op::reduce_min,  Op::reduce_max,
                                        Op::reduce_median, Op::reduce_rank, Op::reduce_pick};
  static constexpr std::array flags = {Op::reduce_any, Op::reduce_all};
  Op op = type == ElementType::boolean ? r_.pick(flags) : r_.pick(number);
  if (!wild_ && is_float(type) && op == Op::reduce_prod) op = Op::reduce_max;
  if (wild_ && is_float(type) && (op == Op::reduce_median || op == Op::reduce_rank)) op = Op::reduce_sum;
  if (odd_ && is_float(type))
    op = r_.pick(std::array{Op::reduce_min, Op::reduce_max, Op::reduce_median, Op::reduce_rank, Op::reduce_pick});
  if ((op == Op::reduce_median || op == Op::reduce_rank) && terms > 200) op = Op::reduce_max;
  Term rank;  // a number, or what is known at the point alone
  if (op == Op::reduce_rank) {
    rank = constant(ElementType::i32, static_cast<double>(r_.between(-1, terms)));
    if (terms < 30 && r_.chance(30)) rank = expression(c, ElementType::i32, depth + 3);
  }
  const std::size_t outside = c.vars.size();
  c.vars.insert(c.vars.end(), vars.begin(), vars.end());
  const i64 budget = c.budget;
  c.budget = std::min<i64>(budget, r_.between(0, 4));
  if (r_.chance(70)) c.budget = 0;  // a plain window
  const Term body = expression(c, type, depth + 1);
  Term key, taken;
  if (op == Op::reduce_pick) {
    static constexpr std::array keys = {ElementType::i32, ElementType::u32, ElementType::f32, ElementType::f64};
    ElementType of = r_.pick(keys);
    if (!allowed(of)) of = ElementType::i32;
    key = expression(c, of, depth + 1);
    taken = r_.chance(50) ? constant(ElementType::boolean, 1) : logic(c, depth + 2);
  }
  c.budget = std::min(budget, c.budget + budget / 2);
  c.vars.resize(outside);
  Bound bound = body.bound;
  if (op == Op::reduce_rank) return {ir::reduce_rank(g_, vars, body.id, rank.id), bound};
  if (op == Op::reduce_pick) return {ir::reduce_pick(g_, vars, key.id, taken.id, body.id), bound};
  if (op == Op::reduce_sum) bound.most *= static_cast<double>(terms);
  if (!fits(type, bound)) op = Op::reduce_min, bound = body.bound;
  return {ir::reduce(g_, op, vars, body.id), bound};
}

Term PointGenerator::weighted_window(Context& c, ElementType type) {
  ir::Table t;
  t.name = fmt::format("w{}", g_.tables.size());
  t.type = type;
  std::vector<ir::Var> vars;
  std::vector<std::vector<double>> factors;
  const std::size_t count = rank_ > 2 && r_.chance(40) ? 3 : 2;
  for (std::size_t k = 0; k < count; ++k) {
    const i64 lo = r_.between(-3, 0), terms = r_.between(count == 3 ? 1 : 2, count == 3 ? 4 : 6);
    vars.push_back({g_.new_var(), lo, lo + terms - 1});
    t.extents.push_back(terms);
    factors.emplace_back();
    for (i64 i = 0; i < terms; ++i)
      factors.back().push_back(static_cast<double>(type == ElementType::u32 ? r_.between(0, 4) : r_.between(-3, 5)));
  }
  t.values.assign(static_cast<std::size_t>(element_count(t.extents)), r_.chance(30) && is_float(type) ? 0.25 : 1);
  for (std::size_t e = 0; e < t.values.size(); ++e)
    for (std::size_t k = count, rest = e; k-- > 0;) {
      const auto n = static_cast<std::size_t>(t.extents[k]);
      t.values[e] *= factors[k][rest % n];
      rest /= n;
    }
  if (r_.chance(30)) t.values[r_.below(t.values.size())] += 2;
  double total = 0;
  for (const double v : t.values) total += std::fabs(v);
  c.vars.insert(c.vars.end(), vars.begin(), vars.end());
  const Term read = sample_of_window(c, type);
  c.vars.resize(c.vars.size() - vars.size());
  const Bound bound{read.bound.most * std::max(1.0, total), read.bound.places + 2};
  if (!fits(type, bound)) return leaf(c, type);
  std::vector<ExprId> at;
  for (const ir::Var& v : vars)
    at.push_back(
        ir::binary(g_, Op::sub, ir::var(g_, v.id), ir::constant(g_, ElementType::i32, static_cast<double>(v.lo))));
  g_.tables.push_back(t);
  const ExprId weight = ir::lookup(g_, g_.tables.size() - 1, at);
  const ExprId window = ir::reduce(g_, Op::reduce_sum, vars, ir::binary(g_, Op::mul, weight, read.id));
  const auto written = r_.chance(40) ? ir::unroll(g_, window, 200) : std::nullopt;
  return {written ? *written : window, bound};
}

Term PointGenerator::sample_of_window(Context& c, ElementType type) {
  const Term first = access(c, true);
  const Term read = converted(first, type);
  if (!r_.chance(40)) return read;
  ir::ExprNode second = g_.node(first.id);
  std::vector<StageId> alike;
  for (StageId s = 0; s < g_.stage_count(); ++s)
    if (g_.stage(s).domain == g_.stage(second.stage).domain && !ir::is_keyed(g_, g_.stage(s))) alike.push_back(s);
  second.stage = r_.pick(alike);
  second.type = g_.stage(second.stage).type;
  Bound bound = bounds_[second.stage];
  const bool elsewhere = r_.chance(15), otherwise = r_.chance(15);
  for (std::size_t d = 0; d < second.index.size(); ++d) {
    Border& border = second.border[d];
    if (border.mode == BorderMode::none) continue;
    if (elsewhere) second.index[d].offset += r_.between(-1, 1);
    if (otherwise) border.mode = r_.pick(std::array{BorderMode::clamp, BorderMode::wrap, BorderMode::constant});
    if (border.mode != BorderMode::constant) continue;
    border.value = static_cast<double>(r_.between(0, 9));
    bound = join(bound, {9, 0});
  }
  const Term other = converted({g_.expr(std::move(second)), bound}, type);
  const i64 what = r_.between(0, 9);
  if (what == 0) return {ir::binary(g_, Op::max, read.id, other.id), join(read.bound, other.bound)};
  if (what < 3)
    return {ir::select(g_, ir::binary(g_, Op::lt, other.id, constant(type, 1).id), read.id, other.id),
            join(read.bound, other.bound)};
  const Bound product{read.bound.most * std::max(1.0, other.bound.most), read.bound.places + other.bound.places};
  return fits(type, product) ? Term{ir::binary(g_, Op::mul, read.id, other.id), product} : read;
}

// ---- leaves ----

Term PointGenerator::leaf(Context& c, ElementType type) {
  const i64 what = r_.between(0, 99);
  if (must_read_ || what < 70 || !c.extra_leaves) {
    if (!must_read_ && what >= 62) return constant(type, small(type));
    return converted(access(c), type);
  }
  if (totals_ && what < 78) return converted(total(), type);
  if (what < 76 && !c.vars.empty()) return converted({ir::var(g_, r_.pick(c.vars).id), {16, 0}}, type);
  if (what < 80 && !scalars_.empty()) {
    const std::size_t at = r_.pick(scalars_);
    return converted({ir::scalar(g_, at), input_bound(g_.arguments[at].format.scalar)}, type);
  }
  if (what < 84) return converted({ir::coord(g_, r_.below(c.domain.size())), {4096, 0}}, type);
  if (what < 86) return converted({ir::extent(g_, r_.below(c.domain.size())), {4096, 0}}, type);
  if (what < 88) return converted({ir::parameter(g_, r_.below(g_.parameters.size())), {4096, 0}}, type);
  if (what < 93 && !g_.tables.empty()) {
    const std::size_t t = r_.below(g_.tables.size());
    std::vector<ExprId> at;
    for (std::size_t d = 0; d < g_.tables[t].extents.size(); ++d) at.push_back(position(c));
    const bool whole = g_.tables[t].type == ElementType::i32 || g_.tables[t].type == ElementType::u32;
    return converted({ir::lookup(g_, t, at), whole ? input_bound(ElementType::i32) : Bound{8, 2}}, type);
  }
  if (what < 97) {
    const StageId s = recent();
    std::vector<ExprId> at;
    for (std::size_t d = 0; d < g_.stage(s).domain.size(); ++d) at.push_back(position(c));
    std::vector<Border> borders(at.size());
    for (Border& b : borders) b = {r_.pick(modes_), 2};
    return converted({ir::gather(g_, s, at, borders), join(bounds_[s], {2, 0})}, type);
  }
  return constant(type, small(type));
}

Term PointGenerator::total() {
  const StageId from = recent();
  Bound bound = bounds_[from];
  Op op = r_.pick(std::array{Op::whole_min, Op::whole_max, Op::whole_sum, Op::whole_mean});
  const Bound sum{bound.most * 65536, bound.places};
  if (odd_) op = r_.chance(50) ? Op::whole_min : Op::whole_max;
  if (!wild_ && (op == Op::whole_mean || !fits(ElementType::f64, sum))) op = Op::whole_max;
  if (op == Op::whole_sum || op == Op::whole_mean) bound = sum;
  ir::Stage s;
  s.name = fmt::format("r{}", g_.stage_count());
  s.domain = {g_.size(1)};
  s.body = ir::whole(g_, op, from);
  s.type = g_.node(s.body).type;
  s.margin_lo = s.margin_hi = {0};
  return {ir::value(g_, add(std::move(s), bound)), bound};
}

ExprId PointGenerator::position(Context& c) {
  const ExprId here = ir::coord(g_, r_.below(c.domain.size()));
  switch (r_.between(0, 4)) {
    case 0:
      return ir::binary(g_, Op::add, here, ir::constant(g_, ElementType::i32, static_cast<double>(r_.between(-4, 4))));
    case 1:
      return ir::binary(g_, Op::mul, here, ir::constant(g_, ElementType::i32, static_cast<double>(r_.between(-2, 3))));
    case 2:
      if (!c.vars.empty()) return ir::var(g_, r_.pick(c.vars).id);
      return ir::constant(g_, ElementType::i32, static_cast<double>(r_.between(-1, 5)));
    case 3: {
      Context inner = c;
      inner.budget = 1;
      Term t = expression(inner, ElementType::i32, 5);
      c.margin_lo = inner.margin_lo;
      c.margin_hi = inner.margin_hi;
      return t.id;
    }
    default:
      return here;
  }
}

bool PointGenerator::can_stay_inside(const Graph& g, SizeId producer, SizeId consumer, i64 scale) {
  Graph& sizes = const_cast<Graph&>(g);
  return scale >= 1 && (scale == 1 ? producer == consumer : sizes.size_floor_div(producer, scale) == consumer);
}

Term PointGenerator::access(Context& c, bool window) {
  StageId s = must_read_ ? *must_read_ : recent();
  must_read_.reset();
  if (g_.stage(s).domain.size() > c.domain.size()) s = static_cast<StageId>(r_.below(input_count_));
  for (StageId t = 0; g_.stage(s).domain.size() > c.domain.size() || ir::is_keyed(g_, g_.stage(s)); ++t) s = t;
  const ir::Stage& source = g_.stage(s);
  const std::size_t rank = source.domain.size(), lead = c.domain.size() - rank;
  std::vector<ir::Index> index(rank);
  std::vector<Border> border(rank);
  const bool own = r_.chance(30);
  const BorderMode mode = r_.pick(modes_);
  Bound bound = bounds_[s];
  std::vector<bool> used(c.vars.size());
  for (std::size_t d = 0; d < rank; ++d) {
    ir::Index& i = index[d];
    for (i64 k = 2; k <= 3; ++k)
      if (source.domain[d] != c.domain[d + lead] && g_.size_floor_div(source.domain[d], k) == c.domain[d + lead])
        i.scale = k;
    if (!own) i.offset = r_.chance(60) ? r_.between(-1, 1) : r_.between(-reach_, reach_);
    if (scales_ && r_.chance(6)) i.scale = r_.between(0, 3);
    for (std::size_t v = 0; v < c.vars.size(); ++v)
      if (!used[v] && r_.chance(window ? 90 : 60)) {
        used[v] = true;
        i.vars.emplace_back(c.vars[v].id, r_.chance(window ? 97 : 85) ? 1 : r_.between(0, 1) * 4 - 2);
      }
    std::sort(i.vars.begin(), i.vars.end());
    if (scales_ && r_.chance(4))
      i.shift = r_.chance(50) ? g_.size_floor_div(source.domain[d], 2) : g_.size(r_.between(-2, 2));
    border[d].mode = r_.chance(85) ? mode : r_.pick(modes_);
    if (border[d].mode == BorderMode::none &&
        (i.shift != SizeId{} || !can_stay_inside(g_, source.domain[d], c.domain[d + lead], i.scale)))
      border[d].mode = BorderMode::clamp;
    if (border[d].mode == BorderMode::none) {
      i64 lo = i.offset, hi = i.offset;
      for (auto [id, k] : i.vars)
        for (const ir::Var& v : c.vars)
          if (v.id == id) lo += std::min(k * v.lo, k * v.hi), hi += std::max(k * v.lo, k * v.hi);
      c.margin_lo[d + lead] = std::max(c.margin_lo[d + lead], (std::max<i64>(0, -lo) + i.scale - 1) / i.scale);
      c.margin_hi[d + lead] = std::max(c.margin_hi[d + lead], (std::max<i64>(0, hi) + i.scale - 1) / i.scale);
    }
    if (border[d].mode == BorderMode::constant) {
      border[d].value =
          r_.chance(30) ? static_cast<double>(r_.between(-300, 300)) / 2 : static_cast<double>(r_.between(0, 9));
      if (is_float(source.type)) bound = join(bound, {150, 1});
    }
  }
  if (!wild_ && !fits(ElementType::f32, bound)) {
    bound = {bound.most, bound.places};
  }
  return {ir::access(g_, s, index, border), bound};
}

}  // namespace tessera::differential
