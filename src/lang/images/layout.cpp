// Rearranging whole images. Cutting and sampling are point stages with an offset and a stride; spreading, pasting and
// composing are compose stages.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "data/border.hpp"
#include "lang/functions.hpp"
#include "lang/images/borders.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

using ir::SizeId;

// Whether the expression is a number in whole-image position: arithmetic, a parameter, a scalar input.
bool ImageEvaluator::is_scalar(const Expr& e) const {
  switch (e.kind) {
    case ExprKind::number:
      return true;
    case ExprKind::cast:
    case ExprKind::saturate:
    case ExprKind::select:
    case ExprKind::unary:
    case ExprKind::binary:
      return !is_image(e);
    case ExprKind::version:
      return is_named_scalar(e);
    case ExprKind::reduce:
      return is_scalar(*e.args[0]);
    case ExprKind::name:
      if (is_named_scalar(e)) return true;
      return !scope_.images.contains(std::string(e.name.text)) &&
             (scope_.scalars.contains(e.name.text) || context_.declared.parameters.contains(e.name.text));
    case ExprKind::call: {
      const Function* f = context_.find_function(e.name.text);
      return f != nullptr ? f->kind == Function::scalar : is_extent(e) || holds_total(e) || is_of_numbers(e);
    }
    case ExprKind::subscript:
      return e.args[0]->kind == ExprKind::name && !scope_.images.contains(std::string(e.args[0]->name.text)) &&
             context_.declared.tables.contains(e.args[0]->name.text);
    case ExprKind::field:
      return is_position(*e.args[0]);
    default:
      return false;
  }
}

// A function that the language knows, of scalars: sqrt(gain).
bool ImageEvaluator::is_of_numbers(const Expr& e) const {
  return (find_builtin(e.name.text) != nullptr || find_integer_function(e.name.text) != nullptr) &&
         std::all_of(e.arguments.begin(), e.arguments.end(),
                     [&](const CallArgument& a) { return a.value != nullptr && is_scalar(*a.value); });
}

// Whether an image stands anywhere in the expression.
bool ImageEvaluator::is_image(const Expr& e) const {
  const Expr* left = &e;
  for (; left->kind == ExprKind::binary; left = left->args[0])
    if (is_image(*left->args[1])) return true;
  switch (left->kind) {
    case ExprKind::unary:
    case ExprKind::cast:
    case ExprKind::saturate:
    case ExprKind::select:
      return std::any_of(left->args.begin(), left->args.end(), [&](const Expr* part) { return is_image(*part); });
    case ExprKind::name:
      return scope_.images.contains(std::string(left->name.text)) && !is_named_scalar(*left);
    case ExprKind::version:
      return !is_named_scalar(*left);
    case ExprKind::field:
      return !is_position(*left->args[0]);
    case ExprKind::access:
    case ExprKind::record:
    case ExprKind::compose:
    case ExprKind::stack:
    case ExprKind::keyed:
      return true;
    case ExprKind::reduce:
      return is_image(*left->args[0]);
    case ExprKind::call: {
      const Function* f = context_.find_function(left->name.text);
      return f != nullptr ? f->kind != Function::scalar : is_spectrum(*left);
    }
    case ExprKind::subscript:
      return !is_scalar(*left);
    default:
      return false;
  }
}

Image ImageEvaluator::rearranged(const Image& source, const Domain& where, const std::vector<ir::Index>& indices,
                                 const std::vector<Border>& borders, const std::string& name, Span at) {
  extents_.check_count(at, where);
  Image out{source.record, {}, {}};
  const std::vector<i64> margin(where.size(), 0);
  for (std::size_t k = 0; k < source.stages.size(); ++k) {
    std::vector<Border> converted = borders;
    const ElementType type = graph_.stage(source.stages[k]).type;
    for (Border& b : converted) b = border_of(context_, at, b, type, graph_.stage(source.stages[k]).name);
    const ir::ExprId body = ir::access(graph_, source.stages[k], indices, converted);
    context_.check_growth(at, body);
    const std::string own = source.record != nullptr ? name + "." + source.record->format.fields[k].name : name;
    out.stages.push_back(add_point(own, type, where, body, margin, margin, at));
  }
  return out;
}

