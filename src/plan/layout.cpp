// What makes a set of stages a group that can stream: rates, periodic producers, lags and ring depths.
#include <algorithm>
#include <numeric>

#include "base/division.hpp"
#include "plan/groups.hpp"

namespace tessera::plan {

using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

using base::ceil_divide, base::floor_divide;

std::size_t place(const std::vector<StageId>& set, StageId s) {
  return static_cast<std::size_t>(std::lower_bound(set.begin(), set.end(), s) - set.begin());
}

// Does a consumer that reads index mul * i (and offsets) stay on the producer's extent, but for the offsets?
bool stays_inside(ir::Graph& graph, ir::SizeId consumer, i64 mul, ir::SizeId producer) {
  return ir::at_most(graph, consumer, mul == 1 ? producer : graph.size_floor_div(producer, mul));
}

}  // namespace

bool Grouper::leaves_as_field(StageId s) const {
  for (const ir::Output& o : graph_.outputs)
    if (o.format.is_struct() && std::find(o.stages.begin(), o.stages.end(), s) != o.stages.end()) return true;
  return false;
}

Grouper::Layout Grouper::layout(const Set& set) const {
  if (set.size() > 1 && has_tiles(set)) return layout_of_tiles(set);
  Layout result;
  result.anchor = set.back();
  double most = -1;
  for (StageId s : set)
    if (leaves_group(s, set) && points(s) > most) {  // the largest result, the last among equals
      most = points(s);
      result.anchor = s;
    }
  for (StageId s : set)
    if (leaves_group(s, set) && points(s) == most) result.anchor = s;
  std::size_t rank = graph_.stage(result.anchor).domain.size();
  for (StageId s : set) {
    StagePlan p;
    p.lane = plan_.stages[s].lane;
    p.rate.assign(graph_.stage(s).domain.size(), {});
    p.periodic.assign(graph_.stage(s).domain.size(), false);
    // Fields of a struct leave as rows that are spread over the elements.
    p.home = leaves_as_field(s) ? Home::ring : Home::array;
    p.also_array = p.home == Home::ring;
    result.stages.push_back(std::move(p));
    if (graph_.stage(s).domain.size() != rank) {
      result.reason = "their ranks differ";
      return result;
    }
  }
  for (StageId c : set)
    for (std::size_t k : reads_[c]) {
      const Edge& edge = edges_[k];
      if (!std::binary_search(set.begin(), set.end(), edge.producer)) continue;
      const std::string& name = graph_.stage(edge.producer).name;
      for (const EdgeDimension& dim : edge.dims)
        if (dim.whole) {
          result.reason = "'" + name + "' is read at indices that are not known before";
          return result;
        }
      // Padding, lags and depths know the offsets only: what is read beyond the extent besides is not in the ring.
      for (std::size_t d = 0; d < edge.dims.size() && graph_.stage(c).kind == StageKind::point; ++d)
        if (!stays_inside(plan_.graph, graph_.stage(c).domain[d], edge.dims[d].mul,
                          graph_.stage(edge.producer).domain[d])) {
          result.reason = "'" + graph_.stage(c).name + "' extends beyond '" + name + "'";
          return result;
        }
      if (edge.column_border_clash) {
        result.reason = "'" + name + "' is read with two borders";
        return result;
      }
      std::size_t i = place(set, edge.producer);
      StagePlan& p = result.stages[i];
      const EdgeDimension& column = edge.dims.back();
      i64 lo = std::max<i64>(0, -column.raw_lo), hi = std::max<i64>(0, column.raw_hi);
      bool reads_outside = (lo > 0 || hi > 0 || column.mul != 1) && edge.column_border.mode != BorderMode::none;
      if (reads_outside && (p.pad_lo > 0 || p.pad_hi > 0) && p.pad.mode != BorderMode::none &&
          !(p.pad == edge.column_border)) {
        result.reason = "'" + name + "' is read with two borders";
        return result;
      }
      if (reads_outside) p.pad = edge.column_border;
      p.pad_lo = std::max(p.pad_lo, lo);
      p.pad_hi = std::max(p.pad_hi, hi);
      p.home = Home::ring;
      p.also_array = leaves_group(edge.producer, set);
    }
  place_pieces(set, result);
  if (!find_rates(set, result) || !find_periodic(set, result)) return result;
  // The last tile takes what is left of a result: it has to be what the anchor's tile is at the result's rate.
  for (StageId s : set)
    for (std::size_t d = 0; d < rank && leaves_group(s, set); ++d) {
      const StagePlan::Rate& r = result.stages[place(set, s)].rate[d];
      ir::Graph& sizes = plan_.graph;
      ir::SizeId scaled = sizes.size_binary(ir::SizeOp::mul, graph_.stage(result.anchor).domain[d], sizes.size(r.num));
      if (ir::at_most(sizes, graph_.stage(s).domain[d], sizes.size_floor_div(scaled, r.den))) continue;
      result.reason =
          "'" + graph_.stage(s).name + "' has another extent than '" + graph_.stage(result.anchor).name + "'";
      return result;
    }
  find_lags(set, result);
  result.legal = true;
  return result;
}

