// Reads of stencils that name the points of their result: X[c, y+i, x+j].
//
// An index is affine when it is a sum of numbers, names, reduction indices and multiples of these. What it says follows
// from its parts:
//
//   a name, with offsets and steps: how far the result runs along that name. Where the argument has no mode, the
//   points at which the index would leave the image are left out, as those of X@[i].
//
//   reduction indices alone: the image is read as a whole there. The index has to stay inside, or to have a mode.
//
//   anything else: an absolute index. So is one that is moved by numbers known at run time, but a name in it says how
//   far the result runs.
//
// Where all dimensions are read at the trailing names in order, as X@[i,j] reads them, the read is an access; else it
// is a gather, whose borders are arithmetic on its indices.
#include <fmt/format.h>

#include <algorithm>

#include "base/division.hpp"
#include "base/text.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

using ir::SizeId;

namespace {

template <class Terms>
void drop_zeros(Terms& terms) {
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
}

}  // namespace

std::string PointEvaluator::ReadDimension::text() const {
  return fmt::format("dimension {} of {}", dimension, base::quoted(use.argument->name.text));
}

void PointEvaluator::set_points(const std::vector<Name>& names) {
  points_ = names.size();
  named_.margin_lo.assign(points_, 0);
  named_.margin_hi.assign(points_, 0);
  for (std::size_t d = 0; d < points_; ++d) {
    indices_.push_back(names[d].text);
    locals_->insert_or_assign(names[d].text, PointValue{nullptr, {{ir::coord(graph_, d), ElementType::i32}}});
  }
}

void PointEvaluator::refuse_neighbour(const Expr& e, const ArgumentUse& a) {
  std::string indices;
  for (int d = 0; d < a.rank(); ++d) indices += d == 0 ? "y" : fmt::format(", x{}", d == 1 ? "" : std::to_string(d));
  context_.report.fail(
      e.span,
      fmt::format("{} is read without an index in a stencil that names its points: expected one for every dimension",
                  base::quoted(a.argument->name.text)),
      {{"offsets belong into the index: X[y-1, x]"}, fmt::format("write {}[{}]", a.argument->name.text, indices)});
}

// X.0
SizeId PointEvaluator::extent_of(const Expr& e) {
  return extent_of(e, *e.args[0], *number_of_field(e));
}

// extent(X, 0)
SizeId PointEvaluator::extent_of(const Expr& e, const Expr& base, i64 d) {
  const ArgumentUse* a = base.kind == ExprKind::name ? find_argument(base.name.text) : nullptr;
  if (a == nullptr)
    context_.report.fail(e.span,
                         fmt::format("{} is no image argument of the stencil: expected one before a dimension",
                                     base::quoted(base.span.text(), 40)),
                         {{"X.0 is the extent of the image X in its first dimension"}, {}});
  if (d < 0 || d >= a->rank())
    context_.report.fail(e.span, fmt::format("{} has no dimension {}: expected 0 to {}", base::quoted(base.name.text),
                                             d < 0 ? e.name.text : std::to_string(d), a->rank() - 1));
  const std::vector<SizeId>& domain = graph_.stage(a->image.stages[0]).domain;
  const std::size_t missing = static_cast<std::size_t>(a->rank()) - domain.size();
  const auto at = static_cast<std::size_t>(d);
  return at < missing ? graph_.size(1) : domain[at - missing];
}

// c : X.0
ir::Var PointEvaluator::variable_over(const Range& r) {
  if (mode_ == constant)
    context_.report.fail(r.over->span, "no image is known here: expected bounds",
                         {{}, fmt::format("write {} = lo..hi", r.name.text)});
  const SizeId extent = extent_of(*r.over);
  const ArgumentUse& use = *find_argument(r.over->args[0]->name.text);
  const ReadDimension of{r.over->span, use, static_cast<std::size_t>(*number_of_field(*r.over)), extent};
  const std::string runs = fmt::format("{} runs over {}", base::quoted(r.name.text), of.text());
  context_.require(of.span, {graph_.size(1), extent, true, runs + ", which has to have an element"});
  const ir::Var v = ir::variable_over(graph_, extent);
  over_[v.id] = {extent, runs};
  return v;
}

PointValue PointEvaluator::named_read(const Expr& e, ArgumentUse& a, const std::vector<ir::ExprId>& given) {
  const std::vector<SizeId> domain = graph_.stage(a.image.stages[0]).domain;
  const std::size_t actual = domain.size(), missing = given.size() - actual;
  const std::vector<ir::ExprId> indices(given.end() - static_cast<std::ptrdiff_t>(actual), given.end());
  std::vector<std::optional<Affine>> forms;
  for (std::size_t d = 0; d < actual; ++d) {
    std::optional<Affine> form = affine(indices[d], true);
    if (form) {
      drop_zeros(form->vars);
      drop_zeros(form->points);
      look_at_index({e.index[d + missing].span, a, d + missing, domain[d]}, *form);
    }
    forms.push_back(std::move(form));
  }
  const std::vector<ir::Index> plain = aligned(forms);
  PointValue out{a.image.record, {}};
  for (std::size_t k = 0; k < a.image.stages.size(); ++k) {
    const std::vector<Border> borders = borders_of(e.span, a, k, actual);
    const ir::StageId s = a.image.stages[k];
    const ir::ExprId r =
        plain.empty() ? ir::gather(graph_, s, indices, borders) : ir::access(graph_, s, plain, borders);
    out.parts.push_back(made(e.span, r, a.types[k]));
  }
  return out;
}

