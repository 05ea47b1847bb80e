// Keyed reductions: h[0..255] = sum(1 into x);
//
// Two stages each (ir/keyed.hpp): the elements with their keys, and the bins. A mean is two of them and a quotient;
// `any` and `all` are the largest and the least of bytes, `count` is a sum of ones.
#include "ir/keyed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lang/functions.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

using ir::ExprId;
using ir::Op;
using ir::StageId;

namespace {

enum class Word { sum, min, max, mean, count, any, all };
constexpr std::array<std::string_view, 7> words = {"sum", "min", "max", "mean", "count", "any", "all"};

Op operation_of(Word word) {
  if (word == Word::min || word == Word::all) return Op::into_min;
  return word == Word::max || word == Word::any ? Op::into_max : Op::into_sum;
}

}  // namespace

// What the statement says of the bins: ranges from 0 for every key, and before them places of one.
ImageEvaluator::Wanted ImageEvaluator::bins_of_place(const Expr& e, Piece& p, const std::vector<IndexItem>& place,
                                                     const Wanted& lengths) {
  const std::size_t keys = e.arguments[0].keys.size();
  if (place.size() < keys)
    context_.report.fail(e.span,
                         fmt::format("{} key{} given, but the place has {} dimension{}: expected one key for "
                                     "each",
                                     keys, keys == 1 ? " is" : "s are", place.size(), place.size() == 1 ? "" : "s"));
  const std::size_t lead = place.size() - keys;
  for (std::size_t d = 0; d < place.size(); ++d) {
    const IndexItem& item = place[d];
    const bool ends = item.kind == IndexItem::range && item.a != nullptr && item.b != nullptr;
    if (d < lead) {
      const bool one = item.kind == IndexItem::single || (ends && graph_.constant(*lengths[d]) == 1);
      if (one) continue;
      context_.report.fail(
          item.span,
          fmt::format("the place has {} dimensions, but {} key{} given: expected a single index in dimension {}",
                      place.size(), keys, keys == 1 ? " is" : "s are", d),
          {{}, "give a key for every dimension: sum(v into key0, key1)"});
    }
    if (ends && graph_.constant(p.start[d]) == 0) continue;
    context_.report.fail(item.span, "bins are counted from 0: expected a range such as 0..255",
                         {{"keys outside of it are dropped"}, {}});
  }
  return {lengths.begin() + static_cast<std::ptrdiff_t>(lead), lengths.end()};
}

// Stages that the statement made, from `first` on.
void ImageEvaluator::name_bins(const std::string& name, std::size_t first, StageId result) {
  for (std::size_t s = first; s < graph_.stage_count(); ++s) {
    ir::Stage& stage = graph_.stage(static_cast<StageId>(s));
    const bool holds = stage.kind == ir::StageKind::point && graph_.node(stage.body).op == Op::bins;
    if (ir::is_keyed(graph_, stage)) stage.name = name + ": elements";
    if (holds || s == result) stage.name = s == result ? name : name + ": bins";
  }
}

ExprId ImageEvaluator::own_point(StageId s) const {
  const std::size_t rank = graph_.stage(s).domain.size();
  return ir::access(graph_, s, std::vector<ir::Index>(rank), std::vector<Border>(rank));
}

// Keys are images of integers, of one rank with the value; where extents differ, the part that all have.
ImageEvaluator::Elements ImageEvaluator::elements(const Expr& e, const std::optional<Image>& value,
                                                  const Domain& bins) {
  Elements found;
  found.bins = bins;
  if (value) found.domain = domain(*value);
  for (const Expr* key : e.arguments[0].keys) {
    const std::string text(base::quoted(key->span.text(), 40));
    if (is_scalar(*key))
      context_.report.fail(key->span, fmt::format("a key is an image of integers: found the scalar {}", text));
    const Image image = evaluate(*key);
    const ElementType type = graph_.stage(image.stages[0]).type;
    if (image.record != nullptr || is_float(type))
      context_.report.fail(
          key->span, fmt::format("a key is an image of integers: {} is {}", text, describe_image(image)),
          {{},
           image.record != nullptr ? fmt::format("choose a field: {}.{}", std::string(key->span.text().substr(0, 40)),
                                                 image.record->format.fields[0].name)
                                   : fmt::format("write stencil bin(vector#{} {} X) {{ return cast<int>(floor(X)); }}",
                                                 domain(image).size(), name_of(type))});
    const Domain& own = domain(image);
    if (found.domain.empty()) found.domain = own;
    if (own.size() != found.domain.size())
      context_.report.fail(key->span, fmt::format("{} has rank {}: expected {}, as the other images have", text,
                                                  own.size(), found.domain.size()));
    for (std::size_t d = 0; d < own.size(); ++d) found.domain[d] = extents_.least(key->span, found.domain[d], own[d]);
    found.keys.push_back(ir::convert(graph_, ElementType::i32, own_point(image.stages[0])));
  }
  return found;
}