// Pieces that cover a composed stage are computed right into its ring, when all of them are in the group.
void Grouper::place_pieces(const Set& set, Layout& layout) const {
  for (std::size_t i = 0; i < set.size(); ++i) {
    const Stage& stage = graph_.stage(set[i]);
    if (!fillable_[set[i]]) continue;
    bool all = true;
    for (const ir::Piece& piece : stage.pieces) all = all && std::binary_search(set.begin(), set.end(), *piece.stage);
    if (!all) continue;
    layout.stages[i].filled = true;
    if (layout.stages[i].home == Home::array) layout.stages[i].also_array = true;
    layout.stages[i].home = Home::ring;
    for (const ir::Piece& piece : stage.pieces) {
      StagePlan& p = layout.stages[place(set, *piece.stage)];
      p.home = Home::inside;
      p.whole = set[i];
      p.stride = piece.stride;
      for (ir::SizeId start : piece.start) p.start.push_back(*graph_.constant(start));
      p.pad_lo = p.pad_hi = 0;
    }
  }
}

bool Grouper::find_rates(const Set& set, Layout& layout) const {
  std::size_t rank = graph_.stage(layout.anchor).domain.size();
  std::vector<bool> known(set.size());
  known[place(set, layout.anchor)] = true;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t ci = set.size(); ci-- > 0;)  // from the anchor, most often the last, back to what it reads
      for (std::size_t k : reads_[set[ci]]) {
        const Edge& edge = edges_[k];
        if (!std::binary_search(set.begin(), set.end(), edge.producer)) continue;
        std::size_t pi = place(set, edge.producer);
        if (!known[ci] && !known[pi]) continue;
        for (std::size_t d = 0; d < rank; ++d) {
          StagePlan::Rate& from = layout.stages[known[ci] ? ci : pi].rate[d];
          StagePlan::Rate& to = layout.stages[known[ci] ? pi : ci].rate[d];
          i64 up = known[ci] ? edge.dims[d].mul : edge.dims[d].div;
          i64 down = known[ci] ? edge.dims[d].div : edge.dims[d].mul;
          i64 num = from.num * up, den = from.den * down;
          i64 common = std::gcd(num, den);
          num /= common, den /= common;
          bool both = known[ci] && known[pi];
          if (both && (to.num != num || to.den != den)) {
            layout.reason = "'" + graph_.stage(edge.producer).name + "' and '" + graph_.stage(set[ci]).name +
                            "' advance at rates that do not fit";
            return false;
          }
          to.num = num, to.den = den;
        }
        if (!known[ci] || !known[pi]) again = true;
        known[ci] = known[pi] = true;
      }
    if (again) continue;
    // Parts that nothing connects run side by side when their results have the anchor's domain.
    for (std::size_t i = set.size(); i-- > 0 && !again;)
      if (!known[i]) {
        if (graph_.stage(set[i]).domain != graph_.stage(layout.anchor).domain) {
          layout.reason = "'" + graph_.stage(set[i]).name + "' has another extent and no stage in common";
          return false;
        }
        known[i] = true;
        again = true;
      }
  }
  return true;
}

