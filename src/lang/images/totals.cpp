// Scalars that are made of images: max(img) and its like, and arithmetic with what they give.
//
// Each is an image of one element with the mark `scalar`: it stands wherever a number may that is not needed before the
// program runs, and a program may return it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "ir/reductions.hpp"
#include "lang/functions.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

namespace {

struct Total {
  std::string_view name;
  ir::Op op;
};

constexpr std::array<Total, 4> totals = {
    {{"min", ir::Op::whole_min}, {"max", ir::Op::whole_max}, {"sum", ir::Op::whole_sum}, {"mean", ir::Op::whole_mean}}};

const Total* find_total(std::string_view name) {
  const auto found = std::find_if(totals.begin(), totals.end(), [&](const Total& t) { return t.name == name; });
  return found == totals.end() ? nullptr : found;
}

}  // namespace

// One argument: with several, min and max are those of numbers. A program's own function of that name comes first.
bool ImageEvaluator::is_total(const Expr& e) const {
  return e.kind == ExprKind::call && e.arguments.size() == 1 && find_total(e.name.text) != nullptr &&
         context_.find_function(e.name.text) == nullptr;
}

// extent(image, d), of two arguments; with one it is that of the result of a stencil.
bool ImageEvaluator::is_extent(const Expr& e) const {
  return e.kind == ExprKind::call && e.name.text == "extent" && e.arguments.size() == 2 &&
         context_.find_function(e.name.text) == nullptr;
}

ir::SizeId ImageEvaluator::extent_of(const Expr& e) {
  for (const CallArgument& given : e.arguments)
    if (given.modes)
      context_.report.fail(given.modes->span,
                           "a boundary mode has no meaning here: nothing is read outside of the image");
  const Expr& of = *e.arguments[0].value;
  if (is_scalar(of))
    context_.report.fail(of.span,
                         fmt::format("expected an image, found the scalar {}", base::quoted(of.span.text(), 40)),
                         {{"extent(image, d) is the extent of an image in dimension d"}, {}});
  const Domain own = domain(evaluate(of));
  const i64 d = extents_.constant(*e.arguments[1].value, "the dimension");
  if (d < 0 || d >= static_cast<i64>(own.size()))
    context_.report.fail(e.arguments[1].value->span, fmt::format("{} has no dimension {}: expected 0 to {}",
                                                                 base::quoted(of.span.text(), 40), d, own.size() - 1));
  return own[static_cast<std::size_t>(d)];
}

// Does a reduction of an image, or a name for what came of one, stand in it?
bool ImageEvaluator::holds_total(const Expr& e) const {
  const Expr* left = &e;
  for (; left->kind == ExprKind::binary; left = left->args[0])
    if (holds_total(*left->args[1])) return true;
  if (is_total(*left) || is_named_scalar(*left)) return true;
  const auto holds = [&](const Expr* part) { return holds_total(*part); };
  switch (left->kind) {
    case ExprKind::unary:
    case ExprKind::select:
    case ExprKind::cast:
    case ExprKind::saturate:
    case ExprKind::reduce:
      return std::any_of(left->args.begin(), left->args.end(), holds);
    case ExprKind::field:
      return is_position(*left->args[0]);
    case ExprKind::call:
      return std::any_of(left->arguments.begin(), left->arguments.end(),
                         [&](const CallArgument& a) { return holds(a.value); });
    default:
      return false;
  }
}

bool ImageEvaluator::is_named_scalar(const Expr& e) const {
  if (e.kind != ExprKind::name && e.kind != ExprKind::version) return false;
  std::string name(e.name.text);
  const bool versioned = e.kind == ExprKind::version;  // all versions of a name are images or all scalars
  if (versioned) name += '<';
  const auto found = versioned ? scope_.images.lower_bound(name) : scope_.images.find(name);
  if (found == scope_.images.end() || !found->first.starts_with(name)) return false;
  return found->second && found->second->scalar;
}

Image ImageEvaluator::total(const Expr& e) {
  return single(ir::whole(graph_, find_total(e.name.text)->op, reduced_image(e).stages[0]), e);
}