StageId ImageEvaluator::bins(const Expr& e, Op op, ExprId value, const Elements& of, ElementType result) {
  const ElementType operand = ir::keyed_operand(op, graph_.node(value).type);
  const ExprId body = ir::into(graph_, {op, ir::convert(graph_, operand, value), of.keys, of.bins});
  context_.check_growth(e.span, body);
  const std::vector<i64> none(of.domain.size(), 0), no_margin(of.bins.size(), 0);
  const StageId s = add_point("elements", graph_.node(body).type, of.domain, body, none, none, e.span);
  return add_point("bins", result, of.bins, ir::bins(graph_, s, result), no_margin, no_margin, e.span);
}

Image ImageEvaluator::keyed(const Expr& e, const Wanted* wanted) {
  const auto named = std::find(words.begin(), words.end(), e.name.text);
  if (named == words.end())
    context_.report.fail(e.name.span, fmt::format("{} puts nothing into bins: expected {}", base::quoted(e.name.text),
                                                  quoted_list({words.begin(), words.end()})));
  const Word word = static_cast<Word>(named - words.begin());
  if (wanted == nullptr)
    context_.report.fail(e.span, "how many bins there are is not known: expected a place with ranges",
                         {{}, fmt::format("write h[0..255] = {};", std::string(e.span.text().substr(0, 60)))});
  Domain where;
  for (const std::optional<ir::SizeId>& n : *wanted) where.push_back(*n);
  extents_.check_count(e.span, where);
  const CallArgument& given = e.arguments[0];
  if (given.modes)
    context_.report.fail(given.modes->span,
                         "a boundary mode has no meaning here: nothing is read outside of the image");
  std::optional<Image> image;
  ExprId value;
  if (is_scalar(*given.value)) {
    PointEvaluator evaluator(context_);
    prepare(evaluator);
    const Scalar scalar = evaluator.scalar(*given.value);
    value = evaluator.converted(scalar, scalar.type);
  } else {
    image = evaluate(*given.value);
    if (image->record != nullptr)
      context_.report.fail(given.value->span,
                           fmt::format("{} takes an image of numbers, but {} is {}", base::quoted(e.name.text),
                                       base::quoted(given.value->span.text(), 40), describe_image(*image)),
                           {{},
                            fmt::format("choose a field: {}.{}", std::string(given.value->span.text().substr(0, 40)),
                                        image->record->format.fields[0].name)});
    value = own_point(image->stages[0]);
  }
  const Elements of = elements(e, image, where);
  i64 count = 1;
  for (const ir::SizeId n : where) {
    const auto extent = graph_.constant(n);
    if (extent && (__builtin_mul_overflow(count, *extent, &count) || count > ir::most_bins))
      context_.report.fail(e.span, fmt::format("there are more than {} bins", base::format_count(ir::most_bins)));
  }
  const ElementType type = graph_.node(value).type;
  const auto as = [&](ElementType t) { return ir::convert(graph_, t, value); };
  const auto truth = [&](ElementType t) { return ir::convert(graph_, t, ir::truth(graph_, value)); };
  const Op op = operation_of(word);
  switch (word) {
    case Word::sum:
      return {nullptr, {bins(e, op, value, of, ir::promote(type, type))}, {}};
    case Word::min:
    case Word::max:
      return {nullptr, {bins(e, op, value, of, type)}, {}};
    case Word::count:
      return {nullptr, {bins(e, op, truth(ElementType::i32), of, ElementType::i32)}, {}};
    case Word::any:
    case Word::all:
      return {nullptr, {bins(e, op, truth(ElementType::u8), of, ElementType::boolean)}, {}};
    case Word::mean:
      break;
  }
  const ElementType result = type == ElementType::f32 || type == ElementType::f16 ? ElementType::f32 : ElementType::f64;
  const StageId sum = bins(e, op, as(ElementType::f64), of, ElementType::f64);
  const StageId elements = bins(e, op, ir::constant(graph_, ElementType::i32, 1), of, ElementType::i32);
  const ExprId mean = ir::convert(graph_, result, ir::binary(graph_, Op::div, own_point(sum), own_point(elements)));
  const std::vector<i64> none(of.bins.size(), 0);
  return {nullptr, {add_point("mean", result, of.bins, mean, none, none, e.span)}, {}};
}

}  // namespace tessera::lang