bool Grouper::find_periodic(const Set& set, Layout& layout) const {
  // A producer that is read around the edge is computed beyond its domain; then everything it reads must continue
  // periodically too: its own accesses off the point must wrap, and the stages it reads at the point become periodic.
  for (std::size_t ci = set.size(); ci-- > 0;)
    for (std::size_t k : reads_[set[ci]]) {
      const Edge& edge = edges_[k];
      bool inside = std::binary_search(set.begin(), set.end(), edge.producer);
      for (std::size_t d = 0; d < edge.dims.size(); ++d) {
        const EdgeDimension& dim = edge.dims[d];
        std::size_t rank = layout.stages[ci].periodic.size();
        if (d + rank < edge.dims.size()) continue;  // the reader lacks the dimension: an absolute index
        std::size_t own = d + rank - edge.dims.size();
        bool periodic = layout.stages[ci].periodic[own];
        if (periodic) {
          bool same = graph_.stage(edge.producer).domain[d] == graph_.stage(set[ci]).domain[own];
          if ((!dim.own && !dim.wraps) || dim.other_border || dim.mul != 1 || dim.div != 1 || !same) {
            layout.reason = "'" + graph_.stage(set[ci]).name + "' is read around the edge, but does not continue there";
            return false;
          }
        }
        if (inside && dim.wraps) {
          if (dim.mul != 1 || dim.other_border ||
              graph_.stage(edge.producer).domain[d] != graph_.stage(set[ci]).domain[own]) {
            layout.reason = "'" + graph_.stage(edge.producer).name + "' is read around the edge at another scale";
            return false;
          }
          periodic = true;
        }
        if (inside && periodic) layout.stages[place(set, edge.producer)].periodic[d] = true;
      }
    }
  for (std::size_t i = 0; i < set.size(); ++i) {
    const Stage& stage = graph_.stage(set[i]);
    bool any = false;
    for (std::size_t d = 0; d < stage.domain.size(); ++d) {
      bool periodic = layout.stages[i].periodic[d];
      any = any || periodic;
      if (!periodic) continue;
      bool margins = stage.kind == StageKind::point && (stage.margin_lo[d] > 0 || stage.margin_hi[d] > 0);
      if (stage.kind == StageKind::compose || margins) {
        layout.reason = "'" + stage.name + "' is read around the edge, but does not continue there";
        return false;
      }
      // Every reader inside the group must see the periodic continuation.
      for (std::size_t k : read_by_[set[i]]) {
        const EdgeDimension& dim = edges_[k].dims[d];
        if (std::binary_search(set.begin(), set.end(), edges_[k].consumer) && dim.other_border) {
          layout.reason = "'" + stage.name + "' is read with two borders";
          return false;
        }
      }
    }
    if (!any) continue;
    for (ir::ExprId e : ir::postorder(graph_, {stage.body})) {
      ir::Op op = graph_.node(e).op;
      if (op == ir::Op::coord || op == ir::Op::gather) {
        layout.reason = "'" + stage.name + "' uses its coordinates and is read around the edge";
        return false;
      }
    }
  }
  return true;
}

