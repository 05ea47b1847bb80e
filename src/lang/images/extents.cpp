// Integer arithmetic over parameters: + - * of anything, / by a positive number. Quotients round down, which is C's
// rule wherever an extent is legal.
#include "lang/images/extents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lang/declarations.hpp"

namespace tessera::lang {

using ir::SizeId;
using ir::SizeOp;

namespace {

constexpr std::uint32_t most_terms = 1000;  // of one extent, written out
constexpr std::string_view one_of_extents = "+-*/%";

}  // namespace

// Extents are printed, compared and evaluated as trees, so a tree may not grow without bound.
SizeId ExtentEvaluator::checked(Span at, SizeId size) {
  if (context_.size_terms(size) <= most_terms) return size;
  context_.report.error(at, fmt::format("an extent of the program has more than {} terms", most_terms));
  throw Stop{};
}

SizeId ExtentEvaluator::combine(Span at, SizeOp op, SizeId a, SizeId b) {
  try {
    return checked(at, context_.graph.size_binary(op, a, b));
  } catch (const Error& e) {
    context_.report.fail(at, e.message());
  }
}

SizeId ExtentEvaluator::add(Span at, SizeId a, SizeId b) {
  return combine(at, SizeOp::add, a, b);
}
SizeId ExtentEvaluator::subtract(Span at, SizeId a, SizeId b) {
  return combine(at, SizeOp::sub, a, b);
}
SizeId ExtentEvaluator::multiply(Span at, SizeId a, SizeId b) {
  return combine(at, SizeOp::mul, a, b);
}
SizeId ExtentEvaluator::least(Span at, SizeId a, SizeId b) {
  return a == b ? a : combine(at, SizeOp::min, a, b);
}
SizeId ExtentEvaluator::greatest(Span at, SizeId a, SizeId b) {
  return a == b ? a : combine(at, SizeOp::max, a, b);
}
SizeId ExtentEvaluator::divide(Span at, SizeId a, i64 divisor) {
  return checked(at, context_.graph.size_floor_div(a, divisor));
}

SizeId ExtentEvaluator::evaluate(const Expr& e) {
  context_.step(e.span);
  const Nested nested(context_, e.span);
  switch (e.kind) {
    case ExprKind::number:
      if (is_float(e.type))
        context_.report.fail(
            e.span, fmt::format("{} is {}: expected an integer", base::quoted(e.span.text(), 40), name_of(e.type)));
      return context_.graph.size(static_cast<i64>(e.value));
    case ExprKind::name:
      return evaluate_name(e);
    case ExprKind::unary:
      if (e.name.text == "+") return evaluate(*e.args[0]);
      if (e.name.text == "-") return subtract(e.span, SizeId{}, evaluate(*e.args[0]));
      break;
    case ExprKind::binary: {
      std::vector<const Expr*> chain;
      const Expr* left = &e;
      for (; left->kind == ExprKind::binary; left = left->args[0]) chain.push_back(left);
      const auto of_extents = [](const Expr* op) {
        return op->name.text.size() == 1 && one_of_extents.find(op->name.text) != std::string_view::npos;
      };
      if (!std::all_of(chain.begin(), chain.end(), of_extents)) return evaluate_constant(e);
      SizeId value = evaluate(*left);
      for (auto i = chain.rbegin(); i != chain.rend(); ++i) {
        const Expr& op = **i;
        context_.step(op.span);
        const SizeId b = evaluate(*op.args[1]);
        const std::string_view text = op.name.text;
        if (text == "+") {
          value = add(op.span, value, b);
        } else if (text == "-") {
          value = subtract(op.span, value, b);
        } else if (text == "*") {
          value = multiply(op.span, value, b);
        } else {
          const auto divisor = context_.graph.constant(b);
          if (!divisor || *divisor < 1)
            context_.report.fail(op.args[1]->span,
                                 fmt::format("{} by {}: expected a positive number known at compile time",
                                             text == "/" ? "division" : "remainder", context_.graph.to_string(b)));
          const SizeId quotient = divide(op.span, value, *divisor);
          value = text == "/" ? quotient : subtract(op.span, value, multiply(op.span, quotient, b));
        }
      }
      return value;
    }
    case ExprKind::call:
      if (of_images_)
        if (const std::optional<SizeId> size = of_images_(e)) return *size;
      return evaluate_constant(e);
    case ExprKind::select:
    case ExprKind::cast:
    case ExprKind::saturate:
    case ExprKind::subscript:
      return evaluate_constant(e);
    default:
      break;
  }
  context_.report.fail(e.span, fmt::format("expected an integer expression of numbers and parameters, found {}",
                                           base::quoted(e.span.text(), 40)));
}

SizeId ExtentEvaluator::evaluate_name(const Expr& e) {
  const auto parameter = context_.declared.parameters.find(e.name.text);
  const bool local = locals_ != nullptr && locals_->contains(e.name.text);
  if (!local && parameter != context_.declared.parameters.end() &&
      parameter->second.kind() == ParameterDeclaration::number) {
    const Parameter& p = resolve_parameter(context_, parameter->second);
    if (p.state == Parameter::run_time) return context_.graph.size_parameter(p.index);
  }
  return evaluate_constant(e);
}

// What is no arithmetic of extents has to be a number.
SizeId ExtentEvaluator::evaluate_constant(const Expr& e) {
  PointEvaluator evaluator(context_);
  evaluator.set_locals(locals_);
  evaluator.set_outside(outside_);
  return context_.graph.size(evaluator.constant_integer(e, base::quoted(e.span.text(), 40)));
}

i64 ExtentEvaluator::constant(const Expr& e, const std::string& what) {
  const SizeId size = evaluate(e);
  const auto value = context_.graph.constant(size);
  if (!value)
    context_.not_constant(e.span,
                          fmt::format("{} is {}, which is not known at compile time", what,
                                      base::quoted(context_.graph.to_string(size), 60)),
                          {{"a parameter without a value is known when the program runs"}, {}});
  constexpr i64 most = 1'000'000'000;
  if (*value < -most || *value > most)
    context_.report.fail(e.span, fmt::format("{} is {}: expected at most {} either way", what, *value, most));
  return *value;
}

std::optional<i64> ExtentEvaluator::least_value(SizeId s) {
  const ir::SizeNode& n = context_.graph.node(s);
  const auto constant_of = [&](SizeId id) { return context_.graph.constant(id); };
  i64 r = 0;
  switch (n.op) {
    case SizeOp::constant:
      return n.value;
    case SizeOp::parameter:
      for (const ir::Argument& a : context_.graph.arguments)
        if (std::find(a.extents.begin(), a.extents.end(), s) != a.extents.end()) return 1;
      return std::nullopt;
    case SizeOp::add: {
      const auto a = least_value(n.a), b = least_value(n.b);
      if (!a || !b) return std::nullopt;
      if (__builtin_add_overflow(*a, *b, &r)) return std::nullopt;
      return r;
    }
    case SizeOp::sub: {
      const auto a = least_value(n.a), b = constant_of(n.b);
      if (!a || !b) return std::nullopt;
      if (__builtin_sub_overflow(*a, *b, &r)) return std::nullopt;
      return r;
    }
    case SizeOp::mul: {
      const auto a = least_value(n.a), b = least_value(n.b);
      if (!a || !b || *a < 0 || *b < 0) return std::nullopt;
      if (__builtin_mul_overflow(*a, *b, &r)) return std::nullopt;
      return r;
    }
    case SizeOp::floor_div: {
      const auto a = least_value(n.a);
      if (!a || *a < 0) return std::nullopt;
      return *a / n.value;
    }
    case SizeOp::min: {
      const auto a = least_value(n.a), b = least_value(n.b);
      if (!a || !b) return std::nullopt;
      return std::min(*a, *b);
    }
    case SizeOp::max: {
      const auto a = least_value(n.a), b = least_value(n.b);
      if (!a && !b) return std::nullopt;
      return std::max(a.value_or(INT64_MIN), b.value_or(INT64_MIN));
    }
  }
  return std::nullopt;
}

bool ExtentEvaluator::surely_nonnegative(SizeId a) {
  const auto least = least_value(a);
  return least && *least >= 0;
}

void ExtentEvaluator::check_count(Span at, const std::vector<SizeId>& domain) {
  i64 count = 1;
  for (std::size_t d = 0; d < domain.size(); ++d) {
    const auto n = context_.graph.constant(domain[d]);
    if (!n) continue;
    if (*n < 1)
      context_.report.fail(at, fmt::format("the image has the extent {} in dimension {}: expected at least 1", *n, d));
    if (__builtin_mul_overflow(count, *n, &count) || count > (i64{1} << 56))
      context_.report.fail(at, "the image has more than 2^56 elements");
  }
}

}  // namespace tessera::lang