// a[1..M-2, 2..]
Image ImageEvaluator::sub_domain(const Expr& e) {
  const Image source = evaluate(*e.args[0]);
  const Domain own = domain(source);
  if (e.index.size() != own.size())
    context_.report.fail(e.span,
                         fmt::format("{} has rank {}, but {} range{} given", base::quoted(e.args[0]->span.text(), 40),
                                     own.size(), e.index.size(), e.index.size() == 1 ? " is" : "s are"));
  Domain where;
  std::vector<ir::Index> indices;
  std::vector<Border> borders;
  const SizeId one = graph_.size(1);
  for (std::size_t d = 0; d < own.size(); ++d) {
    const IndexItem& item = e.index[d];
    const SizeId last = extents_.subtract(item.span, own[d], one);
    const SizeId lo = item.a != nullptr ? extents_.evaluate(*item.a) : SizeId{};
    const SizeId hi = item.kind == IndexItem::single ? lo : item.b != nullptr ? extents_.evaluate(*item.b) : last;
    const SizeId extent = extents_.add(item.span, extents_.subtract(item.span, hi, lo), one);
    const SizeId room = extents_.subtract(item.span, last, hi);
    if (const auto start = graph_.constant(lo); start && *start < 0)
      context_.report.fail(item.span, fmt::format("the range starts at {}: expected 0 or more", *start));
    if (const auto n = graph_.constant(extent); n && *n < 1)
      context_.report.fail(item.span,
                           fmt::format("the range {}..{} is empty", graph_.to_string(lo), graph_.to_string(hi)));
    if (const auto left = graph_.constant(room); left && *left < 0)
      context_.report.fail(item.span, fmt::format("the range reaches to {}, but the last index in dimension {} is {}",
                                                  graph_.to_string(hi), d, graph_.to_string(last)));
    ir::Index index;
    const auto start = graph_.constant(lo);
    index.offset = start.value_or(0);
    if (!start) index.shift = lo;
    indices.push_back(index);
    // Where the parameters decide whether the range lies inside, what lies outside is 0.
    const bool inside = extents_.surely_nonnegative(lo) && extents_.surely_nonnegative(room);
    borders.push_back(inside ? Border{} : Border{BorderMode::constant, 0});
    where.push_back(extent);
  }
  return rearranged(source, where, indices, borders, "part", e.span);
}

// a@[(-1,2),(5,3)]: out[i] = a[-1 + 2i] where that is inside, else 0; a mode given to an argument replaces the 0.
Image ImageEvaluator::sample(const Expr& e) {
  const Image source = evaluate(*e.args[0]);
  const Domain own = domain(source);
  if (e.index.size() != own.size())
    context_.report.fail(e.span,
                         fmt::format("{} has rank {}, but {} offset{} given", base::quoted(e.args[0]->span.text(), 40),
                                     own.size(), e.index.size(), e.index.size() == 1 ? " is" : "s are"));
  Domain where;
  std::vector<ir::Index> indices;
  std::vector<Border> borders;
  for (std::size_t d = 0; d < own.size(); ++d) {
    const IndexItem& item = e.index[d];
    ir::Index index;
    index.offset = extents_.constant(*item.a, "the offset");
    if (item.kind == IndexItem::pair) index.scale = extents_.constant(*item.b, "the stride");
    if (index.scale < 1)
      context_.report.fail(item.b->span, fmt::format("the stride is {}: expected at least 1", index.scale));
    const bool inside = index.offset >= 0 && index.offset < index.scale;
    indices.push_back(index);
    Border border = source.borders.empty() ? Border{BorderMode::constant, 0} : source.borders[d];
    if (border.mode == BorderMode::none) border = {BorderMode::constant, 0};
    borders.push_back(inside ? Border{} : border);
    where.push_back(extents_.divide(item.span, own[d], index.scale));
  }
  return rearranged(source, where, indices, borders, "sample", e.span);
}