void Grouper::find_lags(const Set& set, Layout& layout) const {
  std::size_t rank = graph_.stage(layout.anchor).domain.size();
  bool whole_tile = plan_.options.schedule == Schedule::tiled;
  layout.step = rank > 2 ? 1 : 4;
  for (const StagePlan& stage : layout.stages)
    if (stage.rate[0].den > 1) layout.step = rank > 2 ? 2 : 8;
  // Blocks of planes take four at once.
  const auto unit = [](const StagePlan& stage) { return stage.rate[0].num == 1 && stage.rate[0].den == 1; };
  if (rank > 2 && std::all_of(layout.stages.begin(), layout.stages.end(), unit))
    for (StageId s : set)
      if (blocks_along(s, set) == 0) layout.step = 4;
  // Of a signal there is but one row.
  const auto rows = graph_.constant(graph_.stage(layout.anchor).domain[0]);
  if (rank <= 2 && rows && *rows < layout.step && std::all_of(layout.stages.begin(), layout.stages.end(), unit))
    layout.step = std::max<i64>(1, *rows);
  i64 step = layout.step;
  for (std::size_t i = set.size(); i-- > 0;) {
    StagePlan& p = layout.stages[i];
    bool first = true;
    auto include = [&](std::size_t d, i64 before, i64 after) {
      StagePlan::Rate& r = p.rate[d];
      r.before = first ? before : std::min(r.before, before);
      r.after = first ? after : std::max(r.after, after);
    };
    i64 lag = 0;
    if (leaves_group(set[i], set)) {  // its own part of the tile
      for (std::size_t d = 0; d < rank; ++d) include(d, 0, 0);
      first = false;
    }
    for (std::size_t k : read_by_[set[i]]) {
      const Edge& edge = edges_[k];
      if (!std::binary_search(set.begin(), set.end(), edge.consumer)) continue;
      const StagePlan& c = layout.stages[place(set, edge.consumer)];
      for (std::size_t d = 0; d < rank; ++d) {
        const EdgeDimension dim = p.home == Home::inside ? any_phase(edge.dims[d]) : edge.dims[d];
        include(d,
                floor_divide(dim.mul * (c.rate[d].before - (c.rate[d].den > 1 ? 1 : 0)) + dim.lo, dim.div) -
                    (dim.div > 1 ? 1 : 0),
                ceil_divide(dim.mul * (c.rate[d].after - 1) + dim.hi, dim.div) + 1);
      }
      const EdgeDimension row = p.home == Home::inside ? any_phase(edge.dims[0]) : edge.dims[0];
      i64 needed = ceil_divide(row.mul * (c.lag - 1) + row.hi, row.div) + 1;
      lag = first ? needed : std::max(lag, needed);
      first = false;
    }
    p.lag = lag;
  }
  for (std::size_t i = 0; i < set.size(); ++i) {
    StagePlan& p = layout.stages[i];
    if (p.home != Home::ring || whole_tile) {
      p.depth = 0;
      continue;
    }
    i64 ahead = 0;
    bool leaves = leaves_as_field(set[i]) || p.filled;
    p.depth = leaves ? ceil_divide(step * p.rate[0].num, p.rate[0].den) + 1 : 1;
    for (std::size_t k : read_by_[set[i]]) {
      const Edge& edge = edges_[k];
      if (!std::binary_search(set.begin(), set.end(), edge.consumer)) continue;
      const StagePlan& c = layout.stages[place(set, edge.consumer)];
      const EdgeDimension& row = edge.dims[0];
      i64 rows = ceil_divide(step * p.rate[0].num, p.rate[0].den);
      i64 slack = (c.rate[0].den > 1 || p.rate[0].den > 1 || row.div > 1) ? row.mul + 1 : 0;
      i64 lowest = floor_divide(row.mul * c.lag + row.lo, row.div);
      p.depth = std::max(p.depth, p.lag + rows - lowest + slack);
    }
    if (!p.filled) continue;
    // Pieces may be ahead of what they fill.
    for (const ir::Piece& piece : graph_.stage(set[i]).pieces) {
      i64 reached = piece.stride[0] * layout.stages[place(set, *piece.stage)].lag;
      ahead = std::max(ahead, reached - p.lag + piece.stride[0]);
    }
    p.depth += ahead;
  }
}

}  // namespace tessera::plan
