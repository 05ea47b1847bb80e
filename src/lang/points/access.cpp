// Reading images and tables from a point expression.
//
// Offsets must be affine in the reduction variables with constant coefficients. They are evaluated like any other
// expression and then taken apart in the graph, so that locals and functions may compute them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/division.hpp"
#include "base/text.hpp"
#include "ir/gather.hpp"
#include "lang/declarations.hpp"
#include "lang/images/borders.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

using ir::Op;

namespace {

constexpr i64 farthest = 1'000'000'000;  // of an offset, so that sums of offsets fit 64 bits by far

}  // namespace

ArgumentUse* PointEvaluator::find_argument(std::string_view name) {
  if (arguments_ == nullptr) return nullptr;
  for (ArgumentUse& a : *arguments_)
    if (a.argument->name.text == name) return &a;
  return nullptr;
}

std::optional<PointEvaluator::Affine> PointEvaluator::affine(ir::ExprId e, bool moves) const {
  if (const auto c = ir::constant_value(graph_, e)) return Affine{static_cast<i64>(*c), {}, {}, false};
  std::map<ir::ExprId, std::optional<Affine>> known;
  const auto combine = [](const Affine& a, const Affine& b, i64 factor) -> std::optional<Affine> {
    Affine out = a;
    if (__builtin_mul_overflow(b.offset, factor, &out.offset) ||
        __builtin_add_overflow(out.offset, a.offset, &out.offset))
      return std::nullopt;
    const auto add = [&](auto& to, const auto& terms) {
      for (const auto& [v, c] : terms) {
        i64 scaled = 0;
        if (__builtin_mul_overflow(c, factor, &scaled) || __builtin_add_overflow(to[v], scaled, &to[v])) return false;
      }
      return true;
    };
    if (!add(out.vars, b.vars) || !add(out.points, b.points)) return std::nullopt;
    out.moved = a.moved || (b.moved && factor != 0);
    return out;
  };
  for (ir::ExprId id : ir::postorder(graph_, {e})) {
    const ir::ExprNode& n = graph_.node(id);
    const auto arg = [&](std::size_t i) -> const std::optional<Affine>& { return known.at(n.args[i]); };
    std::optional<Affine> result;
    if (n.op == Op::constant && !is_float(n.type)) {
      result = Affine{n.ivalue, {}, {}, false};
    } else if (n.op == Op::var) {
      result = Affine{0, {{static_cast<std::uint32_t>(n.ivalue), 1}}, {}, false};
    } else if (n.op == Op::coord && points_ > 0) {
      result = Affine{0, {}, {{static_cast<std::size_t>(n.ivalue), 1}}, false};
    } else if (n.type != ElementType::i32) {
      result = std::nullopt;
    } else if (n.op == Op::convert && arg(0) && ir::embeds(graph_.node(n.args[0]).type, ElementType::i32)) {
      result = arg(0);
    } else if (n.op == Op::neg && arg(0)) {
      result = combine({}, *arg(0), -1);
    } else if ((n.op == Op::add || n.op == Op::sub) && arg(0) && arg(1)) {
      result = combine(*arg(0), *arg(1), n.op == Op::add ? 1 : -1);
    } else if (n.op == Op::mul && arg(0) && arg(1) && (arg(0)->is_number() || arg(1)->is_number())) {
      const bool left = arg(0)->is_number();
      result = combine({}, *arg(left ? 1 : 0), arg(left ? 0 : 1)->offset);
    }
    // What no index moves is a number.
    const bool still = n.op != Op::coord && n.op != Op::var && !reads_stage(n.op) &&
                       std::all_of(n.args.begin(), n.args.end(), [&](ir::ExprId a) {
                         const std::optional<Affine>& part = known.at(a);
                         return part && part->points.empty() && part->vars.empty();
                       });
    if (!result && moves && n.type == ElementType::i32 && still) result = Affine{0, {}, {}, true};
    known.emplace(id, std::move(result));
  }
  return known.at(e);
}

std::pair<i64, i64> PointEvaluator::bounds(const Affine& a) const {
  i64 lo = std::clamp(a.offset, -2 * farthest, 2 * farthest), hi = lo;
  for (const auto& [v, c] : a.vars) {
    const auto var = std::find_if(ranges_.begin(), ranges_.end(), [&, id = v](const ir::Var& r) { return r.id == id; });
    if (var == ranges_.end()) continue;
    // Ranges hold at most 2^24 points around 32-bit values; saturating keeps the sums in range.
    const auto scaled = [&, coefficient = c](i64 x) {
      i64 r = 0;
      return __builtin_mul_overflow(coefficient, x, &r) ? (farthest + 1) * 2
                                                        : std::clamp(r, -2 * farthest, 2 * farthest);
    };
    lo += std::min(scaled(var->lo), scaled(var->hi));
    hi += std::max(scaled(var->lo), scaled(var->hi));
    lo = std::max(lo, -4 * farthest);
    hi = std::min(hi, 4 * farthest);
  }
  return {lo, hi};
}