// out@[(-7,3),(5,2)] = a;   out[1..,3..] = a;
//
// Statements that place pieces under one name, a `for` most of all, mean one image of all of them: a name that nothing
// has read since the last one goes on. One that was read is a temporary, which begins anew as any assignment does.
void ImageEvaluator::place(const Statement& s, const std::string& name) {
  const std::size_t first = graph_.stage_count();
  Piece p = piece(join(s.name.span, s.place.back().span), s.kind == Statement::spread, s.place, *s.value);
  if (s.value->kind == ExprKind::keyed) name_bins(name, first, p.image->stages[0]);
  Collection& c = scope_.collected[name];
  if (c.read) {
    const Piece& last = c.pieces.back();
    if (last.start != p.start || last.stride != p.stride)
      context_.report.warning(
          p.span,
          fmt::format("{} was read since its last piece, so that this one begins a new image: the others are not in it",
                      base::quoted(name)),
          {{"pieces are put together as long as nothing reads their image"},
           fmt::format(
               "for an image that grows give each step a version: {0}<k> = ( [0..,..] = {0}<k-1>; [k..k,..] = f(); )",
               s.name.text)});
    c = {};
  }
  if (const auto before = scope_.unread.find(name); before != scope_.unread.end()) {
    const auto image = scope_.images.find(name);
    if (image != scope_.images.end() && image->second && !image->second->scalar) {
      c.pieces.push_back(whole(*image->second, before->second));
      c.complete = false;
    }
    scope_.unread.erase(before);
  }
  c.pieces.push_back(std::move(p));
  if (c.pieces.size() > 1) {
    c.complete = false;
    if (c.pieces.size() == 2 || c.pieces.back().start.size() != c.pieces.front().start.size()) put_together(name);
    return;
  }
  scope_.images.insert_or_assign(name, joined(c.pieces, name, s.span));
}

// An image as the first piece of one that goes on.
ImageEvaluator::Piece ImageEvaluator::whole(const Image& image, Span at) const {
  Piece p;
  p.span = at;
  p.image = image;
  for (const ir::SizeId n : domain(image)) {
    p.start.emplace_back();
    p.stride.push_back(1);
    p.count.push_back(n);
    p.extent.emplace_back(n);
  }
  return p;
}

void ImageEvaluator::put_together(const std::string& name) {
  Collection& c = scope_.collected.at(name);
  if (c.complete) return;
  c.complete = true;
  scope_.images.insert_or_assign(name, std::nullopt);  // where the pieces do not fit
  scope_.images.insert_or_assign(name, joined(c.pieces, name, join(c.pieces.front().span, c.pieces.back().span)));
}

void ImageEvaluator::put_all_together() {
  for (auto& [name, c] : scope_.collected) put_together(name);
}

Image ImageEvaluator::compose(const Expr& e, const Wanted* wanted) {
  std::vector<Piece> pieces;
  for (const ComposePiece& p : e.pieces) pieces.push_back(piece(p.span, p.strided, p.place, *p.value));
  if (pieces.empty())
    context_.report.fail(e.span, "expected at least one piece between the parentheses",
                         {{}, "write ( @[(0,2),(0,1)] = a; @[(1,2),(0,1)] = b; )"});
  return joined(std::move(pieces), "composed", e.span, wanted);
}

ImageEvaluator::Piece ImageEvaluator::piece(Span at, bool strided, const std::vector<IndexItem>& place,
                                            const Expr& value) {
  Piece p;
  p.span = at;
  if (place.size() > 4)
    context_.report.fail(at, fmt::format("the place has {} dimensions: expected at most 4", place.size()));
  if (is_scalar(value)) {
    PointEvaluator evaluator(context_);
    evaluator.set_locals(&scope_.scalars);
    const Scalar s = evaluator.scalar(value);
    p.type = s.type;
    p.value = evaluator.constant_scalar(value, "the number");
    if (strided) context_.report.fail(at, "a number fills a range: expected [lo..hi, ...] without '@'");
    place_range(p, place, value);
    return p;
  }
  if (strided) {
    p.image = evaluate(value);
    place_strided(p, place);
  } else {
    place_range(p, place, value);
  }
  return p;
}

