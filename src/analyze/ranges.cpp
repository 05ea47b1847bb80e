// Interval arithmetic over integer expressions, stage by stage in topological order.
#include "analyze/ranges.hpp"

#include <algorithm>
#include <cmath>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"

namespace tessera::analyze {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

Range full_range(ElementType type) {
  auto [lo, hi] = ir::integer_limits(type);
  return {lo, hi};
}

bool contains(Range outer, Range inner) {
  return outer.lo <= inner.lo && inner.hi <= outer.hi;
}

namespace {

Range join(Range a, Range b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Range corners(Range a, Range b, double (*f)(double, double)) {
  double v[4] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return {*std::min_element(v, v + 4), *std::max_element(v, v + 4)};
}

// The smallest 2^k - 1 that is at least v.
double bits_up(double v) {
  double p = 1;
  while (p - 1 < v) p *= 2;
  return p - 1;
}

}  // namespace

Ranges::Ranges(const Graph& graph) : graph_(graph) {
  for (ir::StageId s = 0; s < graph.stage_count(); ++s)
    if (graph.stage(s).kind == ir::StageKind::point) see_variables(ir::postorder(graph, {graph.stage(s).body}));
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    const ir::Stage& stage = graph.stage(s);
    Range range = is_float(stage.type) ? Range{} : full_range(stage.type);
    if (!is_float(stage.type) && stage.kind == ir::StageKind::point) {
      range = of(stage.body);
      for (std::size_t d = 0; d < stage.domain.size(); ++d)
        if (stage.margin_lo[d] > 0 || stage.margin_hi[d] > 0) range = join(range, {0, 0});
    } else if (!is_float(stage.type) && stage.kind == ir::StageKind::compose) {
      range = {0, 0};
      for (const ir::Piece& piece : stage.pieces)
        range = join(range, piece.stage ? stages_[*piece.stage] : Range{piece.value, piece.value});
      if (!contains(full_range(stage.type), range)) range = full_range(stage.type);
    }
    stages_.push_back(range);
  }
  rows_ = stages_;
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    if (graph.stage(s).kind != ir::StageKind::point) continue;
    for (ExprId e : ir::accesses(graph, graph.stage(s).body)) {
      const ExprNode& node = graph.node(e);
      if (is_float(graph.stage(node.stage).type)) continue;
      rows_[node.stage] = continued(rows_[node.stage], node);
    }
  }
}

Ranges::Ranges(const Graph& graph, const std::vector<ir::Var>& around) : graph_(graph) {
  for (const ir::Var& v : around)
    if (v.end == ir::SizeId{}) see(v);
}

Range Ranges::read(ir::StageId s) const {
  return stages_.empty() ? full_range(graph_.stage(s).type) : stages_[s];
}

// The range of a stage with the constants by which the borders of an access continue it.
Range Ranges::continued(Range r, const ExprNode& access) const {
  const Range all = full_range(graph_.stage(access.stage).type);
  for (const Border& b : access.border)
    if (b.mode == BorderMode::constant) {
      const double v = std::trunc(b.value);
      r = contains(all, {v, v}) ? join(r, {v, v}) : all;
    }
  return r;
}

void Ranges::see(const ir::Var& v) {
  const Range here{static_cast<double>(v.lo), static_cast<double>(v.hi)};
  const auto [it, first] = variables_.try_emplace(v.id, here);
  if (!first) it->second = join(it->second, here);
}

void Ranges::see_variables(const std::vector<ExprId>& expressions) {
  for (ExprId e : expressions)
    for (const ir::Var& v : graph_.node(e).vars) see(v);
}

Range Ranges::of(ExprId root) {
  if (auto it = known_.find(root.id); it != known_.end()) return it->second;
  std::vector<ExprId> order = ir::postorder(graph_, {root});
  see_variables(order);
  for (ExprId e : order)
    if (!known_.contains(e.id)) known_[e.id] = compute(graph_.node(e));
  return known_[root.id];
}

