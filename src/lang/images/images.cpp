// Statements and the names of images.
#include "lang/images/images.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tessera::lang {

void ImageEvaluator::run(const Statement& s) {
  context_.step(s.span);
  if (s.kind == Statement::loop) return run_loop(s);
  if (s.kind == Statement::test_loop) return run_test_loop(s);
  std::string name(s.name.text);
  try {
    name = key(s.name, s.version);
    if (loop_ != nullptr) check_assignment(s, name);
    if (!s.version.empty() && scope_.images.contains(name))
      context_.report.fail(s.name.span,
                           fmt::format("{} already has a value: expected a new version", base::quoted(name)));
    assign(s);
  } catch (const Failed&) {
    scope_.collected.erase(name);
    scope_.images.insert_or_assign(name, std::nullopt);
    if (!s.version.empty()) context_.tolerant = true;
  }
}

// NAME = e; and its placed forms. Stages that the statement made take the name of the variable.
void ImageEvaluator::assign(const Statement& s) {
  if (context_.declared.parameters.contains(s.name.text))
    context_.report.fail(s.name.span,
                         fmt::format("{} is a parameter: expected a name for an image", base::quoted(s.name.text)));
  if (scope_.scalars.contains(s.name.text))
    context_.report.fail(s.name.span,
                         fmt::format("{} is a scalar: expected a name for an image", base::quoted(s.name.text)));
  const std::string name = key(s.name, s.version);
  const std::size_t before = graph_.stage_count();
  if (s.kind != Statement::assign) return place(s, name);
  Image image = values(*s.value);
  scope_.collected.erase(name);
  scope_.unread.insert_or_assign(name, s.span);
  for (std::size_t k = 0; k < image.stages.size(); ++k) {
    if (image.stages[k] < before) continue;
    graph_.stage(image.stages[k]).name = image.record == nullptr
                                             ? (image.position ? fmt::format("{}.{}", name, k) : name)
                                             : name + "." + image.record->format.fields[k].name;
  }
  scope_.images.insert_or_assign(name, std::move(image));
}

void ImageEvaluator::run_loop(const Statement& s) {
  if (s.range.lo == nullptr) {
    context_.tolerant = true;
    return;
  }
  try {
    const std::string_view name = s.range.name.text;
    if (scope_.scalars.contains(name) || context_.declared.parameters.contains(name))
      context_.report.fail(s.range.name.span,
                           fmt::format("{} has a meaning already: expected a new loop variable", base::quoted(name)));
    const i64 lo = extents_.constant(*s.range.lo, "the lower bound"),
              hi = extents_.constant(*s.range.hi, "the upper bound");
    const i64 count = std::abs(hi - lo) + 1;
    if (count > context_.limits.stages) {
      context_.report.error(join(s.range.lo->span, s.range.hi->span),
                            fmt::format("the loop takes {} steps: expected at most {}, since loops are unrolled",
                                        base::format_count(count), base::format_count(context_.limits.stages)));
      throw Failed{};
    }
    const Nested nested(context_, s.span);
    const int errors = context_.report.errors();
    for (i64 i = lo;; i += lo <= hi ? 1 : -1) {
      PointEvaluator evaluator(context_);
      scope_.scalars.insert_or_assign(name, PointValue{nullptr, {evaluator.integer(s.range.name.span, i)}});
      for (const Statement* inner : s.body) run(*inner);
      context_.step(s.span);
      if (i == hi) break;
      if (context_.report.errors() != errors) {  // the other rounds would say the same
        context_.tolerant = true;
        break;
      }
    }
    scope_.scalars.erase(name);
  } catch (const Failed&) {
    context_.tolerant = true;
  }
}

std::string ImageEvaluator::key(const Name& name, const std::vector<const Expr*>& version) {
  if (version.empty()) return std::string(name.text);
  if (loop_ != nullptr)
    if (const std::optional<i64> before = versions_before(version)) return loop_->spelled(name.text, *before);
  std::string numbers;
  for (const Expr* e : version)
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", extents_.constant(*e, "the version"));
  return fmt::format("{}<{}>", name.text, numbers);
}

