// Calls on whole images: binding arguments, boundary modes, domain inference, and the stages that come of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lang/functions.hpp"
#include "lang/images/borders.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

using ir::SizeId;

Image ImageEvaluator::call(const Expr& e, const Wanted* wanted) {
  const Function* f = context_.find_function(e.name.text);
  if (is_position(e)) return position_of_extreme(e);
  if (is_total(e)) return total(e);
  if (is_spectrum(e)) return spectrum(e);
  if (is_scalar(e)) return scalar_image(e);
  if (f == nullptr) {
    if (find_reduction(e.name.text) != nullptr || e.name.text == "mean")
      context_.report.fail(
          e.name.span,
          fmt::format("{} has no meaning for {}: expected a stencil or vector function", base::quoted(e.name.text),
                      e.arguments.size() == 1 ? "a whole image" : "whole images"),
          {{"a whole image is reduced by min, max, sum and mean, which take one image",
            "other reductions run over windows, inside stencils: prod(i = -1..1, j = -1..1) ( X@[i,j] )"},
           {}});
    std::vector<std::string> names;
    for (const auto& [name, other] : context_.declared.functions)
      if (other->kind != Function::scalar) names.emplace_back(name);
    Advice advice{{}, base::did_you_mean(e.name.text, names)};
    if (find_builtin(e.name.text) != nullptr)
      advice = {{fmt::format("{} is a function of values, for use inside stencils", base::quoted(e.name.text))},
                fmt::format("write stencil apply(vector#2 float X) {{ return {}(X); }}", e.name.text)};
    context_.unknown(e.name.span, e.name.text, fmt::format("unknown stencil {}", base::quoted(e.name.text)),
                     std::move(advice));
  }
  if (f->kind == Function::scalar)
    context_.report.fail(
        e.name.span,
        fmt::format("{} is a function of values: expected a stencil or vector function", base::quoted(e.name.text)),
        {{}, fmt::format("call {} inside a stencil", e.name.text)});
  if (e.arguments.size() != f->arguments.size())
    context_.report.fail(e.span,
                         fmt::format("{} takes {} argument{}, {} given", base::quoted(f->name.text),
                                     f->arguments.size(), f->arguments.size() == 1 ? "" : "s", e.arguments.size()),
                         {{fmt::format("it is declared at {}", describe_place(f->name.span, e.span))}, {}});
  if (f->kind == Function::vector) return call_vector_function(e, *f);

  std::vector<ArgumentUse> uses;
  Locals names;
  for (std::size_t i = 0; i < e.arguments.size(); ++i) {
    const FunctionArgument& a = f->arguments[i];
    const CallArgument& given = e.arguments[i];
    if (a.type.rank == 0) {
      names.insert_or_assign(a.name.text, scalar_argument(given, a, *f));
      continue;
    }
    ArgumentUse use;
    use.argument = &a;
    use.image = image_argument(given, a, *f);
    use.borders = borders(given, a);
    if (use.borders.empty()) use.borders = use.image.borders;
    const auto declared = static_cast<std::size_t>(a.type.rank);
    use.borders.insert(use.borders.begin(), declared - use.borders.size(), Border{});
    uses.push_back(std::move(use));
  }
  return apply_stencil(*f, std::move(uses), std::move(names), e.span, wanted);
}

PointValue ImageEvaluator::scalar_argument(const CallArgument& given, const FunctionArgument& a, const Function& f) {
  if (given.modes) context_.report.fail(given.modes->span, "a scalar argument has no boundary mode");
  const Function* called =
      given.value->kind == ExprKind::call ? context_.find_function(given.value->name.text) : nullptr;
  const bool may_be_scalar = called != nullptr && called->kind == Function::vector;
  if (is_image(*given.value) && !may_be_scalar)
    context_.report.fail(given.value->span,
                         fmt::format("argument {} of {} is a scalar {}: expected a number, parameter "
                                     "or scalar input, found the image {}",
                                     base::quoted(a.name.text), base::quoted(f.name.text), a.type.text,
                                     base::quoted(given.value->span.text(), 40)),
                         {{},
                          fmt::format("max({}) is a scalar, as min, sum and mean are",
                                      std::string(given.value->span.text().substr(0, 40)))});
  PointEvaluator evaluator(context_);
  prepare(evaluator);
  const ElementType type = context_.basic_type(a.type);
  const Scalar value{evaluator.converted(evaluator.scalar(*given.value), type), type};
  evaluator.check_largest(given, a, f, value);
  return {nullptr, {value}};
}