Range Ranges::compute(const ExprNode& node) {
  if (is_float(node.type)) return {};
  const Range full = full_range(node.type);
  auto arg = [&](std::size_t k) { return known_.at(node.args[k].id); };
  auto arg_type = [&](std::size_t k) { return graph_.node(node.args[k]).type; };
  auto fit = [&](Range r) { return contains(full, r) && !std::isnan(r.lo) && !std::isnan(r.hi) ? r : full; };
  switch (node.op) {
    case Op::constant: {
      double v = static_cast<double>(node.ivalue);
      return {v, v};
    }
    case Op::access:
      return fit(continued(read(node.stage), node));
    case Op::gather:
    case Op::value:
      return fit(read(node.stage));
    case Op::whole_min:
    case Op::whole_max:
    case Op::lanes_min:
    case Op::lanes_max:
    case Op::lanes_sum:
      return full;
    case Op::lookup: {
      const ir::Table& table = graph_.tables[static_cast<std::size_t>(node.ivalue)];
      auto [lo, hi] = std::minmax_element(table.values.begin(), table.values.end());
      return fit({*lo, *hi});
    }
    case Op::coord:
    case Op::extent:
      return {0, 2147483647.0};
    case Op::var: {
      auto it = variables_.find(static_cast<std::uint32_t>(node.ivalue));
      return it == variables_.end() ? full : fit(it->second);
    }
    case Op::convert:
      if (is_float(arg_type(0))) return full;
      if (node.type == ElementType::boolean) return {0, 1};
      return fit(arg(0));
    case Op::saturate: {
      if (is_float(arg_type(0))) return full;
      Range r = arg(0);
      return {std::clamp(r.lo, full.lo, full.hi), std::clamp(r.hi, full.lo, full.hi)};
    }
    case Op::neg:
      return fit({-arg(0).hi, -arg(0).lo});
    case Op::abs: {
      Range r = arg(0);
      double most = std::max(std::fabs(r.lo), std::fabs(r.hi));
      double least = r.lo > 0 ? r.lo : r.hi < 0 ? -r.hi : 0;
      return fit({least, most});
    }
    case Op::add:
      return fit({arg(0).lo + arg(1).lo, arg(0).hi + arg(1).hi});
    case Op::sub:
      return fit({arg(0).lo - arg(1).hi, arg(0).hi - arg(1).lo});
    case Op::mul: {
      Range r = corners(arg(0), arg(1), [](double a, double b) { return a * b; });
      if (node.args[0] == node.args[1]) r.lo = std::max(r.lo, 0.0);  // a square
      return fit(r);
    }
    case Op::div: {
      Range a = arg(0), b = arg(1);
      if (b.lo <= 0 && b.hi >= 0) {
        double most = std::max(std::fabs(a.lo), std::fabs(a.hi));
        return fit({a.lo < 0 || b.lo < 0 ? -most : 0, most});
      }
      return fit(corners(a, b, [](double x, double y) { return std::trunc(x / y); }));
    }
    case Op::rem: {
      Range a = arg(0), b = arg(1);
      double most = std::max(std::fabs(b.lo), std::fabs(b.hi)) - 1;
      most = std::max(most, 0.0);
      return fit({a.lo < 0 ? std::max(-most, a.lo) : 0, a.hi > 0 ? std::min(most, a.hi) : 0});
    }
    case Op::min:
      return {std::min(arg(0).lo, arg(1).lo), std::min(arg(0).hi, arg(1).hi)};
    case Op::max:
      return {std::max(arg(0).lo, arg(1).lo), std::max(arg(0).hi, arg(1).hi)};
    case Op::bit_and:
      if (arg(0).lo >= 0 && arg(1).lo >= 0) return {0, std::min(arg(0).hi, arg(1).hi)};
      if (arg(0).lo >= 0) return {0, arg(0).hi};
      if (arg(1).lo >= 0) return {0, arg(1).hi};
      return full;
    case Op::bit_or:
    case Op::bit_xor:
      if (arg(0).lo >= 0 && arg(1).lo >= 0) return fit({0, bits_up(std::max(arg(0).hi, arg(1).hi))});
      return full;
    case Op::shl: {
      Range b = arg(1);
      if (b.lo < 0 || b.hi > 31) return full;
      return fit(corners(arg(0), {std::exp2(b.lo), std::exp2(b.hi)}, [](double x, double y) { return x * y; }));
    }
    case Op::shr: {
      Range b = arg(1);
      if (b.lo < 0 || b.hi > 31) return join(arg(0), {0, 0});
      return fit(
          corners(arg(0), {std::exp2(b.lo), std::exp2(b.hi)}, [](double x, double y) { return std::floor(x / y); }));
    }
    case Op::lt:
    case Op::le:
    case Op::eq:
    case Op::ne:
    case Op::bit_not:
      return node.type == ElementType::boolean ? Range{0, 1} : full;
    case Op::select:
      return fit(join(arg(1), arg(2)));
    case Op::reduce_sum: {
      double n = static_cast<double>(term_count(node));
      return fit({arg(0).lo * n, arg(0).hi * n});
    }
    case Op::reduce_min:
    case Op::reduce_max:
    case Op::reduce_median:
    case Op::reduce_rank:
      return fit(arg(0));
    case Op::reduce_pick:
      return fit(join(arg(2), {0, 0}));
    case Op::reduce_any:
    case Op::reduce_all:
      return {0, 1};
    default:
      return full;
  }
}

}  // namespace tessera::analyze
