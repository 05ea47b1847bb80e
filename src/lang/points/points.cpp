// Names, operators and structs of point expressions.
#include "lang/points/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "ir/gather.hpp"
#include "lang/declarations.hpp"
#include "lang/functions.hpp"

namespace tessera::lang {

using ir::Op;

Scalar PointEvaluator::made(Span at, ir::ExprId e, ElementType type) {
  context_.check_growth(at, e);
  return {e, type};
}

ir::ExprId PointEvaluator::converted(const Scalar& s, ElementType type) {
  // A comparison that becomes a number is an int first, as the language says; for 0 and 1 the way makes no difference.
  return ir::convert(graph_, type, s.e);
}

PointValue PointEvaluator::evaluate(const Expr& e) {
  PointValue v = values(e);
  if (v.record != nullptr || v.parts.size() == 1) return v;
  const std::string text(e.span.text().substr(0, 40));
  context_.report.fail(e.span, fmt::format("these are {} values: expected one of them", v.parts.size()),
                       {{},
                        e.kind == ExprKind::name ? fmt::format("write {}.0", text)
                                                 : "give them a name, as in best = ...; and write best.0"});
}

PointValue PointEvaluator::values(const Expr& e) {
  context_.step(e.span);
  const Nested nested(context_, e.span);
  if (outside_)
    if (const std::optional<Scalar> known = outside_(e)) return {nullptr, {*known}};
  switch (e.kind) {
    case ExprKind::name:
      return evaluate_name(e);
    case ExprKind::call:
      return call(e);
    case ExprKind::access:
      return access(e);
    case ExprKind::subscript:
      return subscript(e);
    case ExprKind::field:
      return field(e);
    case ExprKind::select:
      return select(e);
    case ExprKind::record:
      return record(e);
    case ExprKind::number:
      return {nullptr, {number(e)}};
    case ExprKind::unary:
      return {nullptr, {unary(e)}};
    case ExprKind::binary:
      return {nullptr, {binary(e)}};
    case ExprKind::reduce:
      return reduce(e);
    case ExprKind::cast: {
      const ElementType type = context_.basic_type(e.type_name);
      return {nullptr, {made(e.span, converted(scalar(*e.args[0]), type), type)}};
    }
    case ExprKind::saturate: {
      const ElementType type = context_.basic_type(e.type_name);
      return {nullptr, {made(e.span, ir::saturate(graph_, type, scalar(*e.args[0]).e), type)}};
    }
    case ExprKind::version:
      context_.report.fail(e.span,
                           fmt::format("{} is a versioned image: expected a scalar", base::quoted(e.name.text)));
    case ExprKind::keyed:
    case ExprKind::compose:
    case ExprKind::stack:
      break;
  }
  context_.report.fail(e.span, fmt::format("expected a scalar expression, found {}",
                                           e.kind == ExprKind::keyed ? "an image of bins" : "an image"));
}

Scalar PointEvaluator::scalar(const Expr& e) {
  PointValue v = evaluate(e);
  if (v.record == nullptr) return v.parts[0];
  std::vector<std::string> fields;
  for (const Format::Field& f : v.record->format.fields) fields.push_back(f.name);
  context_.report.fail(e.span,
                       fmt::format("this is a struct {}: expected one of its fields, {}",
                                   base::quoted(v.record->name.text), quoted_list(fields)),
                       {{}, fmt::format("write {}.{}", std::string(e.span.text().substr(0, 40)), fields[0])});
}

void PointEvaluator::define(const Statement& s) {
  context_.step(s.span);
  if (s.kind == Statement::loop) return define_in_loop(s);
  if (find_argument(s.name.text) != nullptr || is_index(s.name.text))
    context_.report.fail(s.name.span,
                         fmt::format("{} is {}: expected another name", base::quoted(s.name.text),
                                     is_index(s.name.text) ? "the index of a loop or a window" : "an image argument"));
  try {
    PointValue v = values(*s.value);
    locals_->insert_or_assign(s.name.text, std::move(v));
  } catch (const Failed&) {
    locals_->insert_or_assign(s.name.text, std::nullopt);
  }
}

// for k = lo..hi ... endfor: the body, time after time.
void PointEvaluator::define_in_loop(const Statement& s) {
  if (s.range.lo == nullptr) throw Failed{};  // it did not parse
  const std::string_view name = s.range.name.text;
  check_new_index(s.range.name);
  const i64 lo = constant_integer(*s.range.lo, "the lower bound"),
            hi = constant_integer(*s.range.hi, "the upper bound");
  const Nested nested(context_, s.span);
  const int errors = context_.report.errors();
  indices_.push_back(name);
  for (i64 k = lo;; k += lo <= hi ? 1 : -1) {
    locals_->insert_or_assign(name, PointValue{nullptr, {integer(s.range.name.span, k)}});
    for (const Statement* inner : s.body) define(*inner);
    context_.step(s.span);
    if (k == hi || context_.report.errors() != errors) break;  // after an error the other rounds would say the same
  }
  indices_.pop_back();
  locals_->erase(name);
}

bool PointEvaluator::is_index(std::string_view name) const {
  return std::find(indices_.begin(), indices_.end(), name) != indices_.end();
}

void PointEvaluator::check_new_index(const Name& name) {
  if (find_argument(name.text) != nullptr || (locals_ != nullptr && locals_->contains(name.text)))
    context_.report.fail(
        name.span, fmt::format("{} has a meaning already: expected a new name for the index", base::quoted(name.text)));
}

PointValue PointEvaluator::evaluate_name(const Expr& e) {
  const std::string_view name = e.name.text;
  if (locals_ != nullptr) {
    const auto local = locals_->find(name);
    if (local != locals_->end()) {
      if (!local->second) throw Failed{};
      return *local->second;
    }
  }
  if (ArgumentUse* a = find_argument(name)) return plain_access(e, *a);
  if (const auto p = context_.declared.parameters.find(name); p != context_.declared.parameters.end()) {
    if (p->second.kind() != ParameterDeclaration::number)
      context_.report.fail(e.span, p->second.kind() == ParameterDeclaration::border
                                       ? fmt::format("{} is a boundary mode: expected a value", base::quoted(name))
                                       : fmt::format("{} is a type: expected a value", base::quoted(name)));
    const Parameter& parameter = resolve_parameter(context_, p->second);
    if (parameter.state == Parameter::constant)
      return {nullptr, {{ir::constant(graph_, parameter.type, parameter.value), parameter.type}}};
    if (mode_ == constant)
      context_.report.fail(
          e.span, fmt::format("{} is a run-time parameter: expected a value known at compile time", base::quoted(name)),
          {{}, fmt::format("give it a value: parameter {} = 8;", name)});
    return {nullptr, {{ir::parameter(graph_, parameter.index), ElementType::i32}}};
  }
  if (context_.declared.tables.contains(name))
    context_.report.fail(e.span, fmt::format("{} is a table: expected an index after it", base::quoted(name)),
                         {{}, fmt::format("write {}[i]", name)});

  std::vector<std::string> names;
  if (locals_ != nullptr)
    for (const auto& [n, v] : *locals_) names.emplace_back(n);
  if (arguments_ != nullptr)
    for (const ArgumentUse& a : *arguments_) names.emplace_back(a.argument->name.text);
  for (const auto& [n, p] : context_.declared.parameters) names.emplace_back(n);
  for (const auto& [n, t] : context_.declared.tables) names.emplace_back(n);
  Advice advice{{}, base::did_you_mean(name, names)};
  if (context_.find_function(name) != nullptr)
    advice.notes.push_back(fmt::format("{} is a function, not a value", base::quoted(name)));
  context_.unknown(e.span, name, fmt::format("unknown name {}", base::quoted(name)), std::move(advice));
}

Scalar PointEvaluator::number(const Expr& e) {
  return made(e.span, ir::constant(graph_, e.type, e.value), e.type);
}

void PointEvaluator::want_integer(Span at, const Scalar& s, const std::string& what) {
  if (is_float(s.type))
    context_.report.fail(at, fmt::format("{} is {}: expected an integer", what, name_of(s.type)),
                         {{}, "write cast<int>(...)"});
}

Scalar PointEvaluator::unary(const Expr& e) {
  const char op = e.name.text[0];
  const Expr& operand = *e.args[0];
  constexpr double least = -2147483648.0;  // whose digits alone are no int
  if (op == '-' && operand.kind == ExprKind::number && operand.type == ElementType::u32 && operand.value == -least)
    return made(e.span, ir::constant(graph_, ElementType::i32, least), ElementType::i32);
  const Scalar a = scalar(operand);
  if (op == '!') return made(e.span, ir::unary(graph_, Op::bit_not, ir::truth(graph_, a.e)), ElementType::i32);
  const ir::ExprId value = converted(a, a.type);
  if (op == '~') {
    want_integer(e.args[0]->span, a, "the operand of '~'");
    const ir::ExprId r = ir::unary(graph_, Op::bit_not, value);
    return made(e.span, r, graph_.node(r).type);
  }
  const ElementType type = ir::promote(a.type, a.type);
  if (op == '+') return made(e.span, ir::convert(graph_, type, value), type);
  return made(e.span, ir::unary(graph_, Op::neg, value), type);
}

// A chain of operators to the left may be thousands long, so it is walked in a loop.
Scalar PointEvaluator::binary(const Expr& e) {
  std::vector<const Expr*> chain;
  const Expr* left = &e;
  for (; left->kind == ExprKind::binary; left = left->args[0]) chain.push_back(left);
  Scalar value = scalar(*left);
  for (auto i = chain.rbegin(); i != chain.rend(); ++i) {
    context_.step((*i)->span);
    value = combine(**i, value, scalar(*(*i)->args[1]));
  }
  return value;
}

Scalar PointEvaluator::combine(const Expr& e, const Scalar& a, const Scalar& b) {
  struct Row {
    std::string_view text;
    Op op;
    bool swap, bits;
  };
  static constexpr Row rows[] = {
      {"+", Op::add, false, false},   {"-", Op::sub, false, false}, {"*", Op::mul, false, false},
      {"/", Op::div, false, false},   {"%", Op::rem, false, false}, {"<", Op::lt, false, false},
      {">", Op::lt, true, false},     {"<=", Op::le, false, false}, {">=", Op::le, true, false},
      {"==", Op::eq, false, false},   {"!=", Op::ne, false, false}, {"&", Op::bit_and, false, true},
      {"|", Op::bit_or, false, true}, {"<<", Op::shl, false, true}, {">>", Op::shr, false, true}};
  const std::string_view text = e.name.text;
  if (text == "&&" || text == "||") {
    const ir::ExprId x = ir::truth(graph_, a.e), y = ir::truth(graph_, b.e);
    return made(e.span, ir::binary(graph_, text == "&&" ? Op::bit_and : Op::bit_or, x, y), ElementType::i32);
  }
  const Row& row = *std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.text == text; });
  if (row.bits || text == "%") {
    want_integer(e.args[0]->span, a, fmt::format("the left side of '{}'", text));
    want_integer(e.args[1]->span, b, fmt::format("the right side of '{}'", text));
  }
  const ir::ExprId r = ir::binary(graph_, row.op, row.swap ? b.e : a.e, row.swap ? a.e : b.e);
  ElementType type = graph_.node(r).type;
  const bool flags = a.type == ElementType::boolean && b.type == ElementType::boolean && row.bits;
  if (type == ElementType::boolean && !flags) type = ElementType::i32;
  return made(e.span, r, type);
}

