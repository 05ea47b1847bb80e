// What windows come to: their elements, those that a test leaves out, and what goes along with one that is chosen.
//
// Elements that are left out are nothing to a sum (0), a product (1), any and all; to extremes and ranks they are what
// stands behind all others: NaN, which numbers are preferred to, the infinity, the last integer of the type. So the
// graph knows no tests of windows but of those that choose.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "ir/variables.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

using ir::Op;

namespace {

constexpr i64 most_counted = 4096;  // elements of a window whose test is a matter of its indices

bool picks_an_operand(Op op) {
  return op == Op::reduce_min || op == Op::reduce_max || op == Op::reduce_median || op == Op::reduce_rank;
}

bool is_logical(Op op) {
  return op == Op::reduce_any || op == Op::reduce_all;
}

i64 middle(i64 count) {
  return (count - 1) / 2;
}

// What an element that is left out counts as.
double neutral(Op op, ElementType type) {
  switch (op) {
    case Op::reduce_prod:
    case Op::reduce_all:
      return 1;
    case Op::reduce_min:
      return is_float(type) ? std::numeric_limits<double>::quiet_NaN() : ir::integer_limits(type).hi;
    case Op::reduce_max:
      return is_float(type) ? std::numeric_limits<double>::quiet_NaN() : ir::integer_limits(type).lo;
    case Op::reduce_median:
    case Op::reduce_rank:
      return is_float(type) ? std::numeric_limits<double>::infinity() : ir::integer_limits(type).hi;
    default:
      return 0;
  }
}

}  // namespace

bool is_ranked(Op op) {
  return op == Op::reduce_median || op == Op::reduce_rank;
}

ir::ExprId PointEvaluator::left_out(Op op, ElementType type) {
  return ir::constant(graph_, ir::promote(type, type), neutral(op, type));
}

// Of one element; the names in its braces are gone afterwards.
PointEvaluator::Element PointEvaluator::element(const Expr& e) {
  if (e.body.empty()) {
    const Scalar value = scalar(*e.args[0]);
    return {value, along(e)};
  }
  Locals names = *locals_;
  Locals* const outer = std::exchange(locals_, &names);
  try {
    for (const Statement* s : e.body) define(*s);
    const Scalar value = scalar(*e.args[0]);
    Element made{value, along(e)};
    locals_ = outer;
    return made;
  } catch (...) {
    locals_ = outer;
    throw;
  }
}

// One value or one struct, or several values.
PointValue PointEvaluator::along(const Expr& e) {
  if (e.along.size() == 1) return evaluate(*e.along[0]);
  PointValue all;
  for (const Expr* part : e.along) all.parts.push_back(scalar(*part));
  return all;
}

PointValue PointEvaluator::window(const Expr& e, const Window& w) {
  ir::ExprId taken = w.within.value_or(ir::constant(graph_, ElementType::boolean, 1));
  if (e.test != nullptr) {
    const ir::ExprId test = ir::truth(graph_, scalar(*e.test).e);
    taken = w.within ? ir::binary(graph_, Op::bit_and, taken, test) : test;
  }
  const Element of = element(e);
  if (!e.along.empty()) return choice(w, of, taken);
  if (is_ranked(w.op)) return {nullptr, {ranked(e, w, of.value, taken)}};
  ir::ExprId body = of.value.e;
  if (w.op == Op::reduce_any)
    body = ir::binary(graph_, Op::bit_and, taken, ir::truth(graph_, body));
  else if (w.op == Op::reduce_all)
    body = ir::binary(graph_, Op::bit_or, ir::unary(graph_, Op::bit_not, taken), ir::truth(graph_, body));
  else if (e.test != nullptr || w.within)
    body = ir::select(graph_, taken, body, left_out(w.op, of.value.type));
  const ir::ExprId r = ir::reduce(graph_, w.op, w.vars, body);
  if (is_logical(w.op)) return {nullptr, {{r, ElementType::i32}}};
  const ElementType type = picks_an_operand(w.op) ? of.value.type : graph_.node(r).type;
  return {nullptr, {{ir::convert(graph_, type, r), type}}};
}

