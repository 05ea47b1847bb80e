// Calls inside point expressions: scalar functions (expanded), built-in functions, coord and extent, reductions.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "ir/gather.hpp"
#include "lang/declarations.hpp"
#include "lang/functions.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

using ir::Op;

PointValue PointEvaluator::call(const Expr& e) {
  if (const Function* f = context_.find_function(e.name.text)) {
    if (f->kind == Function::scalar) return call_function(e, *f);
    const std::string_view kind = f->kind == Function::stencil ? "stencil" : "vector function";
    context_.report.fail(e.name.span,
                         fmt::format("{} is a {}: expected a function of values", base::quoted(e.name.text), kind),
                         {{"stencils and vector functions apply to whole images, outside of point expressions"},
                          fmt::format("declare it as: function float {}(...)", e.name.text)});
  }
  if (e.name.text == "coord" || e.name.text == "extent") return {nullptr, {dimension_query(e)}};
  return {nullptr, {call_builtin(e)}};
}

void PointEvaluator::unknown_function(const Expr& e) {
  std::vector<std::string> names = builtin_words();
  names.insert(names.end(), {"coord", "extent", "cast", "saturate"});
  for (const auto& [name, f] : context_.declared.functions)
    if (f->kind == Function::scalar) names.emplace_back(name);
  Advice advice{{}, base::did_you_mean(e.name.text, names)};
  if (find_argument(e.name.text) != nullptr)
    advice = {{fmt::format("{} is an argument", base::quoted(e.name.text))},
              fmt::format("write {0}@[...] for a neighbour, {0}[...] for an absolute index", e.name.text)};
  if (e.name.text == "fft" || e.name.text == "ifft")
    advice = {{fmt::format("{} transforms whole images, outside of stencils", base::quoted(e.name.text))},
              fmt::format("write F = {}(a); and pass F to the stencil", e.name.text)};
  if (e.name.text == "argmax" || e.name.text == "argmin")
    advice = {{fmt::format("{} finds an element of a whole image, outside of stencils", base::quoted(e.name.text))},
              fmt::format("write {}(i = -1..1) ( X@[i] : i ) for that of a window", e.name.text.substr(3))};
  if (e.name.text == "if")
    advice = {{"what is chosen is a value"},
              fmt::format("write {} ? A : B", e.arguments.empty() ? "CONDITION" : e.arguments[0].value->span.text())};
  context_.unknown(e.name.span, e.name.text, fmt::format("unknown function {}", base::quoted(e.name.text)),
                   std::move(advice));
}

// In the declared type.
PointValue PointEvaluator::function_argument(const CallArgument& given, const FunctionArgument& a, const Function& f) {
  ElementType type = ElementType::f32;
  const StructType* record = context_.resolve_type(a.type, type);
  if (record == nullptr) {
    type = context_.basic_type(a.type);
    const Scalar value{converted(scalar(*given.value), type), type};
    check_largest(given, a, f, value);
    return {nullptr, {value}};
  }
  PointValue value = evaluate(*given.value);
  if (!context_.same_struct(value.record, record))
    context_.report.fail(
        given.value->span,
        fmt::format("argument {} of {} is a {}, but {} is {}", base::quoted(a.name.text), base::quoted(f.name.text),
                    describe(record, type), base::quoted(given.value->span.text(), 40),
                    describe(value.record, value.parts[0].type)));
  return value;
}

