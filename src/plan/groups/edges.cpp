// Edges from footprints; compose stages read their pieces with a division.
#include "plan/groups/edges.hpp"

#include <algorithm>
#include <numeric>

#include "analyze/expressions.hpp"

namespace tessera::plan {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::StageId;
using ir::StageKind;

namespace {

Edge point_edge(const Graph& graph, StageId consumer, const analyze::Footprint& f, const std::vector<ExprId>& body,
                const analyze::VarRanges& ranges) {
  const ir::Stage& c = graph.stage(consumer);
  const ir::Stage& p = graph.stage(f.producer);
  Edge edge;
  edge.producer = f.producer;
  edge.consumer = consumer;
  edge.broadcast = p.domain.size() != c.domain.size();
  for (std::size_t d = 0; d < f.dims.size(); ++d) {
    const analyze::DimensionFootprint& from = f.dims[d];
    EdgeDimension dim;
    dim.mul = from.scale;
    dim.raw_lo = dim.lo = from.lo;
    dim.raw_hi = dim.hi = from.hi;
    dim.whole = from.whole || from.scale == 0;
    dim.own = from.lo == 0 && from.hi == 0 && from.scale == 1;
    dim.wraps = from.wraps && !dim.own;
    dim.other_border = !dim.own && (from.clamps || from.reflects || from.constant);
    if (from.clamps || from.reflects || from.constant) {
      dim.lo = std::min<i64>(dim.lo, 0);
      dim.hi = std::max<i64>(dim.hi, 0);
    }
    if (from.reflects) {
      i64 lo = std::min(dim.lo, -dim.hi), hi = std::max(dim.hi, -dim.lo);
      dim.lo = lo, dim.hi = hi;
    }
    edge.dims.push_back(dim);
  }
  bool seen = false;
  for (ExprId e : body) {
    const ExprNode& node = graph.node(e);
    if (node.op != Op::access || node.stage != f.producer) continue;
    edge.loads += 1;
    auto [lo, hi] = analyze::offset_span(node.index.back(), ranges);
    Border border = node.border.back();
    if ((lo >= 0 && hi <= 0 && p.domain.back() == c.domain.back()) || border.mode == BorderMode::none) continue;
    if (seen && !(border == edge.column_border)) edge.column_border_clash = true;
    edge.column_border = border;
    seen = true;
  }
  return edge;
}

Edge compose_edge(const Graph& graph, StageId consumer, const ir::Piece& piece) {
  const ir::Stage& c = graph.stage(consumer);
  const ir::Stage& p = graph.stage(*piece.stage);
  Edge edge;
  edge.producer = *piece.stage;
  edge.consumer = consumer;
  edge.broadcast = p.domain.size() != c.domain.size();
  edge.loads = 1;
  std::size_t lead = c.domain.size() - p.domain.size();
  for (std::size_t d = 0; d < p.domain.size(); ++d) {
    EdgeDimension dim;
    auto start = graph.constant(piece.start[d + lead]);
    dim.div = piece.stride[d + lead];
    dim.whole = !start;
    dim.lo = dim.hi = dim.raw_lo = dim.raw_hi = start ? -*start : 0;
    dim.own = start && *start == 0 && dim.div == 1;
    edge.dims.push_back(dim);
  }
  return edge;
}

void join(Edge& a, const Edge& b) {
  a.loads += b.loads;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    EdgeDimension& x = a.dims[d];
    const EdgeDimension& y = b.dims[d];
    x.whole = x.whole || y.whole || x.mul != y.mul || x.div != y.div;
    x.lo = std::min(x.lo, y.lo), x.hi = std::max(x.hi, y.hi);
    x.raw_lo = std::min(x.raw_lo, y.raw_lo), x.raw_hi = std::max(x.raw_hi, y.raw_hi);
    x.own = x.own && y.own;
  }
}

}  // namespace

EdgeDimension any_phase(EdgeDimension dim) {
  dim.lo = -(dim.div - 1);
  dim.hi = 0;
  return dim;
}

std::vector<Edge> edges_of(const Graph& graph) {
  std::vector<StageId> all(graph.stage_count());
  std::iota(all.begin(), all.end(), StageId{0});
  return edges_of(graph, all);
}

std::vector<Edge> edges_of(const Graph& graph, const std::vector<StageId>& consumers) {
  std::vector<Edge> edges;
  for (const StageId s : consumers) {
    const ir::Stage& stage = graph.stage(s);
    std::size_t first = edges.size();
    if (stage.kind == StageKind::point) {
      std::vector<ExprId> body = ir::postorder(graph, {stage.body});
      const analyze::VarRanges ranges = analyze::variable_ranges(graph, stage.body);
      for (const analyze::Footprint& f : analyze::footprints(graph, s))
        edges.push_back(point_edge(graph, s, f, body, ranges));
    }
    for (const ir::Piece& piece : stage.pieces) {
      if (!piece.stage) continue;
      Edge edge = compose_edge(graph, s, piece);
      auto same = std::find_if(edges.begin() + static_cast<std::ptrdiff_t>(first), edges.end(),
                               [&](const Edge& e) { return e.producer == edge.producer; });
      if (same == edges.end())
        edges.push_back(edge);
      else
        join(*same, edge);
    }
  }
  return edges;
}

}  // namespace tessera::plan
