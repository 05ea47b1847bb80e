// Images that loops make: one image above the other, `for k = 0..7: f(x, k)`, and what several come to point by point,
// `sum(k = 0..7) ( f(x<k>, k) )`.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "ir/reductions.hpp"
#include "lang/functions.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

using ir::SizeId;

// Calls once for every combination of indices, the first one outermost, with their values as scalars of the scope.
void ImageEvaluator::each_round(const std::vector<Range>& ranges, Span at, const std::function<void()>& round) {
  std::vector<std::pair<i64, i64>> bounds;
  i64 rounds = 1;
  for (const Range& r : ranges) {
    const std::string_view name = r.name.text;
    const bool twice = std::any_of(&ranges.front(), &r, [&](const Range& other) { return other.name.text == name; });
    if (twice || scope_.scalars.contains(name) || context_.declared.parameters.contains(name))
      context_.report.fail(r.name.span,
                           fmt::format("{} has a meaning already: expected a new index", base::quoted(name)));
    const auto [lo, hi] =
        bounds.emplace_back(extents_.constant(*r.lo, "the lower bound"), extents_.constant(*r.hi, "the upper bound"));
    const i64 count = std::abs(hi - lo) + 1;
    if (count > context_.limits.stages || (rounds *= count) > context_.limits.stages)
      context_.report.fail(at, fmt::format("more than {} images: expected fewer, since loops are unrolled",
                                           base::format_count(context_.limits.stages)));
  }
  const Nested nested(context_, at);
  const std::function<void(std::size_t)> from = [&](std::size_t k) {
    if (k == ranges.size()) {
      context_.step(at);
      return round();
    }
    const auto [lo, hi] = bounds[k];
    for (i64 i = lo;; i += lo <= hi ? 1 : -1) {
      scope_.scalars.insert_or_assign(ranges[k].name.text,
                                      PointValue{nullptr, {PointEvaluator(context_).integer(at, i)}});
      from(k + 1);
      if (i == hi) break;
    }
  };
  const auto leave = [&] {
    for (const Range& r : ranges) scope_.scalars.erase(r.name.text);
  };
  try {
    from(0);
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

// for k = lo..hi: image, which gives one dimension more, the first.
Image ImageEvaluator::stack(const Expr& e) {
  const Expr& value = *e.args[0];
  std::vector<Piece> pieces;
  each_round(e.ranges, e.span, [&] {
    Piece p;
    p.span = value.span;
    p.image = evaluate(value);
    const Domain own = domain(*p.image);
    if (own.size() > 3)
      context_.report.fail(value.span, fmt::format("{} has rank {}: one image above the other has one dimension more, "
                                                   "and 4 are the most",
                                                   base::quoted(value.span.text(), 40), own.size()));
    const i64 at = static_cast<i64>(pieces.size());
    p.start.push_back(graph_.size(at));
    p.stride.push_back(1);
    p.count.push_back(graph_.size(1));
    p.extent.emplace_back(graph_.size(at + 1));
    for (std::size_t d = 0; d < own.size(); ++d) {
      const SizeId first = pieces.empty() ? own[d] : domain(*pieces[0].image).at(d);
      const auto difference = graph_.constant(extents_.subtract(value.span, own[d], first));
      if (difference && *difference != 0)
        context_.report.fail(value.span,
                             fmt::format("the images have other extents: {} and {} in dimension {}: expected the same",
                                         graph_.to_string(first), graph_.to_string(own[d]), d));
      p.start.emplace_back();
      p.stride.push_back(1);
      p.count.push_back(own[d]);
      p.extent.emplace_back(own[d]);
    }
    pieces.push_back(std::move(p));
  });
  return joined(std::move(pieces), "stacked", e.span);
}

// NAME(k = lo..hi) ( image ): point by point over the images, the part that all have; or over scalars.
Image ImageEvaluator::over_images(const Expr& e) {
  const Expr& value = *e.args[0];
  const ir::Op op = find_reduction(e.name.text)->op;
  if (is_ranked(op))
    context_.report.fail(e.span, fmt::format("there is no {} of several images point by point", e.name.text),
                         {{"sum, prod, min, max, any and all take images"},
                          fmt::format("put them above each other, y = for k = lo..hi: image; and take the {} in a "
                                      "stencil",
                                      e.name.text)});
  if (e.test != nullptr || !e.along.empty())
    context_.report.fail(
        e.test != nullptr ? e.test->span : e.along.front()->span,
        fmt::format("{} over images takes all of them, and gives one image", base::quoted(e.name.text)),
        {{"tests, and what goes along with an element, belong to windows"}, {}});
  std::vector<Image> images;
  each_round(e.ranges, e.span, [&] { images.push_back(any_image(value)); });
  const Image& first = images.front();
  const bool scalars = std::all_of(images.begin(), images.end(), [](const Image& i) { return i.scalar; });
  Domain common = domain(first);
  for (const Image& image : images) {
    if (image.record != nullptr)
      context_.report.fail(value.span,
                           fmt::format("{} takes images of numbers, but {} is {}", base::quoted(e.name.text),
                                       base::quoted(value.span.text(), 40), describe_image(image)),
                           {{},
                            fmt::format("choose a field: {}.{}", std::string(value.span.text().substr(0, 40)),
                                        image.record->format.fields[0].name)});
    if (image.scalar != first.scalar || domain(image).size() != common.size())
      context_.report.fail(value.span,
                           fmt::format("{} takes images of one rank: expected {}, found {}", base::quoted(e.name.text),
                                       describe_image(first), describe_image(image)));
    for (std::size_t d = 0; d < common.size(); ++d) common[d] = extents_.least(e.span, common[d], domain(image)[d]);
  }
  std::vector<Scalar> terms;
  for (const Image& image : images) {
    const ir::StageId stage = image.stages[0];
    terms.push_back({scalars ? ir::value(graph_, stage) : own_point(stage), graph_.stage(stage).type});
  }
  PointEvaluator evaluator(context_);
  const Scalar all = evaluator.reduced_to_one(e, op, terms);
  const ir::ExprId body = evaluator.made(e.span, evaluator.converted(all, all.type), all.type).e;
  if (scalars) return single(body, e);
  extents_.check_count(e.span, common);
  const std::vector<i64> margin(common.size(), 0);
  return {nullptr, {add_point(std::string(e.name.text), all.type, common, body, margin, margin, e.span)}, {}};
}

}  // namespace tessera::lang