std::string ImageEvaluator::describe_image(const Image& image) const {
  const ir::Stage& s = graph_.stage(image.stages[0]);
  return fmt::format("a vector#{} {}", s.domain.size(), describe(image.record, s.type));
}

Image ImageEvaluator::evaluate(const Expr& e, const Wanted* wanted) {
  Image image = any_image(e, wanted);
  if (image.scalar)
    context_.report.fail(e.span, fmt::format("expected an image, found the scalar {}", base::quoted(e.span.text(), 40)),
                         {{"what images come to is a number: an argument of stencils, or a result"}, {}});
  return image;
}

Image ImageEvaluator::any_image(const Expr& e, const Wanted* wanted) {
  Image image = values(e, wanted);
  if (!image.position) return image;
  context_.report.fail(e.span, "this is a position, an index for each dimension: expected one of them",
                       {{}, fmt::format("write {}.0", std::string(e.span.text().substr(0, 40)))});
}

Image ImageEvaluator::values(const Expr& e, const Wanted* wanted) {
  context_.step(e.span);
  const Nested nested(context_, e.span);
  switch (e.kind) {
    case ExprKind::name:
      return named(e, std::string(e.name.text));
    case ExprKind::version:
      if (loop_ != nullptr)
        if (const std::optional<i64> before = versions_before(e.args)) return carried_image(e, *before);
      return named(e, key(e.name, e.args));
    case ExprKind::call:
      return call(e, wanted);
    case ExprKind::record:
      return record(e);
    case ExprKind::field:
      return field(e);
    case ExprKind::subscript:
      return sub_domain(e);
    case ExprKind::access:
      return sample(e);
    case ExprKind::compose:
      return compose(e, wanted);
    case ExprKind::keyed:
      return keyed(e, wanted);
    case ExprKind::number:
      context_.report.fail(e.span,
                           fmt::format("expected an image, found the number {}", base::quoted(e.span.text(), 40)));
    case ExprKind::unary:
    case ExprKind::binary:
    case ExprKind::cast:
    case ExprKind::saturate:
    case ExprKind::select:
      break;
    case ExprKind::stack:
      return stack(e);
    case ExprKind::reduce:
      if (is_scalar(e) && !holds_total(e)) break;
      return over_images(e);
  }
  if (is_scalar(e)) return scalar_image(e);
  context_.report.fail(e.span, "expected an image: arithmetic belongs into a stencil",
                       {{"whole images are called, sampled, cut and composed, not added"},
                        "write stencil add(vector#2 float A, vector#2 float B) { return A + B; }"});
}

Image ImageEvaluator::named(const Expr& e, const std::string& key) {
  scope_.unread.erase(key);
  if (const auto c = scope_.collected.find(key); c != scope_.collected.end()) {
    put_together(key);
    c->second.read = true;
  }
  const auto found = scope_.images.find(key);
  if (found != scope_.images.end()) {
    if (!found->second) throw Failed{};
    return *found->second;
  }
  if (e.kind == ExprKind::name) {
    const bool scalar = scope_.scalars.contains(e.name.text) || context_.declared.parameters.contains(e.name.text);
    if (scalar || context_.declared.tables.contains(e.name.text))
      context_.report.fail(
          e.span, fmt::format("{} is a {}: expected an image", base::quoted(key), scalar ? "scalar" : "table"));
  }
  std::vector<std::string> names, versions;
  for (const auto& [name, image] : scope_.images) {
    names.push_back(name);
    if (name.starts_with(std::string(e.name.text) + "<") && versions.size() < 8) versions.push_back(name);
  }
  Advice advice{{}, base::did_you_mean(key, names)};
  if (!versions.empty()) advice.notes.push_back("the versions so far are " + base::list_of(versions, "and"));
  if (context_.find_function(e.name.text) != nullptr)
    advice = {{fmt::format("{} is a function", base::quoted(e.name.text))},
              fmt::format("write {}(...) to apply it", e.name.text)};
  else if (scope_.function != nullptr && advice.help.empty())
    advice.notes.push_back(fmt::format("inside {} only its arguments and its own images are known",
                                       base::quoted(scope_.function->name.text)));
  context_.unknown(e.span, e.name.text, fmt::format("unknown image {}", base::quoted(key)), std::move(advice));
}