void ImageEvaluator::place_strided(Piece& p, const std::vector<IndexItem>& place) {
  const Domain own = domain(*p.image);
  if (place.size() < own.size())
    context_.report.fail(p.span, fmt::format("the image has rank {}, but its place has {} dimension{}", own.size(),
                                             place.size(), place.size() == 1 ? "" : "s"));
  const std::size_t added = place.size() - own.size();
  for (std::size_t d = 0; d < place.size(); ++d) {
    const IndexItem& item = place[d];
    const i64 offset = extents_.constant(*item.a, "the offset");
    const i64 stride = item.kind == IndexItem::pair ? extents_.constant(*item.b, "the stride") : 1;
    if (stride < 1) context_.report.fail(item.b->span, fmt::format("the stride is {}: expected at least 1", stride));
    const SizeId count = d < added ? graph_.size(1) : own[d - added];
    p.start.push_back(graph_.size(offset));
    p.stride.push_back(stride);
    p.count.push_back(count);
    p.extent.push_back(extents_.multiply(item.span, count, graph_.size(stride)));
  }
}

// Ranges: where both ends are given they also say how large the image is, if its form leaves that open.
void ImageEvaluator::place_range(Piece& p, const std::vector<IndexItem>& place, const Expr& value) {
  const bool number = is_scalar(value);
  Wanted length;
  const SizeId one = graph_.size(1);
  for (const IndexItem& item : place) {
    const SizeId lo = item.a != nullptr ? extents_.evaluate(*item.a) : SizeId{};
    if (const auto start = graph_.constant(lo); start && *start < 0)
      context_.report.fail(item.span, fmt::format("the range starts at {}: expected 0 or more", *start));
    p.start.push_back(lo);
    p.stride.push_back(1);
    const bool single = item.kind == IndexItem::single;
    length.emplace_back();
    if (!single && item.b == nullptr) continue;
    const SizeId hi = single ? lo : extents_.evaluate(*item.b);
    length.back() = extents_.add(item.span, extents_.subtract(item.span, hi, lo), one);
    if (const auto n = graph_.constant(*length.back()); n && *n < 1)
      context_.report.fail(item.span,
                           fmt::format("the range {}..{} is empty", graph_.to_string(lo), graph_.to_string(hi)));
  }
  if (number) {
    for (std::size_t d = 0; d < place.size(); ++d) {
      p.count.push_back(length[d].value_or(SizeId{}));
      p.extent.emplace_back();
      if (length[d]) p.extent.back() = extents_.add(place[d].span, p.start[d], *length[d]);
    }
    return;
  }
  if (value.kind == ExprKind::keyed) {
    const Wanted bins = bins_of_place(value, p, place, length);
    p.image = evaluate(value, &bins);
  } else {
    p.image = evaluate(value, &length);
  }
  const Domain own = domain(*p.image);
  if (place.size() < own.size())
    context_.report.fail(p.span, fmt::format("the image has rank {}, but its place has {} dimension{}", own.size(),
                                             place.size(), place.size() == 1 ? "" : "s"));
  const std::size_t added = place.size() - own.size();
  for (std::size_t d = 0; d < place.size(); ++d) {
    SizeId count = d < added ? one : own[d - added];
    if (length[d]) {
      const auto difference = graph_.constant(extents_.subtract(place[d].span, *length[d], count));
      if (difference && *difference != 0)
        context_.report.fail(place[d].span,
                             fmt::format("the range holds {} elements, but the image has {} in dimension {}",
                                         graph_.to_string(*length[d]), graph_.to_string(count), d),
                             {{"a stencil fills the range where all its image arguments have a mode"}, {}});
      count = extents_.least(place[d].span, count, *length[d]);
    }
    p.count.push_back(count);
    p.extent.push_back(extents_.add(place[d].span, p.start[d], length[d] ? *length[d] : count));
  }
}