PointValue PointEvaluator::call_function(const Expr& e, const Function& f) {
  if (e.arguments.size() != f.arguments.size())
    context_.report.fail(e.span,
                         fmt::format("{} takes {} argument{}, {} given", base::quoted(f.name.text), f.arguments.size(),
                                     f.arguments.size() == 1 ? "" : "s", e.arguments.size()),
                         {{fmt::format("it is declared at {}", describe_place(f.name.span, e.span))}, {}});
  Locals locals;
  for (std::size_t i = 0; i < f.arguments.size(); ++i)
    locals.insert_or_assign(f.arguments[i].name.text, function_argument(e.arguments[i], f.arguments[i], f));
  if (!f.complete || f.result == nullptr) throw Failed{};
  const ActiveCall active(context_, f, e.span);
  PointEvaluator body(context_, mode_);
  body.locals_ = &locals;
  body.ranges_ = ranges_;
  body.points_ = points_;
  body.in_function_ = true;
  for (const Statement* s : f.body) body.define(*s);
  ElementType type = ElementType::f32;
  const StructType* record = context_.resolve_type(f.result_type, type);
  if (record == nullptr) {
    type = context_.basic_type(f.result_type);
    return {nullptr, {made(e.span, converted(body.scalar(*f.result), type), type)}};
  }
  PointValue result = body.evaluate(*f.result);
  if (!context_.same_struct(result.record, record))
    context_.report.fail(f.result->span,
                         fmt::format("{} gives a {}, but what it returns is {}", base::quoted(f.name.text),
                                     describe(record, type), describe(result.record, result.parts[0].type)));
  return result;
}

Scalar PointEvaluator::call_builtin(const Expr& e) {
  if (const std::optional<Scalar> known = integer_function(e)) return *known;
  const Builtin* b = find_builtin(e.name.text);
  const std::size_t given = e.arguments.size();
  const Reduction* reduction = find_reduction(e.name.text);
  if (b == nullptr || (given == 1 && reduction != nullptr)) {
    const std::string_view rank = reduction != nullptr && reduction->ranked ? "4; " : "";
    if (reduction != nullptr)
      context_.report.fail(e.span,
                           fmt::format("{} here needs a window: expected {}({}i = lo..hi) ( ... )",
                                       base::quoted(e.name.text), e.name.text, rank),
                           {{}, fmt::format("write {}({}i = -1..1, j = -1..1) ( X@[i,j] )", e.name.text, rank)});
    unknown_function(e);
  }
  const auto wanted = static_cast<std::size_t>(b->arity);
  const bool folds = b->op == Op::min || b->op == Op::max;
  if (given < wanted || (given > wanted && !(folds && wanted == 2)))
    context_.report.fail(e.span, fmt::format("{} takes {} argument{}, {} given", base::quoted(e.name.text), wanted,
                                             wanted == 1 ? "" : "s", given));
  std::vector<Scalar> args;
  for (const CallArgument& a : e.arguments) {
    args.push_back(scalar(*a.value));
    if (b->integer_only) want_integer(a.value->span, args.back(), fmt::format("the argument of '{}'", b->name));
  }
  // min, max and clamp of one narrow type give that type: the value is one of theirs.
  const auto pick = [&](Op op, const Scalar& x, const Scalar& y) {
    const ElementType type = x.type == y.type ? x.type : ir::promote(x.type, y.type);
    const ir::ExprId r = ir::binary(graph_, op, converted(x, x.type), converted(y, y.type));
    return made(e.span, ir::convert(graph_, type, r), type);
  };
  if (b->name == "clamp") return pick(Op::min, pick(Op::max, args[0], args[1]), args[2]);
  if (folds) {
    Scalar value = args[0];
    for (std::size_t i = 1; i < args.size(); ++i) value = pick(b->op, value, args[i]);
    return value;
  }
  ir::ExprId r;
  if (b->arity == 1)
    r = ir::unary(graph_, b->op, converted(args[0], args[0].type));
  else
    r = ir::binary(graph_, b->op, converted(args[0], args[0].type), converted(args[1], args[1].type));
  return made(e.span, r, graph_.node(r).type);
}