Image ImageEvaluator::image_argument(const CallArgument& given, const FunctionArgument& a, const Function& f) {
  if (is_scalar(*given.value))
    context_.report.fail(given.value->span,
                         fmt::format("argument {} of {} is an image: expected a vector#{} {}, found "
                                     "the scalar {}",
                                     base::quoted(a.name.text), base::quoted(f.name.text), a.type.rank, a.type.text,
                                     base::quoted(given.value->span.text(), 40)));
  Image image = evaluate(*given.value);
  ElementType type = ElementType::f32;
  const StructType* record = context_.resolve_type(a.type, type);
  if (a.type.text == "int8" && image.record == nullptr) image = as_bytes(image, given.value->span);
  const ir::Stage& first = graph_.stage(image.stages[0]);
  if (!context_.same_struct(image.record, record) || (record == nullptr && first.type != type)) {
    Advice advice;
    if (record == nullptr && image.record == nullptr)
      advice.help = fmt::format("convert it first: stencil convert(vector#{0} {1} X) {{ return cast<{2}>(X); }}",
                                first.domain.size(), name_of(first.type), name_of(type));
    else if (record == nullptr)
      advice.help = fmt::format("choose a field: {}.{}", std::string(given.value->span.text().substr(0, 40)),
                                image.record->format.fields[0].name);
    context_.report.fail(given.value->span,
                         fmt::format("argument {} of {} is a vector#{} {}, but {} is {}", base::quoted(a.name.text),
                                     base::quoted(f.name.text), a.type.rank, describe(record, type),
                                     base::quoted(given.value->span.text(), 40), describe_image(image)),
                         std::move(advice));
  }
  if (first.domain.size() > static_cast<std::size_t>(a.type.rank))
    context_.report.fail(given.value->span,
                         fmt::format("argument {} of {} is a vector#{}, but {} has rank {}", base::quoted(a.name.text),
                                     base::quoted(f.name.text), a.type.rank, base::quoted(given.value->span.text(), 40),
                                     first.domain.size()));
  return image;
}

// The published compiler takes images of any integers for `int8`.
Image ImageEvaluator::as_bytes(const Image& image, Span at) {
  const ElementType type = graph_.stage(image.stages[0]).type;
  if (type == ElementType::u8 || is_float(type)) return image;
  context_.report.warning(
      at,
      fmt::format("{} of {} become int8: of each the lowest 8 bits stay", base::quoted(at.text(), 40), name_of(type)),
      {{}, "convert them where that is meant: cast<uint8>(X) or saturate<uint8>(X)"});
  const Domain where = domain(image);
  const std::vector<i64> margin(where.size(), 0);
  const ir::ExprId bytes = ir::convert(graph_, ElementType::u8, own_point(image.stages[0]));
  return {nullptr, {add_point("bytes", ElementType::u8, where, bytes, margin, margin, at)}, image.borders};
}

// One border per declared dimension, or none at all where no mode was given.
std::vector<Border> ImageEvaluator::borders(const CallArgument& given, const FunctionArgument& a) {
  if (!given.modes) return {};
  const auto rank = static_cast<std::size_t>(a.type.rank);
  const Modes& modes = *given.modes;
  if (modes.per_dimension && modes.items.size() != rank)
    context_.report.fail(modes.span,
                         fmt::format("{} mode{} for argument {} of rank {}: expected {}", modes.items.size(),
                                     modes.items.size() == 1 ? "" : "s", base::quoted(a.name.text), rank, rank));
  std::vector<Border> all = evaluate_modes(context_, modes, [this](PointEvaluator& e) { prepare(e); });
  const bool fits = modes.per_dimension || all.size() == 1 || all.size() == rank;
  if (!fits && context_.lenient) throw Failed{};  // nobody may call this function with such a border
  if (!fits)
    context_.report.fail(modes.span, fmt::format("{} holds {} modes for argument {} of rank {}: expected {}",
                                                 base::quoted(modes.span.text(), 40), all.size(),
                                                 base::quoted(a.name.text), rank, rank));
  if (all.size() == 1) all.resize(rank, all[0]);
  return all;
}