// The image that is reduced, of numbers.
Image ImageEvaluator::reduced_image(const Expr& e) {
  const CallArgument& given = e.arguments[0];
  if (given.modes)
    context_.report.fail(given.modes->span,
                         "a boundary mode has no meaning here: nothing is read outside of the image");
  if (is_scalar(*given.value))
    context_.report.fail(given.value->span,
                         fmt::format("{} of one argument reduces an image: expected an image, found the scalar {}",
                                     base::quoted(e.name.text), base::quoted(given.value->span.text(), 40)));
  Image image = evaluate(*given.value);
  if (image.record != nullptr)
    context_.report.fail(
        given.value->span,
        fmt::format("{} takes an image of numbers, but {} is {}", base::quoted(e.name.text),
                    base::quoted(given.value->span.text(), 40), describe_image(image)),
        {{},
         fmt::format("choose a field: {}({}.{})", e.name.text, std::string(given.value->span.text().substr(0, 40)),
                     image.record->format.fields[0].name)});
  return image;
}

// An image of one element that is one number. Its name, where the program gives none, says of which image it came.
Image ImageEvaluator::single(ir::ExprId body, const Expr& e) {
  std::string name = "scalar";
  if (is_total(e)) {
    const Expr& of = *e.arguments[0].value;
    name = of.kind == ExprKind::name ? fmt::format("{}({})", e.name.text, of.name.text) : std::string(e.name.text);
  }
  Image image;
  image.stages = {add_point(std::move(name), graph_.node(body).type, {graph_.size(1)}, body, {0}, {0}, e.span)};
  image.scalar = true;
  return image;
}

// Arithmetic with scalars.
Image ImageEvaluator::scalar_image(const Expr& e) {
  PointEvaluator evaluator(context_);
  prepare(evaluator);
  const Scalar value = evaluator.scalar(e);
  return single(evaluator.converted(value, value.type), e);
}

// Names of whole images, and calls that give scalars, have a meaning in the scalar expressions of a program.
void ImageEvaluator::prepare(PointEvaluator& evaluator) {
  evaluator.set_locals(&scope_.scalars);
  evaluator.set_outside([this](const Expr& e) { return scalar_of(e); });
}

std::optional<Scalar> ImageEvaluator::scalar_of(const Expr& e) {
  if (is_extent(e)) {
    const ir::SizeId n = extent_of(e);
    if (const auto known = graph_.constant(n)) return PointEvaluator(context_).integer(e.span, *known);
    const ir::SizeNode& node = graph_.node(n);
    if (node.op == ir::SizeOp::parameter)
      return Scalar{ir::parameter(graph_, static_cast<std::size_t>(node.value)), ElementType::i32};
    return Scalar{ir::convert(graph_, ElementType::i32, ir::size_value(graph_, n)), ElementType::i32};
  }
  if (e.kind == ExprKind::field && is_position(*e.args[0])) {
    const ir::ExprId index = ir::value(graph_, index_of_position(e).stages[0]);
    return Scalar{index, ElementType::i32};
  }
  const Function* f = e.kind == ExprKind::call ? context_.find_function(e.name.text) : nullptr;
  const bool vector = f != nullptr && f->kind == Function::vector;
  const bool over_scalars = e.kind == ExprKind::reduce && holds_total(e);
  if (!is_total(e) && !is_named_scalar(e) && !vector && !over_scalars) {
    if (e.kind == ExprKind::name && is_image(e))
      context_.report.fail(e.span, fmt::format("expected a scalar, found the image {}", base::quoted(e.name.text)),
                           {{}, fmt::format("max({}) is a scalar, as min, sum and mean are", e.name.text)});
    return std::nullopt;
  }
  const Image image = any_image(e, nullptr);
  if (!image.scalar)
    context_.report.fail(
        e.span, fmt::format("expected a scalar, but {} is {}", base::quoted(e.span.text(), 40), describe_image(image)));
  const ir::ExprId value = ir::value(graph_, image.stages[0]);
  return Scalar{value, graph_.node(value).type};
}

}  // namespace tessera::lang