// One dimension between the brackets of X@[...].
ir::Index PointEvaluator::index(const IndexItem& item) {
  const Scalar offset = scalar(*item.a);
  want_integer(item.a->span, offset, "the offset");
  const std::optional<Affine> a = affine(converted(offset, ElementType::i32));
  if (!a)
    context_.not_constant(item.a->span,
                          fmt::format("expected a constant offset, found {}", base::quoted(item.a->span.text(), 40)),
                          {{"offsets are sums of numbers, parameters with a value and multiples of reduction indices"},
                           "for a computed position write X[row, column], which is an absolute index"});
  ir::Index out;
  out.offset = a->offset;
  for (const auto& [v, c] : a->vars)
    if (c != 0) out.vars.emplace_back(v, c);
  const auto [lo, hi] = bounds(*a);
  if (lo < -farthest || hi > farthest)
    context_.report.fail(item.a->span, fmt::format("the offset reaches {}: expected at most {} either way",
                                                   lo < -farthest ? lo : hi, farthest));
  if (item.kind == IndexItem::pair) {
    out.scale = constant_integer(*item.b, "the stride");
    if (out.scale < 1 || out.scale > farthest)
      context_.report.fail(item.b->span, fmt::format("the stride is {}: expected at least 1", out.scale),
                           {{"(a, b) reads index a + b*i"}, {}});
  }
  return out;
}

PointValue PointEvaluator::access(const Expr& e) {
  const Expr& base = *e.args[0];
  ArgumentUse* a = base.kind == ExprKind::name ? find_argument(base.name.text) : nullptr;
  if (base.kind == ExprKind::field) {
    const Expr& inner = *base.args[0];
    if (inner.kind == ExprKind::name && find_argument(inner.name.text) != nullptr)
      context_.report.fail(e.span, "the field comes after the offset",
                           {{}, fmt::format("write {}@[...].{}", inner.name.text, base.name.text)});
  }
  if (a == nullptr || (locals_ != nullptr && base.kind == ExprKind::name && locals_->contains(base.name.text))) {
    static_cast<void>(evaluate(base));  // says so when the name is unknown
    context_.report.fail(
        base.span,
        fmt::format("{} is a single value: expected an image argument before '@'", base::quoted(base.span.text(), 40)),
        {{"only image arguments of the stencil have neighbours"}, {}});
  }
  if (points_ > 0) refuse_neighbour(e, *a);
  const auto rank = static_cast<std::size_t>(a->rank());
  if (e.index.size() != rank)
    context_.report.fail(e.span,
                         fmt::format("{} has {} dimension{}, but {} offset{} given", base::quoted(base.name.text), rank,
                                     rank == 1 ? "" : "s", e.index.size(), e.index.size() == 1 ? " is" : "s are"));
  std::vector<ir::Index> indices;
  std::vector<Span> places;
  for (const IndexItem& item : e.index) {
    indices.push_back(index(item));
    places.push_back(item.span);
  }
  return read(e.span, *a, indices, places);
}

PointValue PointEvaluator::plain_access(const Expr& e, ArgumentUse& a) {
  if (points_ > 0) refuse_neighbour(e, a);
  const auto rank = static_cast<std::size_t>(a.rank());
  return read(e.span, a, std::vector<ir::Index>(rank), std::vector<Span>(rank, e.span));
}

// The borders of field k of an argument, whose image has `rank` dimensions.
std::vector<Border> PointEvaluator::borders_of(Span at, const ArgumentUse& a, std::size_t k, std::size_t rank) {
  std::vector<Border> borders(a.borders.end() - static_cast<std::ptrdiff_t>(rank), a.borders.end());
  for (Border& b : borders) b = border_of(context_, at, b, a.types[k], a.argument->name.text);
  return borders;
}