PointValue PointEvaluator::select(const Expr& e) {
  const Scalar condition = scalar(*e.args[0]);
  const PointValue a = evaluate(*e.args[1]), b = evaluate(*e.args[2]);
  if (!context_.same_struct(a.record, b.record))
    context_.report.fail(e.args[2]->span,
                         fmt::format("the choices of '?' are {} and {}: expected the same struct or two scalars",
                                     describe(a.record, a.parts[0].type), describe(b.record, b.parts[0].type)));
  PointValue out{a.record, {}};
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    const Scalar &x = a.parts[i], &y = b.parts[i];
    const ElementType type = x.type == y.type ? x.type : ir::promote(x.type, y.type);
    ir::ExprId r = ir::select(graph_, condition.e, x.e, y.e);
    if (graph_.node(r).type != ElementType::boolean) r = ir::convert(graph_, type, r);
    out.parts.push_back(made(e.span, r, type));
  }
  out.record = context_.fitting(a.record, out.parts[0].type);
  return out;
}

PointValue PointEvaluator::record(const Expr& e) {
  const auto found = context_.declared.structs.find(e.name.text);
  if (found == context_.declared.structs.end()) {
    std::vector<std::string> names;
    for (const auto& [name, s] : context_.declared.structs) names.emplace_back(name);
    context_.unknown(e.name.span, e.name.text, fmt::format("unknown struct {}", base::quoted(e.name.text)),
                     {{}, base::did_you_mean(e.name.text, names)});
  }
  const std::size_t wanted = found->second.format.fields.size();
  if (e.arguments.size() != wanted)
    context_.report.fail(
        e.span, fmt::format("struct {} has {} field{}, but {} value{} given", base::quoted(e.name.text), wanted,
                            wanted == 1 ? "" : "s", e.arguments.size(), e.arguments.size() == 1 ? " is" : "s are"));
  std::vector<Scalar> values;
  for (const CallArgument& a : e.arguments) values.push_back(scalar(*a.value));
  const bool wide =
      std::any_of(values.begin(), values.end(), [](const Scalar& v) { return v.type == ElementType::f64; });
  PointValue out{context_.fitting(&found->second, wide ? ElementType::f64 : ElementType::f32), {}};
  for (std::size_t i = 0; i < wanted; ++i) {
    const ElementType t = out.record->format.fields[i].type;
    out.parts.push_back({converted(values[i], t), t});
  }
  return out;
}