// coord(d), extent(d), extent(X, d)
Scalar PointEvaluator::dimension_query(const Expr& e) {
  if (arguments_ == nullptr)
    context_.report.fail(e.span, fmt::format("{} has a meaning only inside a stencil", base::quoted(e.name.text)),
                         {{}, in_function_ ? "pass it to the function as an argument" : ""});
  if (e.name.text == "extent" && e.arguments.size() == 2) {
    const ir::SizeId n = extent_of(e, *e.arguments[0].value, constant_integer(*e.arguments[1].value, "the dimension"));
    return made(e.span, ir::extent_value(graph_, n), ElementType::i32);
  }
  if (e.arguments.size() != 1)
    context_.report.fail(e.span,
                         fmt::format("{} takes 1 argument, {} given", base::quoted(e.name.text), e.arguments.size()));
  const i64 d = constant_integer(*e.arguments[0].value, "the dimension");
  if (d < 0 || d > 3)
    context_.report.fail(e.arguments[0].value->span, fmt::format("there is no dimension {}: expected 0 to 3", d));
  if (d > highest_query_.dimension) highest_query_ = {static_cast<int>(d), e.arguments[0].value->span};
  const auto dimension = static_cast<std::size_t>(d);
  const ir::ExprId r = e.name.text == "coord" ? ir::coord(graph_, dimension) : ir::extent(graph_, dimension);
  return made(e.span, r, ElementType::i32);
}

// i = lo..hi
ir::Var PointEvaluator::variable_between(const Range& r, std::optional<ir::ExprId>& within) {
  ir::Var v;
  v.id = graph_.new_var();
  if (const auto open = open_bounds(r, v)) within = within ? ir::binary(graph_, Op::bit_and, *within, *open) : *open;
  if (v.lo > v.hi)
    context_.report.fail(
        join(r.lo->span, r.hi->span),
        fmt::format("the window {}..{} is empty: expected a lower bound that is not above the upper", v.lo, v.hi));
  return v;
}

PointValue PointEvaluator::reduce(const Expr& e) {
  Window w;
  w.op = find_reduction(e.name.text)->op;
  if (!e.along.empty() && w.op != Op::reduce_min && w.op != Op::reduce_max)
    context_.report.fail(
        e.along[0]->span,
        fmt::format("{} chooses no element that values could go along with", base::quoted(e.name.text)),
        {{"min and max do: of the elements with the least or greatest value the first one"}, {}});
  if (e.rank != nullptr) {
    w.rank = scalar(*e.rank);
    want_integer(e.rank->span, *w.rank, "the rank");
  }
  Locals names;
  if (locals_ != nullptr) names = *locals_;
  std::vector<ir::Var>& vars = w.vars;
  i64 points = 1;
  for (const Range& r : e.ranges) {
    check_new_index(r.name);
    if (std::any_of(&e.ranges.front(), &r, [&](const Range& o) { return o.name.text == r.name.text; }))
      context_.report.fail(r.name.span,
                           fmt::format("{} is the name of two indices: expected a new one", base::quoted(r.name.text)));
    const ir::Var v = vars.emplace_back(r.over != nullptr ? variable_over(r) : variable_between(r, w.within));
    const bool open = v.end != ir::SizeId{};
    if (open && (is_ranked(w.op) || !e.along.empty()))
      context_.report.fail(r.over->span,
                           fmt::format("a {} runs over extents known at compile time: expected a constant extent",
                                       e.along.empty() ? e.name.text : "choice"),
                           {{"sums, products and extremes run over extents known at run time as well"},
                            "give the parameter a value, as in parameter K = 9;"});
    if (!open) points *= std::min(v.hi - v.lo + 1, ir::max_window + 1);
    if (points > ir::max_window)
      context_.report.fail(e.span,
                           fmt::format("the window has more than {} points", base::format_count(ir::max_window)));
    names.insert_or_assign(r.name.text, PointValue{nullptr, {{ir::var(graph_, v.id), ElementType::i32}}});
  }
  Locals* const outer = std::exchange(locals_, &names);
  const std::size_t depth = ranges_.size(), known = indices_.size();
  ranges_.insert(ranges_.end(), vars.begin(), vars.end());
  for (const Range& r : e.ranges) indices_.push_back(r.name.text);
  const auto leave = [&] {
    locals_ = outer;
    ranges_.resize(depth);
    indices_.resize(known);
  };
  try {
    PointValue result = mode_ == constant ? reduce_now(e, w) : window(e, w);
    leave();
    for (const Scalar& part : result.parts) context_.check_growth(e.span, part.e);
    return result;
  } catch (...) {
    leave();
    throw;
  }
}

}  // namespace tessera::lang