Image ImageEvaluator::call_vector_function(const Expr& e, const Function& f) {
  Scope inner;
  inner.function = &f;
  for (std::size_t i = 0; i < e.arguments.size(); ++i) {
    const FunctionArgument& a = f.arguments[i];
    const CallArgument& given = e.arguments[i];
    if (a.type.rank == 0) {
      inner.scalars.insert_or_assign(a.name.text, scalar_argument(given, a, f));
      continue;
    }
    Image image = image_argument(given, a, f);
    if (domain(image).size() < static_cast<std::size_t>(a.type.rank))
      context_.report.fail(given.value->span,
                           fmt::format("argument {} of {} is a vector#{}, but {} has rank {}",
                                       base::quoted(a.name.text), base::quoted(f.name.text), a.type.rank,
                                       base::quoted(given.value->span.text(), 40), domain(image).size()));
    if (given.modes) image.borders = borders(given, a);
    inner.images.insert_or_assign(std::string(a.name.text), std::move(image));
  }
  if (!f.complete || f.result == nullptr) throw Failed{};
  const ActiveCall active(context_, f, e.span);
  ImageEvaluator body(context_, inner, known_);
  for (const Statement* s : f.body) body.run(*s);
  return body.any_image(*f.result);
}

// Evaluates the body once; what it reads gives the domain and the margins.
Image ImageEvaluator::apply_stencil(const Function& f, std::vector<ArgumentUse> uses, Locals names, Span at,
                                    const Wanted* wanted) {
  if (!f.complete && !context_.lenient) throw Failed{};
  const ActiveCall active(context_, f, at);
  for (ArgumentUse& u : uses) {
    u.dimensions.resize(static_cast<std::size_t>(u.rank()));
    for (ir::StageId s : u.image.stages) u.types.push_back(graph_.stage(s).type);
  }
  PointEvaluator evaluator(context_);
  evaluator.set_stencil(&uses);
  evaluator.set_locals(&names);
  if (!f.points.empty()) evaluator.set_points(f.points);
  for (const Statement* s : f.body) evaluator.define(*s);
  if (!f.complete || f.result == nullptr) throw Failed{};  // what did parse has been looked at
  PointValue result = evaluator.evaluate(*f.result);

  const Domain where =
      f.points.empty() ? result_domain(f, uses, at, wanted) : named_domain(f, evaluator.named_reads(), at, wanted);
  if (const auto& query = evaluator.highest_query(); query.dimension >= static_cast<int>(where.size()))
    context_.report.fail(query.place,
                         fmt::format("there is no dimension {}: expected 0 to {}", query.dimension, where.size() - 1));
  const auto [lo, hi] = f.points.empty()
                            ? margins(f, uses, where.size(), at)
                            : std::pair(evaluator.named_reads().margin_lo, evaluator.named_reads().margin_hi);
  Image out{result.record, {}, {}};
  for (std::size_t k = 0; k < result.parts.size(); ++k) {
    const Scalar& part = result.parts[k];
    std::string name(f.name.text);
    if (result.record != nullptr) name += "." + result.record->format.fields[k].name;
    const ir::ExprId body = evaluator.made(at, evaluator.converted(part, part.type), part.type).e;
    out.stages.push_back(add_point(std::move(name), part.type, where, body, lo, hi, at));
  }
  return out;
}

// Of each dimension the widest ones of the arguments without a mode.
std::pair<std::vector<i64>, std::vector<i64>> ImageEvaluator::margins(const Function& f,
                                                                      const std::vector<ArgumentUse>& uses,
                                                                      std::size_t rank, Span at) {
  std::vector<i64> lo(rank, 0), hi(rank, 0);
  for (const ArgumentUse& u : uses) {
    if (!u.has_domain()) continue;
    const std::size_t skipped = rank - static_cast<std::size_t>(u.rank());
    const std::size_t missing = static_cast<std::size_t>(u.rank()) - domain(u.image).size();
    for (std::size_t d = missing; d < u.dimensions.size(); ++d) {
      lo[d + skipped] = std::max(lo[d + skipped], u.dimensions[d].lo);
      hi[d + skipped] = std::max(hi[d + skipped], u.dimensions[d].hi);
    }
  }
  if (!context_.lenient) warn_of_margins(f, uses, hi, at);
  return {std::move(lo), std::move(hi)};
}

// With a stride the interior of mode none, as it was published, may lack a last point whose reads are all inside.
void ImageEvaluator::warn_of_margins(const Function& f, const std::vector<ArgumentUse>& uses,
                                     const std::vector<i64>& hi, Span at) {
  std::vector<i64> needed(hi.size(), 0);
  for (const ArgumentUse& u : uses)
    for (std::size_t d = 0; u.has_domain() && d < u.dimensions.size(); ++d) {
      i64& most = needed[hi.size() - u.dimensions.size() + d];
      most = std::max(most, u.dimensions[d].inside);
    }
  for (std::size_t d = 0; d < hi.size(); ++d) {
    if (hi[d] <= needed[d]) continue;
    const ArgumentUse* strided = nullptr;
    for (const ArgumentUse& u : uses)
      if (const std::size_t skipped = hi.size() - u.dimensions.size(); u.has_domain() && d >= skipped)
        if (u.dimensions[d - skipped].hi > needed[d]) strided = &u;
    if (strided == nullptr) continue;
    const std::string name(strided->argument->name.text);
    context_.report.warning(
        at,
        fmt::format("the last point of {} in dimension {} is left 0, though all that it reads lies inside",
                    base::quoted(f.name.text), d),
        {{fmt::format(
             "argument {} has a stride and no boundary mode, and the interior ends at n-1-ceil(a/b) for a read "
             "at a + b*i",
             base::quoted(name))},
         fmt::format("give argument {} a mode, as image:clamped; reads that lie inside stay as they are",
                     base::quoted(name))});
  }
}