// Is the piece all of an image with these extents?
bool ImageEvaluator::is_all(const Piece& p, const Domain& where) const {
  if (!p.image || domain(*p.image) != where || p.count != where) return false;
  const auto first = [&](SizeId start) { return graph_.constant(start) == 0; };
  const auto each = [](i64 stride) { return stride == 1; };
  return std::all_of(p.start.begin(), p.start.end(), first) && std::all_of(p.stride.begin(), p.stride.end(), each);
}

// The union of the pieces: the largest extents, later pieces over earlier ones.
Image ImageEvaluator::joined(std::vector<Piece> pieces, const std::string& name, Span at, const Wanted* wanted) {
  const std::size_t rank = pieces[0].start.size();
  const Piece* pattern = nullptr;  // the first piece with an image gives the format
  std::vector<std::optional<SizeId>> extent(rank);
  for (const Piece& p : pieces) {
    if (p.start.size() != rank)
      context_.report.fail(p.span, fmt::format("this piece has {} dimensions, the first has {}: expected the same",
                                               p.start.size(), rank));
    for (std::size_t d = 0; d < rank; ++d)
      if (p.extent[d]) extent[d] = extent[d] ? extents_.greatest(p.span, *extent[d], *p.extent[d]) : *p.extent[d];
    if (!p.image) continue;
    if (pattern == nullptr) {
      pattern = &p;
    } else if (p.image->record != pattern->image->record ||
               (p.image->record == nullptr &&
                graph_.stage(p.image->stages[0]).type != graph_.stage(pattern->image->stages[0]).type)) {
      context_.report.fail(p.span, fmt::format("this piece is {}, another is {}: expected one type",
                                               describe_image(*p.image), describe_image(*pattern->image)));
    }
  }
  Domain where;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!extent[d])
      context_.report.fail(at, fmt::format("the extent in dimension {} is not known: expected a range with an end", d),
                           {{}, "write [0..M-1, 0..N-1] = 0;"});
    where.push_back(*extent[d]);
    // A place that holds less than the pieces reach takes so much of them.
    const std::optional<SizeId> place = wanted_extent(wanted, rank, d);
    if (place && ir::at_most(graph_, *place, where[d])) where[d] = *place;
  }
  extents_.check_count(at, where);
  for (Piece& p : pieces)  // open ranges of numbers reach to the end
    for (std::size_t d = 0; d < rank; ++d)
      if (!p.extent[d]) p.count[d] = extents_.subtract(p.span, where[d], p.start[d]);

  if (pieces.size() == 1 && is_all(pieces[0], where)) return {pieces[0].image->record, pieces[0].image->stages, {}};
  Image out;
  if (pattern != nullptr) out.record = pattern->image->record;
  const std::size_t parts = pattern != nullptr ? pattern->image->stages.size() : 1;
  for (std::size_t k = 0; k < parts; ++k) {
    ir::Stage s;
    s.kind = ir::StageKind::compose;
    s.name = out.record != nullptr ? name + "." + out.record->format.fields[k].name : name;
    s.type = pattern != nullptr ? graph_.stage(pattern->image->stages[k]).type : pieces[0].type;
    if (pattern == nullptr)
      for (const Piece& p : pieces) s.type = p.type == s.type ? s.type : ir::promote(s.type, p.type);
    s.domain = where;
    for (const Piece& p : pieces) {
      ir::Piece piece;
      if (p.image)
        piece.stage = p.image->stages[k];
      else if (!is_float(s.type) && !continues(s.type, p.value))
        context_.report.fail(p.span, fmt::format("the number {} is no value of {}, the type of the image: {}", p.value,
                                                 name_of(s.type), expected_constant(s.type)));
      else
        piece.value = ir::evaluate(ir::Op::convert, s.type, ElementType::f64, &p.value);
      piece.start = p.start;
      piece.stride = p.stride;
      piece.count = p.count;
      s.pieces.push_back(std::move(piece));
    }
    out.stages.push_back(add(std::move(s), at));
  }
  return out;
}

}  // namespace tessera::lang
