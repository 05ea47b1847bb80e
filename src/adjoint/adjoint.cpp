// The walk backwards over the stages of a program; see adjoint.hpp.
#include "adjoint/adjoint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "adjoint/reverse.hpp"
#include "base/text.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"
#include "ir/keyed.hpp"
#include "ir/reductions.hpp"

namespace tessera::adjoint {

using ir::ExprId;
using ir::Op;
using ir::SizeId;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

void refuse(const Stage& stage, const std::string& what) {
  throw Error(ErrorClass::argument, fmt::format("stage {} has no derivative: {}", base::quoted(stage.name), what));
}

Adjoint adjoint_of(const ir::Graph& graph) {
  return Reverse(graph).run();
}

Reverse::Reverse(const ir::Graph& graph)
    : graph_(graph), count_(graph.stage_count()), arguments_(graph.arguments.size()) {
  for (const ir::Argument& a : graph_.arguments) names_.push_back(a.name);
}

// ---- stages that are made ------------------------------------------------------------------------------------------

StageId Reverse::point(std::string name, ElementType type, std::vector<SizeId> domain, ExprId body, std::vector<i64> lo,
                       std::vector<i64> hi) {
  Stage s;
  s.name = std::move(name);
  s.type = type;
  s.margin_lo = lo.empty() ? std::vector<i64>(domain.size()) : std::move(lo);
  s.margin_hi = hi.empty() ? std::vector<i64>(domain.size()) : std::move(hi);
  s.domain = std::move(domain);
  s.body = ir::convert(graph_, type, body);
  return graph_.add(std::move(s));
}

ExprId Reverse::own(StageId s) {
  const std::size_t rank = graph_.stage(s).domain.size();
  return ir::access(graph_, s, std::vector<ir::Index>(rank), std::vector<Border>(rank, {BorderMode::clamp, 0}));
}

StageId Reverse::total(StageId s, const std::string& name) {
  const ExprId sum = ir::whole(graph_, Op::whole_sum, s);
  return point(name, graph_.node(sum).type, {graph_.size(1)}, sum);
}

StageId Reverse::zeros(const Stage& like) {
  return point("nothing_passed_to_" + like.name, like.type, like.domain, ir::constant(graph_, like.type, 0));
}

std::string Reverse::named(const std::string& base) {
  std::string name = "grad_" + base;
  while (std::find(names_.begin(), names_.end(), name) != names_.end()) name += '_';
  return name;
}

// ---- stages of other kinds -----------------------------------------------------------------------------------------

void Reverse::pass_on_pieces(StageId s, StageId gradient) {
  const Stage stage = graph_.stage(s);
  // Which piece each point is of: later ones win.
  std::optional<StageId> owner;
  if (stage.pieces.size() > 1) {
    Stage owners;
    owners.kind = StageKind::compose;
    owners.name = "piece_of_" + stage.name;
    owners.type = ElementType::f32;
    owners.domain = stage.domain;
    owners.pieces = stage.pieces;
    for (std::size_t k = 0; k < owners.pieces.size(); ++k) {
      owners.pieces[k].stage.reset();
      owners.pieces[k].value = static_cast<double>(k + 1);
    }
    owner = graph_.add(std::move(owners));
  }
  for (std::size_t k = 0; k < stage.pieces.size(); ++k) {
    const ir::Piece& piece = stage.pieces[k];
    if (!piece.stage || !active_.contains(*piece.stage)) continue;
    const Stage& source = graph_.stage(*piece.stage);
    if (source.domain.size() != stage.domain.size()) refuse(stage, "it has a piece of fewer dimensions");
    if (source.domain != piece.count) refuse(stage, fmt::format("it has a part of '{}' as a piece", source.name));
    std::vector<ir::Index> index;
    for (std::size_t d = 0; d < stage.domain.size(); ++d) index.push_back({0, piece.stride[d], piece.start[d], {}});
    const std::vector<Border> nothing(index.size(), {BorderMode::constant, 0});
    ExprId passed = ir::access(graph_, gradient, index, nothing);
    if (owner) {
      const ExprId mine = ir::binary(graph_, Op::eq, ir::access(graph_, *owner, index, nothing),
                                     ir::constant(graph_, ElementType::f32, static_cast<double>(k + 1)));
      passed = ir::select(graph_, mine, passed, ir::constant(graph_, graph_.node(passed).type, 0));
    }
    terms_[*piece.stage].push_back(passed);
  }
}

// The other part of the pair stands before or behind it; the pair passes on when the first of both is met, which is the
// last on the way back.
void Reverse::pass_on_transform(StageId s) {
  const Stage stage = graph_.stage(s);
  std::optional<StageId> other;
  for (StageId k = 0; k < count_; ++k) {
    const Stage& t = graph_.stage(k);
    if (t.kind == StageKind::fourier && t.fourier.imaginary != stage.fourier.imaginary &&
        t.fourier.re == stage.fourier.re && t.fourier.im == stage.fourier.im &&
        t.fourier.inverse == stage.fourier.inverse && t.fourier.along == stage.fourier.along)
      other = k;
  }
  if (other && *other < s) return;  // it comes later
  const auto part = [&](bool imaginary) {
    for (const StageId k : {s, other.value_or(s)})
      if (graph_.stage(k).fourier.imaginary == imaginary)
        if (const auto at = transform_gradients_.find(k); at != transform_gradients_.end()) return at->second;
    return zeros(stage);
  };
  const StageId re = part(false), im = part(true);
  // The adjoint of sum_j x[j] exp(-i...) is the sum with exp(+i...), n times the inverse.
  ExprId points = ir::constant(graph_, ElementType::f64, 1);
  for (const int d : stage.fourier.along)
    points = ir::binary(graph_, Op::mul, points, ir::size_value(graph_, stage.domain[static_cast<std::size_t>(d)]));
  const auto back = [&](bool imaginary, StageId to) {
    Stage t;
    t.kind = StageKind::fourier;
    t.name = "passed_to_" + graph_.stage(to).name + (imaginary ? ".im" : ".re");
    t.type = stage.type;
    t.domain = stage.domain;
    t.fourier = stage.fourier;
    t.fourier.inverse = !stage.fourier.inverse;
    t.fourier.imaginary = imaginary;
    t.fourier.re = re;
    t.fourier.im = im;
    const ExprId passed = own(graph_.add(std::move(t)));
    const ExprId factor = ir::convert(graph_, stage.type, points);
    terms_[to].push_back(ir::binary(graph_, stage.fourier.inverse ? Op::div : Op::mul, passed, factor));
  };
  if (active_.contains(stage.fourier.re)) back(false, stage.fourier.re);
  if (stage.fourier.im && active_.contains(*stage.fourier.im)) back(true, *stage.fourier.im);
}

// An element gets what is passed to its bin.
void Reverse::pass_on_bins(StageId elements, StageId passed) {
  const ir::Keyed keyed = *ir::keyed_of(graph_, graph_.stage(elements));
  if (keyed.op != Op::into_sum)
    refuse(graph_.stage(elements), "which element of a bin is the least or the greatest is not known behind it");
  ExprId goes;
  for (std::size_t d = 0; d < keyed.keys.size(); ++d) {
    const ExprId here = ir::lies_inside(graph_, keyed.keys[d], keyed.bins[d]);
    goes = goes.valid() ? ir::binary(graph_, Op::bit_and, goes, here) : here;
  }
  const ExprId amount = ir::convert(graph_, graph_.stage(elements).type, ir::gather(graph_, passed, keyed.keys));
  terms_[elements].push_back(ir::select(graph_, goes, amount, ir::constant(graph_, graph_.stage(elements).type, 0)));
}

// ---- from outputs to inputs ----------------------------------------------------------------------------------------

// The gradients of outputs of floats, as arguments; `gradients` is by output and plane, in order.
void Reverse::take_inputs(std::vector<StageId>& gradients) {
  const std::vector<ir::Output> outputs = graph_.outputs;
  for (const ir::Output& o : outputs) {
    if (!is_float(graph_.stage(o.stages[0]).type)) continue;
    ir::Argument argument;
    argument.name = named(o.name.empty() ? "output" : o.name);
    names_.push_back(argument.name);
    argument.format = o.format;
    argument.extents = graph_.stage(o.stages[0]).domain;
    graph_.arguments.push_back(argument);
    for (std::size_t k = 0; k < o.stages.size(); ++k) {
      Stage s;
      s.kind = StageKind::input;
      s.name = o.format.is_struct() ? argument.name + "." + o.format.fields[k].name : argument.name;
      s.type = graph_.stage(o.stages[k]).type;
      s.domain = argument.extents;
      s.argument = static_cast<std::uint32_t>(graph_.arguments.size() - 1);
      s.field = static_cast<std::uint32_t>(k);
      gradients.push_back(graph_.add(std::move(s)));
    }
  }
}

void Reverse::give_outputs() {
  graph_.outputs.clear();
  for (std::size_t a = 0; a < arguments_; ++a) {
    const ir::Argument argument = graph_.arguments[a];
    ir::Output out;
    out.format = argument.format;
    const ElementType type = argument.format.is_struct() ? argument.format.fields[0].type : argument.format.scalar;
    if (!is_float(type)) continue;
    out.name = named(argument.name);
    if (!argument.is_array) {
      ExprId sum = ir::constant(graph_, ElementType::f64, 0);
      for (const ExprId t : scalar_terms_[static_cast<std::uint32_t>(a)]) sum = ir::binary(graph_, Op::add, sum, t);
      out.stages.push_back(point(out.name, type, {graph_.size(1)}, sum));
      graph_.outputs.push_back(std::move(out));
      continue;
    }
    const std::size_t fields = std::max<std::size_t>(1, argument.format.fields.size());
    for (std::size_t f = 0; f < fields; ++f) {
      ExprId sum = ir::constant(graph_, type, 0);
      for (StageId s = 0; s < count_; ++s) {
        const Stage& stage = graph_.stage(s);
        if (stage.kind != StageKind::input || stage.argument != a || stage.field != f) continue;
        if (!reads_[s].empty() || !terms_[s].empty()) sum = ir::binary(graph_, Op::add, sum, own(gradient_of(s)));
      }
      out.stages.push_back(
          point(fields == 1 ? out.name : out.name + "." + argument.format.fields[f].name, type, argument.extents, sum));
    }
    graph_.outputs.push_back(std::move(out));
  }
}

Adjoint Reverse::run() {
  for (StageId s = 0; s < count_; ++s) {
    const Stage& stage = graph_.stage(s);
    bool active = stage.kind == StageKind::input && is_float(stage.type);
    for (const StageId p : ir::sources(graph_, s)) active = active || active_.contains(p);
    if (stage.kind == StageKind::point) active = is_active(stage.body);
    if (active) active_.insert(s);
  }
  std::vector<StageId> gradients;
  const std::vector<ir::Output> outputs = graph_.outputs;
  take_inputs(gradients);
  if (gradients.empty())
    throw Error(ErrorClass::argument, "no output is of floats: there are no gradients to begin with");
  std::size_t next = 0;
  for (const ir::Output& o : outputs) {
    if (!is_float(graph_.stage(o.stages[0]).type)) continue;
    for (const StageId s : o.stages) terms_[s].push_back(own(gradients[next++]));
  }
  for (StageId s = static_cast<StageId>(count_); s-- > 0;) {
    const StageKind kind = graph_.stage(s).kind;
    if (kind == StageKind::input || !active_.contains(s) || (reads_[s].empty() && terms_[s].empty())) {
      // (Of a pair of transforms one part alone may be used.)
      if (kind == StageKind::fourier && active_.contains(s) && !transform_gradients_.empty()) pass_on_transform(s);
      continue;
    }
    if (!is_float(graph_.stage(s).type))
      refuse(graph_.stage(s), fmt::format("it is of {}", name_of(graph_.stage(s).type)));
    if (kind == StageKind::carried || kind == StageKind::last) refuse(graph_.stage(s), "it is of a loop with a test");
    const StageId gradient = gradient_of(s);
    if (kind == StageKind::point) pass_on(s, gradient);
    if (kind == StageKind::compose) pass_on_pieces(s, gradient);
    if (kind == StageKind::fourier) {
      transform_gradients_[s] = gradient;
      pass_on_transform(s);
    }
  }
  give_outputs();
  if (graph_.outputs.empty())
    throw Error(ErrorClass::argument, "no input is of floats: there are no gradients to give");
  return {std::move(graph_), std::move(least_)};
}

}  // namespace tessera::adjoint