// The greatest key of floats is the least one with other signs, of integers the least one of the complements.
PointValue PointEvaluator::choice(const Window& w, const Element& of, ir::ExprId taken) {
  ir::ExprId key = converted(of.value, ir::promote(of.value.type, of.value.type));
  if (w.op == Op::reduce_max) key = ir::unary(graph_, is_float(graph_.node(key).type) ? Op::neg : Op::bit_not, key);
  PointValue out{of.along.record, {}};
  for (const Scalar& part : of.along.parts) {
    const ElementType type = ir::promote(part.type, part.type);
    const ir::ExprId r = ir::reduce_pick(graph_, w.vars, key, taken, converted(part, type));
    out.parts.push_back({ir::convert(graph_, part.type, r), part.type});
  }
  return out;
}

// How many elements a test takes that is a matter of indices, tables and constants.
std::optional<i64> PointEvaluator::count_taken(ir::ExprId taken, const std::vector<ir::Var>& vars) {
  i64 points = 1;
  for (const ir::Var& v : vars) points *= v.hi - v.lo + 1;
  if (const auto all = ir::constant_value(graph_, taken)) return *all != 0 ? points : 0;
  if (points > most_counted) return std::nullopt;
  i64 count = 0;
  ir::VariableValues at = ir::first_values(vars);
  do {
    const auto one = ir::constant_value(graph_, ir::substitute(graph_, taken, at));
    if (!one) return std::nullopt;
    count += *one != 0 ? 1 : 0;
  } while (ir::next_values(at, vars));
  return count;
}

Scalar PointEvaluator::ranked(const Expr& e, const Window& w, const Scalar& value, ir::ExprId taken) {
  const ElementType type = value.type;
  const auto number = [&](i64 v) { return ir::constant(graph_, ElementType::i32, static_cast<double>(v)); };
  const ir::ExprId last = left_out(w.op, type);
  const ir::ExprId body = ir::select(graph_, taken, converted(value, ir::promote(type, type)), last);
  const std::optional<i64> count = count_taken(taken, w.vars);
  std::optional<double> rank;
  if (count && !w.rank) rank = static_cast<double>(middle(*count));
  if (w.rank) rank = ir::constant_value(graph_, w.rank->e);
  // (What hangs on parameters is no fault of a function that nobody calls.)
  const bool wrong = rank && (*rank < 0 || (count && *rank >= static_cast<double>(*count)));
  if (wrong && context_.lenient) throw Failed{};
  if (w.rank && rank && *rank < 0)
    context_.report.fail(e.rank->span, fmt::format("the rank is {}: expected 0, the least element, or more", *rank));
  if (count && rank) {
    if (*count == 0) context_.report.fail(e.test->span, "the test leaves out all elements of the window");
    if (*rank >= static_cast<double>(*count))
      context_.report.fail(
          e.rank->span,
          fmt::format("the rank is {}: expected at most {}, as the window has {} elements", *rank, *count - 1, *count));
    const bool median = !w.rank && e.test == nullptr && !w.within;
    const ir::ExprId r = median ? ir::reduce(graph_, Op::reduce_median, w.vars, body)
                                : ir::reduce_rank(graph_, w.vars, body, number(static_cast<i64>(*rank)));
    return {ir::convert(graph_, type, r), type};
  }
  // The number of elements is known at the point alone, or the rank is.
  ir::VariableNames names;
  const std::vector<ir::Var> own = ir::fresh_variables(graph_, w.vars, names);
  const ir::ExprId elements =
      count ? number(*count) : ir::reduce(graph_, Op::reduce_sum, own, ir::renamed(graph_, taken, names));
  const ir::ExprId at = w.rank
                            ? converted(*w.rank, ElementType::i32)
                            : ir::binary(graph_, Op::div, ir::binary(graph_, Op::sub, elements, number(1)), number(2));
  const ir::ExprId none = is_float(type) ? left_out(Op::reduce_min, type) : last;
  const ir::ExprId there = ir::binary(graph_, Op::lt, at, elements);
  const ir::ExprId r = ir::select(graph_, there, ir::reduce_rank(graph_, w.vars, body, at), none);
  return {ir::convert(graph_, type, r), type};
}

