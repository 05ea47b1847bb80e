// `int r <= 16`: a scalar that is known at run time, and lies between 0 and a number that is known before. So it may
// bound a window: the largest one is read, and what lies beyond the bound is left out of it.
#include <fmt/format.h>

#include "analyze/ranges.hpp"
#include "base/text.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

using ir::Op;

i64 PointEvaluator::largest(const Name& name, const TypeName& type_name, const Expr& e) {
  const ElementType type = context_.basic_type(type_name);
  if (is_float(type) || type == ElementType::boolean)
    context_.report.fail(e.span, fmt::format("{} is {}: expected an integer where a largest value is declared",
                                             base::quoted(name.text), name_of(type)));
  const i64 value = constant_integer(e, "the largest value");
  if (const double most = ir::integer_limits(type).hi; value < 0 || static_cast<double>(value) > most)
    context_.report.fail(e.span, fmt::format("the largest value is {}: expected 0 to {}", value, most));
  return value;
}

Scalar PointEvaluator::confined(const Scalar& s, i64 largest) {
  const ElementType wide = ir::promote(s.type, s.type);
  const auto number = [&](i64 n) { return ir::constant(graph_, wide, static_cast<double>(n)); };
  const ir::ExprId from_0 = ir::binary(graph_, Op::max, ir::convert(graph_, wide, s.e), number(0));
  return {ir::convert(graph_, s.type, ir::binary(graph_, Op::min, from_0, number(largest))), s.type};
}

void PointEvaluator::check_largest(const CallArgument& given, const FunctionArgument& a, const Function& f,
                                   const Scalar& value) {
  if (a.largest == nullptr) return;
  const i64 most = PointEvaluator(context_, constant).largest(a.name, a.type, *a.largest);
  const analyze::Range there = analyze::Ranges(graph_, ranges_).of(value.e);
  if (there.lo >= 0 && there.hi <= static_cast<double>(most)) return;
  const std::string text = base::quoted(given.value->span.text(), 40);
  const auto known = ir::constant_value(graph_, value.e);
  context_.report.fail(
      given.value->span,
      fmt::format("argument {} of {} is from 0 to {}, but {} is {}", base::quoted(a.name.text),
                  base::quoted(f.name.text), most, text,
                  known ? fmt::format("{}", *known) : std::string("not known to be")),
      {{},
       known ? std::string() : fmt::format("write clamp({}, 0, {})", given.value->span.text().substr(0, 40), most)});
}

// A bound that is known at run time: the variable runs as far as it can come, and `within` says how far it does.
std::optional<ir::ExprId> PointEvaluator::open_bounds(const Range& r, ir::Var& v) {
  const Scalar lo = scalar(*r.lo), hi = scalar(*r.hi);
  want_integer(r.lo->span, lo, "the lower bound");
  want_integer(r.hi->span, hi, "the upper bound");
  const bool known_lo = ir::constant_value(graph_, lo.e).has_value();
  const bool known_hi = ir::constant_value(graph_, hi.e).has_value();
  if (mode_ == constant || (known_lo && known_hi)) {
    v.lo = static_cast<i64>(constant_value(*r.lo, lo, "the lower bound"));
    v.hi = static_cast<i64>(constant_value(*r.hi, hi, "the upper bound"));
    return std::nullopt;
  }
  analyze::Ranges ranges(graph_, ranges_);
  const double least = ranges.of(lo.e).lo, most = ranges.of(hi.e).hi;
  if (most - least >= static_cast<double>(ir::max_window)) {
    const Expr& open = *(known_lo ? r.hi : r.lo);
    context_.not_constant(
        open.span,
        fmt::format("the {} bound is not known at compile time: expected a constant, or a number that is declared with "
                    "its largest value",
                    known_lo ? "upper" : "lower"),
        {{"constants are made of numbers, parameters with a value and loop variables"},
         "declare it as in int r <= 16"});
  }
  v.lo = static_cast<i64>(least);
  v.hi = static_cast<i64>(most);
  const ir::ExprId at = ir::var(graph_, v.id);
  const auto bound = [&](const Scalar& s) { return converted(s, ElementType::i32); };
  if (known_lo) return ir::binary(graph_, Op::le, at, bound(hi));
  const ir::ExprId above = ir::binary(graph_, Op::le, bound(lo), at);
  if (known_hi) return above;
  return ir::binary(graph_, Op::bit_and, above, ir::binary(graph_, Op::le, at, bound(hi)));
}

}  // namespace tessera::lang