// struct NAME(a, b, c): planes of one extent; where extents differ, the part that all have.
Image ImageEvaluator::record(const Expr& e) {
  const auto found = context_.declared.structs.find(e.name.text);
  if (found == context_.declared.structs.end()) {
    std::vector<std::string> names;
    for (const auto& [name, s] : context_.declared.structs) names.emplace_back(name);
    context_.unknown(e.name.span, e.name.text, fmt::format("unknown struct {}", base::quoted(e.name.text)),
                     {{}, base::did_you_mean(e.name.text, names)});
  }
  const StructType* type = &found->second;
  const std::size_t wanted = type->format.fields.size();
  if (e.arguments.size() != wanted)
    context_.report.fail(
        e.span, fmt::format("struct {} has {} field{}, but {} image{} given", base::quoted(e.name.text), wanted,
                            wanted == 1 ? "" : "s", e.arguments.size(), e.arguments.size() == 1 ? " is" : "s are"));
  std::vector<Image> planes;
  for (std::size_t k = 0; k < wanted; ++k) {
    const CallArgument& a = e.arguments[k];
    if (a.modes) context_.report.fail(a.modes->span, "a boundary mode has no meaning here: nothing reads neighbours");
    planes.push_back(evaluate(*a.value));
    const Image& plane = planes.back();
    if (k == 0) type = context_.fitting(type, graph_.stage(plane.stages[0]).type);
    const ElementType t = type->format.fields[k].type;
    if (plane.record != nullptr || graph_.stage(plane.stages[0]).type != t)
      context_.report.fail(a.value->span, fmt::format("field {} of struct {} is {}, but the image is {}",
                                                      base::quoted(type->format.fields[k].name),
                                                      base::quoted(e.name.text), name_of(t), describe_image(plane)));
    if (domain(plane).size() != domain(planes[0]).size())
      context_.report.fail(a.value->span,
                           fmt::format("the planes of a struct image have one rank: expected {}, found {}",
                                       domain(planes[0]).size(), domain(plane).size()));
  }
  Domain common = domain(planes[0]);
  for (const Image& p : planes)
    for (std::size_t d = 0; d < common.size(); ++d) common[d] = extents_.least(e.span, common[d], domain(p)[d]);
  Image out{type, {}, {}};
  for (std::size_t k = 0; k < wanted; ++k) {
    const std::vector<ir::Index> here(common.size());
    const Image plane = rearranged(planes[k], common, here, std::vector<Border>(common.size()),
                                   std::string(e.name.text) + "." + type->format.fields[k].name, e.span);
    out.stages.push_back(plane.stages[0]);
  }
  return out;
}

Image ImageEvaluator::field(const Expr& e) {
  if (is_position(*e.args[0])) return index_of_position(e);
  const Image image = evaluate(*e.args[0]);
  if (image.record == nullptr)
    context_.report.fail(e.name.span, fmt::format("{} is {}: expected a struct image before '.'",
                                                  base::quoted(e.args[0]->span.text(), 40), describe_image(image)));
  std::vector<std::string> names;
  for (std::size_t k = 0; k < image.stages.size(); ++k) {
    names.push_back(image.record->format.fields[k].name);
    if (names.back() == e.name.text) return {nullptr, {image.stages[k]}, image.borders};
  }
  std::string help = base::did_you_mean(e.name.text, names);
  context_.report.fail(e.name.span,
                       fmt::format("struct {} has no field {}: expected {}", base::quoted(image.record->name.text),
                                   base::quoted(e.name.text), quoted_list(names)),
                       {{}, std::move(help)});
}

}  // namespace tessera::lang