std::optional<SizeId> ImageEvaluator::wanted_extent(const Wanted* wanted, std::size_t rank, std::size_t d) {
  if (wanted == nullptr || wanted->size() < rank) return std::nullopt;
  return (*wanted)[wanted->size() - rank + d];
}

// Per dimension the smallest floor(n / stride) over the image arguments; those that are only gathered have no part.
ImageEvaluator::Domain ImageEvaluator::result_domain(const Function& f, const std::vector<ArgumentUse>& uses, Span at,
                                                     const Wanted* wanted) {
  std::size_t rank = 0, widest = 0;
  for (const ArgumentUse& u : uses) {
    if (!u.has_domain()) continue;
    rank = std::max(rank, static_cast<std::size_t>(u.rank()));
    widest = std::max(widest, domain(u.image).size());
  }
  if (rank == 0) {
    Domain all;
    for (std::size_t d = 0; wanted != nullptr && d < wanted->size(); ++d)
      if ((*wanted)[d]) all.push_back(*(*wanted)[d]);
    if (wanted != nullptr && all.size() == wanted->size()) return all;
    context_.report.fail(
        at,
        fmt::format("the extent of {} is not known: expected an image argument that it reads by "
                    "offsets",
                    base::quoted(f.name.text)),
        {{}, fmt::format("give the extent where it is stored: out[0..M-1, 0..N-1] = {}();", f.name.text)});
  }
  if (widest < rank)
    context_.report.fail(at,
                         fmt::format("the images given to {} have rank {}: expected rank {} for one of them",
                                     base::quoted(f.name.text), widest, rank),
                         {{"an image of lower rank is repeated along the leading dimensions of another argument"}, {}});
  std::vector<std::optional<SizeId>> found(rank);
  for (const ArgumentUse& u : uses) {
    if (!u.has_domain()) continue;
    const Domain& own = domain(u.image);
    for (std::size_t d = 0; d < own.size(); ++d) {
      const std::size_t declared = u.dimensions.size() - own.size() + d;
      const SizeId n = extents_.divide(at, own[d], u.dimensions[declared].stride.value_or(1));
      std::optional<SizeId>& slot = found[rank - own.size() + d];
      slot = slot ? extents_.least(at, *slot, n) : n;
    }
  }
  Domain out;
  for (const auto& n : found) out.push_back(*n);
  // A place says how large the result is, in dimensions in which every read outside of an image has a value.
  for (std::size_t d = 0; d < rank; ++d) {
    const std::optional<SizeId> place = wanted_extent(wanted, rank, d);
    const bool anywhere = std::all_of(uses.begin(), uses.end(), [&](const ArgumentUse& u) {
      const std::size_t skipped = rank - std::min(rank, u.dimensions.size());
      return !u.has_domain() || d < skipped || u.borders[d - skipped].mode != BorderMode::none;
    });
    if (place && anywhere) out[d] = *place;
  }
  extents_.check_count(at, out);
  return out;
}

// ---- stages --------------------------------------------------------------------------------------------------------

ir::StageId ImageEvaluator::add(ir::Stage s, Span at) {
  if (static_cast<i64>(graph_.stage_count()) >= context_.limits.stages) {
    context_.report.error(
        at, fmt::format("the program unrolls to more than {} stages", base::format_count(context_.limits.stages)),
        {{"loops and vector functions are expanded at compile time"}, {}});
    throw Stop{};
  }
  constexpr std::size_t longest_line = 200;  // kept with a stage: there may be many of them
  s.span = locate(at);
  if (s.span.text.size() > longest_line) s.span.text.clear();
  return graph_.add(std::move(s));
}

