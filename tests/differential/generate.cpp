// A stage after the other, each reading earlier ones. Beside every float stands a bound and a number of binary places:
// as long as bound * 2^places fits the significand, no operation on it rounds.
#include "generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/build.hpp"
#include "ir/functions.hpp"
#include "ir/reductions.hpp"

namespace tessera::differential {
namespace {

using ir::ExprId;
using ir::Graph;
using ir::Op;
using ir::SizeId;
using ir::StageId;

constexpr std::array all_types = {ElementType::boolean, ElementType::u8,  ElementType::i16,
                                  ElementType::u16,     ElementType::i32, ElementType::u32,
                                  ElementType::f16,     ElementType::f32, ElementType::f64};

struct Bound {
  double most = 0;
  int places = 0;
};

struct Term {
  ExprId id;
  Bound bound;
};

bool is_narrow(ElementType t) {
  return t == ElementType::u8 || t == ElementType::i16 || t == ElementType::u16;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : r_(seed), seed_(seed) {}

  Case run() {
    Case c;
    c.seed = seed_;
    c.name = fmt::format("seed {}", seed_);
    flavour();
    c.data = wild_ ? Data::wild : Data::plain;
    declare();
    const i64 stages = r_.chance(25) ? r_.between(1, 2) : r_.between(2, 12);
    for (i64 k = 0; k < stages; ++k) r_.chance(18) ? compose() : point();
    choose_outputs();
    sizes(c);
    ways(c);
    c.graph = std::move(g_);
    return c;
  }

 private:
  // ---- what kind of program this one is ----

  void flavour() {
    rank_ = static_cast<std::size_t>(r_.pick(std::array{1, 2, 2, 2, 2, 2, 2, 3, 3, 4}));
    wild_ = r_.chance(50);
    static constexpr std::array<int, 6> families = {0, 1, 2, 3, 4, 5};
    switch (r_.pick(families)) {
      case 0:
        types_ = {ElementType::f32};
        break;
      case 1:
        types_ = {ElementType::u8, ElementType::i16, ElementType::i32};
        break;
      case 2:
        types_ = {ElementType::f32, ElementType::u8};
        break;
      case 3:
        types_ = {ElementType::u8, ElementType::u16, ElementType::u32, ElementType::boolean};
        break;
      default:
        types_.assign(all_types.begin(), all_types.end());
        break;
    }
    const int modes = static_cast<int>(r_.between(0, 4));
    if (modes == 0)
      modes_ = {BorderMode::clamp};
    else if (modes == 1)
      modes_ = {BorderMode::wrap};
    else if (modes == 2)
      modes_ = {BorderMode::none};
    else
      modes_ = {BorderMode::clamp, BorderMode::mirror,   BorderMode::symmetric,
                BorderMode::wrap,  BorderMode::constant, BorderMode::none};
    reach_ = r_.pick(std::array{1, 1, 2, 4});
    scales_ = r_.chance(35);
    oddities_ = r_.chance(50);  // gathers, look-ups, coordinates, reductions, shifts
    totals_ = oddities_ && seed_ % 3 == 1;
  }

  void declare() {
    static constexpr std::array names = {"L", "K", "M", "N"};
    for (std::size_t d = 0; d < rank_; ++d) {
      g_.parameters.push_back(names[4 - rank_ + d]);
      base_.push_back(g_.size_parameter(static_cast<std::uint32_t>(d)));
    }
    const i64 arrays = r_.between(1, 3);
    for (i64 k = 0; k < arrays; ++k) {
      ir::Argument a;
      a.name = fmt::format("a{}", k);
      std::size_t lead = k > 0 && rank_ > 1 && r_.chance(15)
                             ? static_cast<std::size_t>(r_.between(1, static_cast<i64>(rank_) - 1))
                             : 0;
      a.extents.assign(base_.begin() + static_cast<std::ptrdiff_t>(lead), base_.end());
      if (k > 0 && r_.chance(20))
        for (SizeId& n : a.extents)
          n = r_.chance(50) ? g_.size_binary(ir::SizeOp::add, n, g_.size(r_.between(0, 3))) : g_.size_floor_div(n, 2);
      if (r_.chance(20)) {
        std::vector<std::pair<std::string, ElementType>> fields;
        const i64 count = r_.between(1, 3);
        for (i64 f = 0; f < count; ++f) fields.emplace_back(fmt::format("f{}", f), r_.pick(types_));
        a.format = Format::record(fmt::format("s{}", k), fields);
      } else {
        a.format = Format(r_.pick(types_));
      }
      g_.arguments.push_back(a);
      for (std::size_t f = 0; f < std::max<std::size_t>(1, a.format.fields.size()); ++f) {
        ir::Stage s;
        s.kind = ir::StageKind::input;
        s.name = fmt::format("a{}f{}", k, f);
        s.type = a.format.is_struct() ? a.format.fields[f].type : a.format.scalar;
        s.domain = a.extents;
        s.argument = static_cast<std::uint32_t>(k);
        s.field = static_cast<std::uint32_t>(f);
        add(std::move(s), input_bound(s.type));
      }
    }
    const i64 scalars = r_.chance(30) ? r_.between(1, 2) : 0;
    for (i64 k = 0; k < scalars; ++k) {
      ir::Argument a;
      a.name = fmt::format("t{}", k);
      a.is_array = false;
      a.format = Format(r_.pick(types_));
      g_.arguments.push_back(a);
      scalars_.push_back(g_.arguments.size() - 1);
    }
    const i64 tables = oddities_ ? r_.between(0, 2) : 0;
    for (i64 k = 0; k < tables; ++k) {
      ir::Table t;
      t.name = fmt::format("k{}", k);
      t.type = r_.pick(types_);
      t.extents = {r_.between(1, 6)};
      if (r_.chance(40)) t.extents.push_back(r_.between(1, 5));
      for (i64 i = 0; i < element_count(t.extents); ++i) t.values.push_back(small(t.type));
      g_.tables.push_back(t);
    }
  }

  static Bound input_bound(ElementType t) {
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

  double small(ElementType t) {
    if (t == ElementType::boolean) return static_cast<double>(r_.between(0, 1));
    if (is_float(t) && r_.chance(30)) return static_cast<double>(r_.between(-8, 8)) / 4;
    const bool no_sign = t == ElementType::u8 || t == ElementType::u16 || t == ElementType::u32;
    return static_cast<double>(r_.between(no_sign ? 0 : -5, 5));
  }

  StageId add(ir::Stage s, Bound b) {
    bounds_.push_back(b);
    return g_.add(std::move(s));
  }

  // ---- point stages ----

  struct Context {  // the stage being made
    std::vector<SizeId> domain;
    std::vector<i64> margin_lo, margin_hi;
    std::vector<ir::Var> vars;  // of the reductions around
    i64 budget = 14;            // operations left
    bool extra_leaves = true;
  };

  void point() {
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

  // Mostly the newest stages, so that chains form.
  StageId recent() {
    const std::size_t n = g_.stage_count();
    if (r_.chance(65)) return static_cast<StageId>(n - 1 - r_.below(std::min<std::size_t>(n, 2)));
    return static_cast<StageId>(r_.below(n));
  }

  Term stored(Context& c, ElementType type) {
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

  bool is_float_flavour() const {
    return std::any_of(types_.begin(), types_.end(), [](ElementType t) { return is_float(t); });
  }

  static double room(ElementType t) { return t == ElementType::f32 ? 0x1p24 : 0x1p53; }
  bool fits(ElementType t, Bound b) const {
    return wild_ || !is_float(t) || (b.most * std::exp2(b.places) <= room(t) && b.most < 0x1p30 && b.places < 30);
  }

  Term constant(ElementType t, double v) { return {ir::constant(g_, t, v), {std::fabs(v), 4}}; }

  // `t` as arithmetic type `to`, small enough for floats to be exact.
  Term converted(Term t, ElementType to) {
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

  Term expression(Context& c, ElementType type, int depth) {
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

  bool allowed(ElementType t) const {
    if (t == ElementType::f64) return std::count(types_.begin(), types_.end(), ElementType::f64) > 0;
    return !is_float(t) || is_float_flavour();
  }

  static Bound join(Bound a, Bound b) { return {std::max(a.most, b.most), std::max(a.places, b.places)}; }

  Term float_operation(Context& c, ElementType type, int depth) {
    if (r_.chance(15)) {
      static constexpr std::array plain = {Op::neg, Op::abs, Op::floor, Op::ceil, Op::round, Op::trunc};
      static constexpr std::array wild = {Op::sqrt,  Op::exp,  Op::log,   Op::sin,  Op::cos,   Op::tan,  Op::asin,
                                          Op::acos,  Op::atan, Op::sinh,  Op::cosh, Op::tanh,  Op::exp2, Op::log2,
                                          Op::log10, Op::cbrt, Op::floor, Op::ceil, Op::round, Op::trunc};
      const Term a = expression(c, type, depth + 1);
      const Op op = wild_ && r_.chance(50) ? r_.pick(wild) : r_.pick(plain);
      return {ir::unary(g_, op, a.id), {a.bound.most + 1, a.bound.places}};
    }
    static constexpr std::array plain = {Op::add, Op::add, Op::add, Op::sub, Op::sub,
                                         Op::mul, Op::mul, Op::min, Op::max};
    static constexpr std::array wild = {Op::div, Op::div, Op::pow, Op::atan2, Op::hypot, Op::fmod};
    const Op op = wild_ && r_.chance(25) ? r_.pick(wild) : r_.pick(plain);
    const Term a = expression(c, type, depth + 1);
    const Term b = op == Op::mul && r_.chance(60) ? constant(type, small(type)) : expression(c, type, depth + 1);
    Bound bound = join(a.bound, b.bound);
    if (op == Op::add || op == Op::sub) bound.most = a.bound.most + b.bound.most;
    if (op == Op::mul) bound = {a.bound.most * b.bound.most, a.bound.places + b.bound.places};
    if (!fits(type, bound)) return a;
    return {ir::binary(g_, op, a.id, b.id), bound};
  }

  Term integer_operation(Context& c, ElementType type, int depth) {
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

  Term logic(Context& c, int depth) {
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

  Term reduction(Context& c, ElementType type, int depth) {
    if (c.vars.size() > 2) return leaf(c, type);
    if (c.vars.empty() && type != ElementType::boolean && r_.chance(40)) return weighted_window(c, type);
    std::vector<ir::Var> vars;
    const i64 count = r_.chance(55) ? 2 : 1;
    i64 terms = 1;
    for (i64 k = 0; k < count; ++k) {
      const i64 lo = r_.between(-3, 1), span = r_.chance(6) && c.vars.empty() ? r_.between(8, 12) : r_.between(0, 4);
      vars.push_back({g_.new_var(), lo, lo + span});
      terms *= span + 1;
    }
    static constexpr std::array number = {Op::reduce_sum, Op::reduce_sum, Op::reduce_sum,   Op::reduce_prod,
                                          Op::reduce_min, Op::reduce_max, Op::reduce_median};
    static constexpr std::array flags = {Op::reduce_any, Op::reduce_all};
    Op op = type == ElementType::boolean ? r_.pick(flags) : r_.pick(number);
    if (!wild_ && is_float(type) && op == Op::reduce_prod) op = Op::reduce_max;
    if (wild_ && is_float(type) && op == Op::reduce_median) op = Op::reduce_sum;
    if (op == Op::reduce_median && terms > 200) op = Op::reduce_max;
    const std::size_t outside = c.vars.size();
    c.vars.insert(c.vars.end(), vars.begin(), vars.end());
    const i64 budget = c.budget;
    c.budget = std::min<i64>(budget, r_.between(0, 4));
    if (r_.chance(70)) c.budget = 0;  // a plain window
    const Term body = expression(c, type, depth + 1);
    c.budget = std::min(budget, c.budget + budget / 2);
    c.vars.resize(outside);
    Bound bound = body.bound;
    if (op == Op::reduce_sum) bound.most *= static_cast<double>(terms);
    if (!fits(type, bound)) op = Op::reduce_min, bound = body.bound;
    return {ir::reduce(g_, op, vars, body.id), bound};
  }

  // A weighted window whose weights are an outer product, all but one perhaps; or the same written out.
  Term weighted_window(Context& c, ElementType type) {
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
    const Term read = converted(access(c, true), type);
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

  // ---- leaves ----

  Term leaf(Context& c, ElementType type) {
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
      return converted({ir::gather(g_, s, at), bounds_[s]}, type);
    }
    return constant(type, small(type));
  }

  // What a whole image comes to.
  Term total() {
    const StageId from = recent();
    Bound bound = bounds_[from];
    Op op = r_.pick(std::array{Op::whole_min, Op::whole_max, Op::whole_sum, Op::whole_mean});
    const Bound sum{bound.most * 65536, bound.places};
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

  // Some index: near the point, far outside, or out of the data.
  ExprId position(Context& c) {
    const ExprId here = ir::coord(g_, r_.below(c.domain.size()));
    switch (r_.between(0, 4)) {
      case 0:
        return ir::binary(g_, Op::add, here,
                          ir::constant(g_, ElementType::i32, static_cast<double>(r_.between(-4, 4))));
      case 1:
        return ir::binary(g_, Op::mul, here,
                          ir::constant(g_, ElementType::i32, static_cast<double>(r_.between(-2, 3))));
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

  // Whether an access without a border can be made legal, by margins, in this dimension.
  static bool can_stay_inside(const Graph& g, SizeId producer, SizeId consumer, i64 scale) {
    Graph& sizes = const_cast<Graph&>(g);
    return scale >= 1 && (scale == 1 ? producer == consumer : sizes.size_floor_div(producer, scale) == consumer);
  }

  Term access(Context& c, bool window = false) {
    StageId s = must_read_ ? *must_read_ : recent();
    must_read_.reset();
    if (g_.stage(s).domain.size() > c.domain.size()) s = static_cast<StageId>(r_.below(input_count_));
    for (StageId t = 0; g_.stage(s).domain.size() > c.domain.size(); ++t) s = t;
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

  // ---- compose stages ----

  void compose() {
    const StageId main = recent();
    ir::Stage s;
    s.kind = ir::StageKind::compose;
    s.name = fmt::format("c{}", g_.stage_count());
    s.type = g_.stage(main).type;
    const bool raise = g_.stage(main).domain.size() < rank_ && r_.chance(60);
    const std::size_t rank = raise ? rank_ : g_.stage(main).domain.size();
    const std::vector<SizeId> source_domain = g_.stage(main).domain;
    const std::size_t lead = rank - source_domain.size();
    const i64 stride = r_.chance(50) ? 1 : r_.between(2, 3);
    for (std::size_t d = 0; d < rank; ++d) {
      SizeId n = d < lead ? g_.size(r_.between(1, 3)) : source_domain[d - lead];
      if (d >= lead && r_.chance(60)) n = g_.size_binary(ir::SizeOp::mul, n, g_.size(stride));
      if (r_.chance(25)) n = g_.size_binary(ir::SizeOp::add, n, g_.size(r_.between(1, 3)));
      if (r_.chance(8)) n = base_[d + rank_ - rank];
      s.domain.push_back(n);
    }
    const i64 pieces = r_.between(1, 3);
    Bound bound{0, 0};
    for (i64 k = 0; k < pieces; ++k) {
      ir::Piece p;
      if (k > 0 && r_.chance(30)) {
        p.value = small(s.type);
        bound = join(bound, {8, 2});
      } else {
        StageId from = main;
        for (int tries = 0; tries < 4; ++tries) {
          const StageId other = recent();
          if (k > 0 && g_.stage(other).type == s.type && g_.stage(other).domain.size() <= rank) from = other;
        }
        p.stage = from;
        bound = join(bound, bounds_[from]);
      }
      const std::vector<SizeId> extents = p.stage ? g_.stage(*p.stage).domain : s.domain;
      const std::size_t missing = rank - extents.size();
      for (std::size_t d = 0; d < rank; ++d) {
        SizeId start = g_.size(r_.chance(70) ? r_.between(0, stride) : r_.between(-3, 5));
        if (r_.chance(6)) start = g_.size_floor_div(base_[d + rank_ - rank], 2);
        p.start.push_back(start);
        p.stride.push_back(r_.chance(75) ? stride : r_.between(1, 3));
        SizeId count = d < missing ? g_.size(1) : extents[d - missing];
        if (d >= missing && r_.chance(20))
          count = r_.chance(50) ? g_.size_floor_div(count, 2)
                                : g_.size_binary(ir::SizeOp::min, count, g_.size(r_.between(1, 6)));
        p.count.push_back(count);
      }
      s.pieces.push_back(std::move(p));
    }
    add(std::move(s), bound);
  }

  // ---- the rest of the case ----

  void choose_outputs() {
    std::vector<StageId> left;
    for (StageId s = static_cast<StageId>(g_.stage_count()); s-- > 0;)
      if (g_.stage(s).kind != ir::StageKind::input || r_.chance(4)) left.push_back(s);
    const std::size_t wanted = r_.chance(60) ? 1 : static_cast<std::size_t>(r_.between(2, 4));
    for (std::size_t k = 0; k < wanted && !left.empty(); ++k) {
      const std::size_t at = k == 0 ? 0 : r_.below(left.size());
      std::vector<StageId> members = {left[at]};
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
      if (r_.chance(25))
        for (std::size_t i = 0; i < left.size() && members.size() < 3;) {
          if (g_.stage(left[i]).domain == g_.stage(members[0]).domain && r_.chance(60)) {
            members.push_back(left[i]);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            ++i;
          }
        }
      if (r_.chance(3)) members.push_back(members[0]);
      ir::Output o;
      o.name = wanted == 1 ? "" : fmt::format("o{}", k);
      o.stages = members;
      if (members.size() == 1) {
        o.format = Format(g_.stage(members[0]).type);
      } else {
        std::vector<std::pair<std::string, ElementType>> fields;
        for (StageId s : members) fields.emplace_back(fmt::format("f{}", fields.size()), g_.stage(s).type);
        o.format = Format::record("result", fields);
      }
      g_.outputs.push_back(std::move(o));
    }
  }

  void sizes(Case& c) {
    static constexpr std::array tiny = {1, 2, 3, 4, 5, 7};
    static constexpr std::array medium = {8, 9, 15, 16, 17, 31, 33};
    auto set = [&](auto pick) {
      std::vector<i64> p;
      for (std::size_t d = 0; d < rank_; ++d) p.push_back(pick(d));
      c.parameters.push_back(p);
    };
    set([&](std::size_t) { return r_.pick(tiny); });
    set([&](std::size_t d) { return d + 1 == rank_ ? r_.between(16, 70) : r_.pick(tiny); });
    set([&](std::size_t d) {
      return rank_ == 1 || d + 2 >= rank_ ? static_cast<i64>(r_.pick(medium)) : r_.between(2, 5);
    });
    if (rank_ == 1) set([&](std::size_t) { return r_.between(100, 400); });
    if (rank_ == 2) set([&](std::size_t d) { return d == 0 ? r_.between(20, 60) : r_.between(60, 200); });
    if (rank_ > 2) set([&](std::size_t d) { return d + 1 == rank_ ? r_.between(20, 80) : r_.between(3, 9); });
  }

  void ways(Case& c) {
    c.may_refuse = true;
    const bool floats = is_float_flavour();
    std::vector<Way> bases;
    for (const Schedule s : {Schedule::automatic, Schedule::stream, Schedule::tiled, Schedule::untiled}) {
      if (s == Schedule::tiled && !r_.chance(35)) continue;
      if (s == Schedule::untiled && !r_.chance(25)) continue;
      if (s == Schedule::stream && !r_.chance(70)) continue;
      Way b;
      b.schedule = s;
      b.numbers = (wild_ && floats) || r_.chance(30) ? Numbers::exact : Numbers::fast;
      if (s == Schedule::automatic && b.numbers == Numbers::exact && r_.chance(40))
        b.method = r_.pick(std::array{Method::direct, Method::separable, Method::low_rank, Method::transform,
                                      Method::transform, Method::whole});
      bases.push_back(b);
    }
    for (const Way& b : bases) {
      c.ways.push_back(b);
      Way tiles = b;
      tiles.rows = r_.pick(std::array{1, 2, 3, 5, 8, 13});
      tiles.columns = r_.chance(70) ? 64 : 0;
      tiles.threads = static_cast<int>(r_.between(1, 3));
      tiles.placement = Placement::flush_begin;
      c.ways.push_back(tiles);
      Way view = b;
      view.rows = r_.chance(50) ? r_.between(4, 20) : tiles.rows;
      view.columns = tiles.columns;
      view.placement = r_.chance(80) ? Placement::view : Placement::sparse_view;
      view.threads = static_cast<int>(r_.between(1, 3));
      c.ways.push_back(view);
    }
  }

  Random r_;
  std::uint64_t seed_;
  Graph g_;
  std::size_t rank_ = 2;
  bool wild_ = false, scales_ = false, oddities_ = false, totals_ = false;
  i64 reach_ = 1;
  std::vector<ElementType> types_;
  std::vector<BorderMode> modes_;
  std::vector<SizeId> base_;
  std::vector<Bound> bounds_;
  std::vector<std::size_t> scalars_;
  std::size_t input_count_ = 1;
  std::optional<StageId> must_read_;
};

}  // namespace

Case random_case(std::uint64_t seed) {
  const auto too_small = [](const Graph& g) {  // an extent that is constant and below 1, at every size
    for (StageId s = 0; s < g.stage_count(); ++s)
      for (ir::SizeId d : g.stage(s).domain)
        if (g.constant(d).value_or(1) < 1) return true;
    return false;
  };
  for (;; seed += 1'000'000'007)
    if (Case c = Generator(seed).run(); !too_small(c.graph)) return c;
}

}  // namespace tessera::differential