void PointEvaluator::look_at_index(const ReadDimension& read, const Affine& form) {
  if (form.points.empty()) return look_at_window(read, form);
  if (form.points.size() == 1) look_at_point(read, form, form.points.begin()->first, form.points.begin()->second);
}

// step * name + offsets
void PointEvaluator::look_at_point(const ReadDimension& read, const Affine& form, std::size_t point, i64 step) {
  const bool none = read.use.borders[read.dimension].mode == BorderMode::none && step > 0 && !form.moved;
  if (step < -ir::max_offset || step > ir::max_offset)
    context_.report.fail(read.span, fmt::format("the step is {}: expected at most {}", step, ir::max_offset));
  const bool alone = step == 1 && form.offset == 0 && form.vars.empty() && !form.moved;
  named_.extents.push_back(
      {point, read.extent, step < 0 ? -step : step, alone, none && !alone, read.span, read.text()});
  if (!none || alone || context_.lenient) return;
  for (const auto& [v, c] : form.vars)
    if (const auto it = over_.find(v); it != over_.end() && !graph_.constant(it->second.extent))
      context_.report.fail(read.span,
                           fmt::format("the index of {} moves by one of a reduction whose length is known at run time: "
                                       "expected a boundary mode for {}",
                                       read.text(), base::quoted(read.use.argument->name.text)),
                           {{it->second.what},
                            fmt::format("call the stencil with a mode, as in {}:clamped or {}:constant(0)",
                                        read.use.argument->name.text, read.use.argument->name.text)});
  const auto [lo, hi] = bounds({form.offset, form.vars, {}, false});
  named_.margin_lo[point] = std::max(named_.margin_lo[point], base::ceil_divide(-lo, step));
  named_.margin_hi[point] = std::max(named_.margin_hi[point], base::ceil_divide(hi + 1, step) - 1);
}

// No name of the result in it: the index has to stay inside where the argument has no mode.
void PointEvaluator::look_at_window(const ReadDimension& read, const Affine& form) {
  const std::string image(read.use.argument->name.text);
  if (form.moved) return;
  const Advice give_mode{{}, fmt::format("call the stencil with a mode for {}, as in {}:clamped", image, image)};
  if (form.offset == 0 && form.vars.size() == 1 && form.vars.begin()->second == 1)
    if (const auto it = over_.find(form.vars.begin()->first); it != over_.end())
      return context_.require(
          read.span,
          {it->second.extent, read.extent, false,
           fmt::format("{}, but stands in {} as well, whose extent is another one", it->second.what, read.text())},
          {{}, "give both images the same extent there"});
  if (read.use.borders[read.dimension].mode != BorderMode::none || context_.lenient) return;
  i64 lo = form.offset;
  SizeId last = graph_.size(form.offset);
  for (const auto& [v, c] : form.vars) {
    const auto it = over_.find(v);
    const bool open = it != over_.end() && !graph_.constant(it->second.extent);
    const auto [least, most] = bounds({0, {{v, c}}, {}, false});
    if (open && c < 0)
      context_.report.fail(read.span,
                           fmt::format("the index of {} may be negative: expected a boundary mode for {}", read.text(),
                                       base::quoted(image)),
                           give_mode);
    if (open) {
      const SizeId steps = graph_.size_binary(ir::SizeOp::sub, it->second.extent, graph_.size(1));
      last = graph_.size_binary(ir::SizeOp::add, last, graph_.size_binary(ir::SizeOp::mul, graph_.size(c), steps));
    } else {
      lo += least;
      last = graph_.size_binary(ir::SizeOp::add, last, graph_.size(most));
    }
  }
  if (lo < 0)
    context_.report.fail(
        read.span, fmt::format("the index of {} begins at {}: expected 0 or more, or a boundary mode", read.text(), lo),
        give_mode);
  context_.require(read.span,
                   {graph_.size_binary(ir::SizeOp::add, last, graph_.size(1)), read.extent, true,
                    fmt::format("the indices that are read of {} have to lie inside", read.text())},
                   give_mode);
}

// Indices of an access, where every dimension is read at the name that stands for it at the trailing end; else none.
std::vector<ir::Index> PointEvaluator::aligned(const std::vector<std::optional<Affine>>& forms) const {
  if (forms.size() > points_) return {};
  std::vector<ir::Index> all;
  for (std::size_t d = 0; d < forms.size(); ++d) {
    if (!forms[d] || forms[d]->moved || forms[d]->points.size() != 1) return {};
    const auto [point, step] = *forms[d]->points.begin();
    if (point != d + points_ - forms.size() || step < 1) return {};
    ir::Index index;
    index.offset = forms[d]->offset;
    index.scale = step;
    for (const auto& [v, c] : forms[d]->vars) {
      const auto it = over_.find(v);
      if (it != over_.end() && !graph_.constant(it->second.extent)) return {};
      index.vars.emplace_back(v, c);
    }
    all.push_back(std::move(index));
  }
  return all;
}

}  // namespace tessera::lang