// A plain copy of another stage is that stage, and a stage that was made before is not made again.
ir::StageId ImageEvaluator::add_point(std::string name, ElementType type, const Domain& where, ir::ExprId body,
                                      std::vector<i64> lo, std::vector<i64> hi, Span at) {
  const ir::ExprNode& n = graph_.node(body);
  const auto all_zero = [](const std::vector<i64>& v) {
    return std::all_of(v.begin(), v.end(), [](i64 m) { return m == 0; });
  };
  if (n.op == ir::Op::access && graph_.stage(n.stage).domain == where && all_zero(lo) && all_zero(hi) &&
      std::all_of(n.index.begin(), n.index.end(), [](const ir::Index& i) { return i == ir::Index{}; }))
    return n.stage;
  StageKey key{body, type, where, lo, hi};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  ir::Stage s;
  s.kind = ir::StageKind::point;
  s.name = std::move(name);
  s.type = type;
  s.domain = where;
  s.body = body;
  s.margin_lo = std::move(lo);
  s.margin_hi = std::move(hi);
  const ir::StageId id = add(std::move(s), at);
  known_.emplace(std::move(key), id);
  return id;
}

// Stands in for calls that the program does not make: images with extents of their own, scalars without a value.
void ImageEvaluator::check_alone(Context& context, const Function& f, KnownStages& known) {
  Scope scope;
  scope.function = &f;
  std::vector<ArgumentUse> uses;
  for (const FunctionArgument& a : f.arguments) {
    ElementType type = ElementType::f32;
    const StructType* record = context.resolve_type(a.type, type);
    if (a.type.rank == 0 && record != nullptr && f.kind != Function::scalar) context.basic_type(a.type);
    ir::Argument argument;
    argument.name = a.name.text;
    argument.is_array = a.type.rank != 0;
    argument.format = record != nullptr ? record->format : Format(type);
    for (int d = 0; d < a.type.rank; ++d) {
      context.graph.parameters.push_back("extent");
      argument.extents.push_back(
          context.graph.size_parameter(static_cast<std::uint32_t>(context.graph.parameters.size() - 1)));
    }
    context.graph.arguments.push_back(argument);
    const std::size_t index = context.graph.arguments.size() - 1;
    if (a.type.rank == 0 && record != nullptr) {
      PointValue value{record, {}};
      for (const Format::Field& field : record->format.fields) {
        argument.name = field.name;
        argument.format = Format(field.type);
        context.graph.arguments.push_back(argument);
        value.parts.push_back({ir::scalar(context.graph, context.graph.arguments.size() - 1), field.type});
      }
      scope.scalars.insert_or_assign(a.name.text, std::move(value));
      continue;
    }
    if (a.type.rank == 0) {
      PointEvaluator evaluator(context, PointEvaluator::constant);
      Scalar value{ir::scalar(context.graph, index), type};
      if (a.largest != nullptr) value = evaluator.confined(value, evaluator.largest(a.name, a.type, *a.largest));
      scope.scalars.insert_or_assign(a.name.text, PointValue{nullptr, {value}});
      continue;
    }
    Image image{record, {}, {}};
    for (std::size_t k = 0; k < (record != nullptr ? record->format.fields.size() : 1); ++k) {
      ir::Stage s;
      s.kind = ir::StageKind::input;
      s.name = a.name.text;
      s.type = record != nullptr ? record->format.fields[k].type : type;
      s.domain = argument.extents;
      s.argument = static_cast<std::uint32_t>(index);
      s.field = static_cast<std::uint32_t>(k);
      image.stages.push_back(context.graph.add(std::move(s)));
    }
    ArgumentUse use;
    use.argument = &a;
    use.image = image;
    use.borders.resize(static_cast<std::size_t>(a.type.rank));
    uses.push_back(std::move(use));
    scope.images.insert_or_assign(std::string(a.name.text), std::move(image));
  }
  ImageEvaluator evaluator(context, scope, known);
  if (f.kind == Function::stencil) {
    // Without an image argument the rank is that of the place to be filled; any will do here.
    const Wanted anywhere(4, context.graph.size(1));
    evaluator.apply_stencil(f, std::move(uses), scope.scalars, f.name.span, &anywhere);
  } else if (f.kind == Function::vector) {
    const ActiveCall active(context, f, f.name.span);
    for (const Statement* s : f.body) evaluator.run(*s);
    if (f.complete && f.result != nullptr) evaluator.any_image(*f.result);
  } else {
    const ActiveCall active(context, f, f.name.span);
    PointEvaluator body(context);
    body.set_locals(&scope.scalars);
    for (const Statement* s : f.body) body.define(*s);
    if (f.complete && f.result != nullptr) body.evaluate(*f.result);
  }
}

}  // namespace tessera::lang
