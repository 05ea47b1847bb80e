// Footprints by walking the accesses of a body once.
#include "analyze/footprint.hpp"

#include <algorithm>
#include <map>

#include "analyze/expressions.hpp"

namespace tessera::analyze {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

VarRanges variable_ranges(const Graph& graph, ExprId body) {
  VarRanges ranges;
  for (ExprId e : ir::postorder(graph, {body}))
    for (const ir::Var& v : graph.node(e).vars) ranges[v.id] = {v.lo, v.hi};
  return ranges;
}

std::pair<i64, i64> offset_span(const ir::Index& index, const VarRanges& ranges) {
  i64 lo = index.offset, hi = index.offset;
  for (auto [var, coefficient] : index.vars) {
    i64 a = coefficient * ranges[var].lo, b = coefficient * ranges[var].hi;
    lo += std::min(a, b);
    hi += std::max(a, b);
  }
  return {lo, hi};
}

std::vector<Footprint> footprints(const Graph& graph, ir::StageId consumer) {
  const ir::Stage& stage = graph.stage(consumer);
  std::map<ir::StageId, Footprint> found;
  if (stage.kind != ir::StageKind::point) return {};
  const VarRanges ranges = variable_ranges(graph, stage.body);
  for (ExprId e : ir::postorder(graph, {stage.body})) {
    const ExprNode& node = graph.node(e);
    if (!reads_stage(node.op)) continue;
    std::size_t rank = graph.stage(node.stage).domain.size();
    auto [it, fresh] = found.try_emplace(node.stage);
    Footprint& f = it->second;
    if (fresh) {
      f.producer = node.stage;
      f.dims.resize(rank);
    }
    for (std::size_t d = 0; d < rank; ++d) {
      DimensionFootprint& dim = f.dims[d];
      if (node.op != Op::access) {
        dim.whole = true;
        continue;
      }
      const ir::Index& index = node.index[d];
      auto [lo, hi] = offset_span(index, ranges);
      if (index.shift != ir::SizeId{}) dim.whole = true;
      if (fresh) {
        dim.lo = lo, dim.hi = hi, dim.scale = index.scale;
      } else {
        if (dim.scale != index.scale) dim.whole = true;
        dim.lo = std::min(dim.lo, lo), dim.hi = std::max(dim.hi, hi);
      }
      BorderMode mode = node.border[d].mode;
      dim.wraps |= mode == BorderMode::wrap;
      dim.reflects |= mode == BorderMode::mirror || mode == BorderMode::symmetric;
      dim.clamps |= mode == BorderMode::clamp;
      dim.constant |= mode == BorderMode::constant;
    }
  }
  std::vector<Footprint> result;
  for (auto& [id, f] : found) result.push_back(std::move(f));
  return result;
}

}  // namespace tessera::analyze