// Notes the stride and the margins, and builds the access, one per field. A producer of lower rank has no part in the
// leading dimensions.
PointValue PointEvaluator::read(Span at, ArgumentUse& a, const std::vector<ir::Index>& indices,
                                const std::vector<Span>& places) {
  for (std::size_t d = 0; d < indices.size(); ++d) {
    ArgumentUse::Dimension& dim = a.dimensions[d];
    const ir::Index& i = indices[d];
    if (dim.stride && *dim.stride != i.scale)
      context_.report.fail(
          places[d],
          fmt::format("{} is read with stride {} in dimension {} here and with stride {} at {}: expected "
                      "one stride for all accesses",
                      base::quoted(a.argument->name.text), i.scale, d, *dim.stride, describe_place(dim.place, at)),
          {{}, "pass the image twice, as two arguments"});
    dim.stride = i.scale;
    dim.place = places[d];
    if (a.borders[d].mode != BorderMode::none) continue;
    Affine offset{i.offset, {}, {}, false};
    for (const auto& [v, c] : i.vars) offset.vars.emplace(v, c);
    const auto [lo, hi] = bounds(offset);
    dim.lo = std::max(dim.lo, base::ceil_divide(std::max<i64>(0, -lo), i.scale));
    dim.hi = std::max(dim.hi, base::ceil_divide(std::max<i64>(0, hi), i.scale));
    dim.inside = std::max(dim.inside, base::ceil_divide(std::max<i64>(0, hi + 1), i.scale) - 1);
  }
  a.accessed = true;
  const std::size_t rank = graph_.stage(a.image.stages[0]).domain.size();
  const auto skipped = static_cast<std::ptrdiff_t>(indices.size() - rank);
  PointValue out{a.image.record, {}};
  for (std::size_t k = 0; k < a.image.stages.size(); ++k) {
    const std::vector<Border> borders = borders_of(at, a, k, rank);
    const ir::ExprId r = ir::access(graph_, a.image.stages[k], {indices.begin() + skipped, indices.end()}, borders);
    out.parts.push_back(made(at, r, a.types[k]));
  }
  return out;
}

// X[e, e] of an image argument, k[e] of a table.
PointValue PointEvaluator::subscript(const Expr& e) {
  const Expr& base = *e.args[0];
  if (base.kind == ExprKind::name && (locals_ == nullptr || !locals_->contains(base.name.text))) {
    if (ArgumentUse* a = find_argument(base.name.text)) return gather(e, *a);
    const auto table = context_.declared.tables.find(base.name.text);
    if (table != context_.declared.tables.end()) return {nullptr, {lookup(e, table->second)}};
  }
  static_cast<void>(evaluate(base));
  context_.report.fail(base.span, fmt::format("{} is a single value: expected an image argument or a table before '['",
                                              base::quoted(base.span.text(), 40)));
}

PointValue PointEvaluator::gather(const Expr& e, ArgumentUse& a) {
  const auto rank = static_cast<std::size_t>(a.rank());
  if (e.index.size() != rank)
    context_.report.fail(
        e.span, fmt::format("{} has {} dimension{}, but {} {} given", base::quoted(a.argument->name.text), rank,
                            rank == 1 ? "" : "s", e.index.size(), e.index.size() == 1 ? "index is" : "indices are"));
  std::vector<ir::ExprId> indices;
  for (const IndexItem& item : e.index) {
    const Scalar s = scalar(*item.a);
    want_integer(item.a->span, s, "the index");
    indices.push_back(converted(s, ElementType::i32));
  }
  a.gathered = true;
  if (points_ > 0) return named_read(e, a, indices);
  const std::size_t actual = graph_.stage(a.image.stages[0]).domain.size();
  indices.erase(indices.begin(), indices.end() - static_cast<std::ptrdiff_t>(actual));
  PointValue out{a.image.record, {}};
  for (std::size_t k = 0; k < a.image.stages.size(); ++k) {
    const std::vector<Border> borders = borders_of(e.span, a, k, actual);
    out.parts.push_back(made(e.span, ir::gather(graph_, a.image.stages[k], indices, borders), a.types[k]));
  }
  return out;
}

// Indices that are known to leave the table are faults; others are clamped when the program runs.
Scalar PointEvaluator::lookup(const Expr& e, const TableEntry& entry) {
  if (entry.state == TableEntry::later)
    context_.unknown(e.span, e.args[0]->name.text,
                     fmt::format("table {} is used before it is declared", base::quoted(e.args[0]->name.text)));
  if (entry.state == TableEntry::faulty) throw Failed{};
  const ir::Table& table = graph_.tables[entry.index];
  const std::size_t rank = table.extents.size();
  if (e.index.size() != rank)
    context_.report.fail(
        e.span, fmt::format("table {} has {} dimension{}, but {} {} given", base::quoted(table.name), rank,
                            rank == 1 ? "" : "s", e.index.size(), e.index.size() == 1 ? "index is" : "indices are"));
  std::vector<ir::ExprId> indices;
  for (std::size_t d = 0; d < rank; ++d) {
    const Expr& item = *e.index[d].a;
    const Scalar s = scalar(item);
    want_integer(item.span, s, "the index");
    indices.push_back(converted(s, ElementType::i32));
    const std::optional<Affine> a = affine(indices.back());
    if (!a) continue;
    const auto [lo, hi] = bounds(*a);
    if (lo >= 0 && hi < table.extents[d]) continue;
    const std::string reach = lo == hi ? fmt::format("is {}", lo) : fmt::format("runs from {} to {}", lo, hi);
    context_.report.fail(item.span,
                         fmt::format("the index {}, but table {} has the indices 0 to {} there", reach,
                                     base::quoted(table.name), table.extents[d] - 1),
                         {{"tables are indexed from 0, also those declared over a range"}, {}});
  }
  return made(e.span, ir::lookup(graph_, entry.index, indices), table.type);
}

}  // namespace tessera::lang