PointValue PointEvaluator::field(const Expr& e) {
  const std::optional<i64> number = number_of_field(e);
  if (number && e.args[0]->kind == ExprKind::name && find_argument(e.args[0]->name.text) != nullptr)
    return {nullptr, {made(e.span, ir::extent_value(graph_, extent_of(e)), ElementType::i32)}};
  const PointValue v = values(*e.args[0]);
  if (number && v.record == nullptr && v.parts.size() > 1) {
    if (*number >= 0 && *number < static_cast<i64>(v.parts.size()))
      return {nullptr, {v.parts[static_cast<std::size_t>(*number)]}};
    context_.report.fail(e.name.span,
                         fmt::format("there is no value {}: expected .0 to .{}", e.name.text, v.parts.size() - 1));
  }
  if (v.record == nullptr)
    context_.report.fail(e.name.span, fmt::format("{} has no fields: it is {}, expected a struct image",
                                                  base::quoted(e.args[0]->span.text(), 40), name_of(v.parts[0].type)));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < v.parts.size(); ++i) {
    names.push_back(v.record->format.fields[i].name);
    if (names.back() == e.name.text) return {nullptr, {v.parts[i]}};
  }
  std::string help = base::did_you_mean(e.name.text, names);
  context_.report.fail(e.name.span,
                       fmt::format("struct {} has no field {}: expected {}", base::quoted(v.record->name.text),
                                   base::quoted(e.name.text), quoted_list(names)),
                       {{}, std::move(help)});
}

double PointEvaluator::constant_value(const Expr& e, const Scalar& s, const std::string& what) {
  const auto value = ir::constant_value(graph_, s.e);
  if (!value)
    context_.not_constant(e.span, fmt::format("{} is not known at compile time: expected a constant", what),
                          {{"constants are made of numbers, parameters with a value and loop variables"}, {}});
  return *value;
}

double PointEvaluator::constant_scalar(const Expr& e, const std::string& what) {
  return constant_value(e, scalar(e), what);
}

double PointEvaluator::constant_as(const Expr& e, ElementType type, const std::string& what) {
  return constant_value(e, {converted(scalar(e), type), type}, what);
}

i64 PointEvaluator::constant_integer(const Expr& e, const std::string& what) {
  const Scalar s = scalar(e);
  want_integer(e.span, s, what);
  return static_cast<i64>(constant_value(e, s, what));
}

Scalar PointEvaluator::integer(Span at, i64 value) {
  return made(at, ir::constant(graph_, ElementType::i32, static_cast<double>(value)), ElementType::i32);
}

}  // namespace tessera::lang