// As a reduction takes it: in the type in which it computes, with the type of what it gives.
Scalar PointEvaluator::term_of(Op op, const Scalar& value) {
  const ir::ExprId term =
      is_logical(op) ? ir::truth(graph_, value.e) : converted(value, ir::promote(value.type, value.type));
  return {term, is_logical(op) ? ElementType::i32 : picks_an_operand(op) ? value.type : graph_.node(term).type};
}

Scalar PointEvaluator::reduced_to_one(const Expr& e, Op op, const std::vector<Scalar>& terms) {
  ElementType type = terms.front().type;
  for (const Scalar& term : terms)
    if (term.type != type) type = ir::promote(type, term.type);
  Scalar all;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const Scalar term = term_of(op, {converted(terms[k], type), type});
    all = k == 0 ? term : Scalar{ir::binary(graph_, ir::step_of(op), all.e, term.e), term.type};
    context_.check_growth(e.span, all.e);
  }
  if (is_logical(op)) return all;
  return {ir::convert(graph_, all.type, all.e), all.type};
}

// Constant mode: the loop itself, in the interpreter's order.
PointValue PointEvaluator::reduce_now(const Expr& e, const Window& w) {
  const auto number = [&](const Scalar& s) { return ir::constant_value(graph_, s.e).value_or(0); };
  const auto zero = [&](ElementType type) { return Scalar{ir::constant(graph_, type, 0), type}; };
  ir::VariableValues at = ir::first_values(w.vars);
  std::vector<Scalar> kept;  // of a rank all; else the running result
  std::optional<Element> best;
  ElementType type = ElementType::i32;
  PointValue none;  // what goes along with no element
  do {
    for (std::size_t d = 0; d < w.vars.size(); ++d) {
      const ir::ExprId value = ir::constant(graph_, ElementType::i32, static_cast<double>(at[d].second));
      locals_->insert_or_assign(e.ranges[d].name.text, PointValue{nullptr, {{value, ElementType::i32}}});
    }
    const bool taken = e.test == nullptr || number(scalar(*e.test)) != 0;
    const Element of = element(e);
    const Scalar& term = of.value;
    const auto& [value, of_result] = term_of(w.op, term);
    type = of_result;
    none = of.along;
    if (taken && !e.along.empty()) {
      const double sign = w.op == Op::reduce_max ? -1 : 1, key = sign * number(term);
      const double least = best ? sign * number(best->value) : 0;
      if (!best || (!std::isnan(key) && (std::isnan(least) || key < least))) best = of;
    } else if (taken) {
      if (kept.empty() || is_ranked(w.op))
        kept.push_back({value, type});
      else
        kept[0] = {ir::binary(graph_, ir::step_of(w.op), kept[0].e, value), type};
    }
  } while (ir::next_values(at, w.vars));
  if (best) return best->along;
  if (!e.along.empty()) {
    for (Scalar& part : none.parts) part = zero(part.type);
    return none;
  }
  if (is_ranked(w.op)) {
    const i64 count = static_cast<i64>(kept.size());
    const i64 rank = w.rank ? static_cast<i64>(number(*w.rank)) : middle(count);
    if (count == 0) context_.report.fail(e.test->span, "the test leaves out all elements of the window");
    if (rank < 0 || rank >= count)
      context_.report.fail(e.rank->span, fmt::format("the rank is {}: expected 0 to {}, as the window has {} elements",
                                                     rank, count - 1, count));
    const auto there = kept.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(kept.begin(), there, kept.end(),
                     [&](const Scalar& a, const Scalar& b) { return number(a) < number(b); });
    kept[0] = *there;
  }
  if (kept.empty()) {
    const ElementType as = is_logical(w.op) ? ElementType::boolean : type;
    kept.push_back({ir::constant(graph_, as, neutral(w.op, as)), type});
  }
  if (is_logical(w.op)) return {nullptr, {kept[0]}};
  return {nullptr, {{ir::convert(graph_, kept[0].type, kept[0].e), kept[0].type}}};
}

}  // namespace tessera::lang
