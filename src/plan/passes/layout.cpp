// See layout.hpp.
#include "plan/passes/layout.hpp"

#include <algorithm>
#include <numeric>

#include "base/division.hpp"
#include "ir/keyed.hpp"
#include "plan/groups/pieces.hpp"
#include "plan/groups/tile_groups.hpp"

namespace tessera::plan {

using base::ceil_divide, base::floor_divide;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

// Rows of the anchor that a step takes: those of a block, and where a stage is coarser twice as many; of volumes
// planes.
constexpr i64 rows_a_step = 4, coarse_rows_a_step = 8, planes_a_step = 1, coarse_planes_a_step = 2;

// What num / den of an extent are, rounded up.
ir::SizeId scaled_up(ir::Graph& graph, ir::SizeId extent, i64 num, i64 den) {
  const ir::SizeId scaled = graph.size_binary(ir::SizeOp::mul, extent, graph.size(num));
  return graph.size_floor_div(graph.size_binary(ir::SizeOp::add, scaled, graph.size(den - 1)), den);
}

// Does a consumer that reads index mul * i (and offsets) stay on the producer's extent, but for the offsets?
bool stays_inside(ir::Graph& graph, ir::SizeId consumer, i64 mul, ir::SizeId producer) {
  return ir::at_most(graph, consumer, scaled_up(graph, producer, 1, mul));
}

bool is_one(const StagePlan::Rate& rate) {
  return rate.num == 1 && rate.den == 1;
}

// A set on its way to a layout: each step says whether the set is still one that can stream, and if not, why.
class FindLayout {
 public:
  FindLayout(const GraphFacts& facts, const Set& set, std::vector<bool> leaves)
      : facts_(facts), graph_(facts.graph), set_(set) {
    found_.leaves = std::move(leaves);
  }

  Layout found() {
    find_anchor();
    found_.legal = start() && place_rings() && find_rates() && find_periodic() && results_fit() && bins_fit();
    if (!found_.legal) return std::move(found_);
    find_step();
    for (std::size_t i = set_.size(); i-- > 0;) find_lag(i);
    for (std::size_t i = 0; i < set_.size(); ++i) find_depth(i);
    return std::move(found_);
  }

 private:
  bool refused(std::string why) {
    found_.reason = std::move(why);
    return false;
  }
  bool inside(StageId s) const { return contains(set_, s); }
  const std::string& name(StageId s) const { return graph_.stage(s).name; }
  StagePlan& plan_of(StageId s) { return found_.stages[place_in(set_, s)]; }
  std::size_t rank() const { return graph_.stage(found_.anchor).domain.size(); }

  void find_anchor();
  bool start();
  bool place_rings();
  bool place_ring(const Edge&);
  void place_pieces();
  bool find_rates();
  bool find_periodic();
  bool wraps(std::size_t consumer, const Edge&, std::size_t dim);
  bool continues(std::size_t i);
  bool results_fit();
  bool bins_fit();
  void find_step();
  void find_lag(std::size_t i);
  void find_depth(std::size_t i);

  const GraphFacts& facts_;
  ir::Graph& graph_;
  const Set& set_;
  Layout found_;
};

// The largest result, the last among equals.
void FindLayout::find_anchor() {
  found_.anchor = set_.back();
  double most = -1;
  for (std::size_t i = 0; i < set_.size(); ++i)
    if (found_.leaves[i]) most = std::max(most, facts_.of(set_[i]).points);
  for (std::size_t i = 0; i < set_.size(); ++i)
    if (found_.leaves[i] && facts_.of(set_[i]).points == most) found_.anchor = set_[i];
}

bool FindLayout::start() {
  for (StageId s : set_) {
    StagePlan p;
    p.lane = facts_.of(s).lane;
    p.rate.assign(graph_.stage(s).domain.size(), {});
    p.periodic.assign(graph_.stage(s).domain.size(), false);
    // Fields of a struct leave as rows that are spread over the elements.
    p.home = facts_.of(s).is_field ? Home::ring : Home::array;
    p.also_array = p.home == Home::ring;
    if (const auto keyed = ir::keyed_of(graph_, graph_.stage(s))) p.extents = ir::partial_extents(graph_, *keyed);
    found_.stages.push_back(std::move(p));
    if (graph_.stage(s).domain.size() != rank()) return refused("their ranks differ");
  }
  return true;
}

bool FindLayout::place_rings() {
  for (StageId c : set_)
    for (std::size_t k : facts_.of(c).reads)
      if (inside(facts_.edges[k].producer) && !place_ring(facts_.edges[k])) return false;
  place_pieces();
  return true;
}

// Of what a stage of the set reads of another one.
bool FindLayout::place_ring(const Edge& edge) {
  const StageId c = edge.consumer;
  const Stage& producer = graph_.stage(edge.producer);
  for (const EdgeDimension& dim : edge.dims)
    if (dim.whole) return refused("'" + producer.name + "' is read at indices that are not known before");
  // Padding, lags and depths know the offsets only: what is read beyond the extent besides is not in the ring.
  for (std::size_t d = 0; d < edge.dims.size() && graph_.stage(c).kind == StageKind::point; ++d)
    if (!stays_inside(graph_, graph_.stage(c).domain[d], edge.dims[d].mul, producer.domain[d]))
      return refused("'" + name(c) + "' extends beyond '" + producer.name + "'");
  if (edge.column_border_clash) return refused("'" + producer.name + "' is read with two borders");
  StagePlan& p = plan_of(edge.producer);
  const EdgeDimension& column = edge.dims.back();
  i64 lo = std::max<i64>(0, -column.raw_lo), hi = std::max<i64>(0, column.raw_hi);
  bool reads_outside = (lo > 0 || hi > 0 || column.mul != 1) && edge.column_border.mode != BorderMode::none;
  if (reads_outside && (p.pad_lo > 0 || p.pad_hi > 0) && p.pad.mode != BorderMode::none &&
      !(p.pad == edge.column_border))
    return refused("'" + producer.name + "' is read with two borders");
  if (reads_outside) p.pad = edge.column_border;
  p.pad_lo = std::max(p.pad_lo, lo);
  p.pad_hi = std::max(p.pad_hi, hi);
  p.home = Home::ring;
  p.also_array = found_.leaves[place_in(set_, edge.producer)];
  return true;
}

// Pieces that cover a composed stage are computed right into its ring, when all of them are in the group.
void FindLayout::place_pieces() {
  for (std::size_t i = 0; i < set_.size(); ++i) {
    const Stage& stage = graph_.stage(set_[i]);
    if (!facts_.of(set_[i]).fillable) continue;
    bool all = true;
    for (const ir::Piece& piece : stage.pieces) all = all && inside(*piece.stage);
    if (!all) continue;
    found_.stages[i].filled = true;
    if (found_.stages[i].home == Home::array) found_.stages[i].also_array = true;
    found_.stages[i].home = Home::ring;
    for (const ir::Piece& piece : stage.pieces) {
      StagePlan& p = plan_of(*piece.stage);
      p.home = Home::inside;
      p.whole = set_[i];
      p.stride = piece.stride;
      for (ir::SizeId start : piece.start) p.start.push_back(*graph_.constant(start));
      p.pad_lo = p.pad_hi = 0;
    }
  }
}

bool FindLayout::find_rates() {
  std::vector<bool> known(set_.size());
  known[place_in(set_, found_.anchor)] = true;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t ci = set_.size(); ci-- > 0;)  // from the anchor, most often the last, back to what it reads
      for (std::size_t k : facts_.of(set_[ci]).reads) {
        const Edge& edge = facts_.edges[k];
        if (!inside(edge.producer)) continue;
        std::size_t pi = place_in(set_, edge.producer);
        if (!known[ci] && !known[pi]) continue;
        for (std::size_t d = 0; d < rank(); ++d) {
          StagePlan::Rate& from = found_.stages[known[ci] ? ci : pi].rate[d];
          StagePlan::Rate& to = found_.stages[known[ci] ? pi : ci].rate[d];
          i64 up = known[ci] ? edge.dims[d].mul : edge.dims[d].div;
          i64 down = known[ci] ? edge.dims[d].div : edge.dims[d].mul;
          i64 num = from.num * up, den = from.den * down;
          i64 common = std::gcd(num, den);
          num /= common, den /= common;
          bool both = known[ci] && known[pi];
          if (both && (to.num != num || to.den != den))
            return refused("'" + name(edge.producer) + "' and '" + name(set_[ci]) +
                           "' advance at rates that do not fit");
          to.num = num, to.den = den;
        }
        if (!known[ci] || !known[pi]) again = true;
        known[ci] = known[pi] = true;
      }
    if (again) continue;
    // Parts that nothing connects run side by side when their results have the anchor's domain.
    for (std::size_t i = set_.size(); i-- > 0 && !again;)
      if (!known[i]) {
        if (graph_.stage(set_[i]).domain != graph_.stage(found_.anchor).domain)
          return refused("'" + name(set_[i]) + "' has another extent and no stage in common");
        known[i] = true;
        again = true;
      }
  }
  return true;
}

// A producer that is read around the edge is computed beyond its domain; then everything it reads must continue
// periodically too: its own accesses off the point must wrap, and the stages it reads at the point become periodic.
bool FindLayout::find_periodic() {
  for (std::size_t ci = set_.size(); ci-- > 0;)
    for (std::size_t k : facts_.of(set_[ci]).reads)
      for (std::size_t d = 0; d < facts_.edges[k].dims.size(); ++d)
        if (!wraps(ci, facts_.edges[k], d)) return false;
  for (std::size_t i = 0; i < set_.size(); ++i)
    if (!continues(i)) return false;
  return true;
}

bool FindLayout::wraps(std::size_t ci, const Edge& edge, std::size_t d) {
  const EdgeDimension& dim = edge.dims[d];
  const std::size_t rank_of_reader = found_.stages[ci].periodic.size();
  if (d + rank_of_reader < edge.dims.size()) return true;  // the reader lacks the dimension: an absolute index
  const std::size_t own = d + rank_of_reader - edge.dims.size();
  const bool same = graph_.stage(edge.producer).domain[d] == graph_.stage(set_[ci]).domain[own];
  bool periodic = found_.stages[ci].periodic[own];
  if (periodic && ((!dim.own && !dim.wraps) || dim.other_border || dim.mul != 1 || dim.div != 1 || !same))
    return refused("'" + name(set_[ci]) + "' is read around the edge, but does not continue there");
  if (!inside(edge.producer)) return true;
  if (dim.wraps) {
    if (dim.mul != 1 || dim.other_border || !same)
      return refused("'" + name(edge.producer) + "' is read around the edge at another scale");
    periodic = true;
  }
  if (periodic) plan_of(edge.producer).periodic[d] = true;
  return true;
}

// Can a stage that is read around the edge be computed there?
bool FindLayout::continues(std::size_t i) {
  const Stage& stage = graph_.stage(set_[i]);
  bool any = false;
  for (std::size_t d = 0; d < stage.domain.size(); ++d) {
    if (!found_.stages[i].periodic[d]) continue;
    any = true;
    bool margins = stage.kind == StageKind::point && (stage.margin_lo[d] > 0 || stage.margin_hi[d] > 0);
    if (stage.kind == StageKind::compose || margins)
      return refused("'" + stage.name + "' is read around the edge, but does not continue there");
    // Every reader inside the group must see the periodic continuation.
    for (std::size_t k : facts_.of(set_[i]).read_by) {
      const Edge& edge = facts_.edges[k];
      if (inside(edge.consumer) && edge.dims[d].other_border)
        return refused("'" + stage.name + "' is read with two borders");
    }
  }
  if (!any) return true;
  for (ir::ExprId e : ir::postorder(graph_, {stage.body})) {
    ir::Op op = graph_.node(e).op;
    if (op == ir::Op::coord || op == ir::Op::gather)
      return refused("'" + stage.name + "' uses its coordinates and is read around the edge");
  }
  return true;
}

// The last tile takes what is left of a result: it has to be what the anchor's tile is at the result's rate, or the
// point behind that, for which there is room.
bool FindLayout::results_fit() {
  for (std::size_t i = 0; i < set_.size(); ++i)
    for (std::size_t d = 0; d < rank() && found_.leaves[i]; ++d) {
      const StagePlan::Rate& r = found_.stages[i].rate[d];
      const ir::SizeId most = scaled_up(graph_, graph_.stage(found_.anchor).domain[d], r.num, r.den);
      if (ir::at_most(graph_, graph_.stage(set_[i]).domain[d], most)) continue;
      return refused("'" + name(set_[i]) + "' has another extent than '" + name(found_.anchor) + "'");
    }
  return true;
}

// Tiles are the pieces of elements that go into bins: those of all of them, if there are several.
bool FindLayout::bins_fit() {
  std::optional<i64> pieces;
  for (const StageId s : set_) {
    const auto keyed = ir::keyed_of(graph_, graph_.stage(s));
    if (!keyed) continue;
    if (facts_.machine.columns_together && set_.size() > 1) return refused("'" + name(s) + "' puts elements into bins");
    if (graph_.stage(s).domain != graph_.stage(found_.anchor).domain)
      return refused("the tiles of '" + name(found_.anchor) + "' are no pieces of '" + name(s) + "'");
    const i64 own = ir::pieces_of(graph_, *keyed);
    if (pieces.value_or(own) != own) return refused("what goes into bins is cut into other pieces");
    pieces = own;
  }
  return true;
}

void FindLayout::find_step() {
  const bool volume = rank() > 2;
  i64& step = found_.step;
  step = volume ? planes_a_step : rows_a_step;
  for (const StagePlan& stage : found_.stages)
    if (stage.rate[0].den > 1) step = volume ? coarse_planes_a_step : coarse_rows_a_step;
  const bool all_alike = std::all_of(found_.stages.begin(), found_.stages.end(),
                                     [](const StagePlan& stage) { return is_one(stage.rate[0]); });
  // Blocks of planes take four at once.
  if (volume && all_alike)
    for (StageId s : set_)
      if (blocks_along(facts_, s, set_.size()) == 0) step = rows_a_step;
  // Of a signal there is but one row.
  const auto rows = graph_.constant(graph_.stage(found_.anchor).domain[0]);
  if (!volume && rows && *rows < step && all_alike) step = std::max<i64>(1, *rows);
}

// And how far beyond a tile's share it goes. Consumers come before producers.
void FindLayout::find_lag(std::size_t i) {
  StagePlan& p = found_.stages[i];
  bool first = true;
  auto include = [&](std::size_t d, i64 before, i64 after) {
    StagePlan::Rate& r = p.rate[d];
    r.before = first ? before : std::min(r.before, before);
    r.after = first ? after : std::max(r.after, after);
  };
  if (found_.leaves[i]) {  // its own part of the tile
    for (std::size_t d = 0; d < rank(); ++d) include(d, 0, 0);
    first = false;
  }
  for (std::size_t k : facts_.of(set_[i]).read_by) {
    const Edge& edge = facts_.edges[k];
    if (!inside(edge.consumer)) continue;
    const StagePlan& c = plan_of(edge.consumer);
    for (std::size_t d = 0; d < rank(); ++d) {
      const EdgeDimension dim = p.home == Home::inside ? any_phase(edge.dims[d]) : edge.dims[d];
      include(d,
              floor_divide(dim.mul * (c.rate[d].before - (c.rate[d].den > 1 ? 1 : 0)) + dim.lo, dim.div) -
                  (dim.div > 1 ? 1 : 0),
              ceil_divide(dim.mul * (c.rate[d].after - 1) + dim.hi, dim.div) + 1);
    }
    const EdgeDimension row = p.home == Home::inside ? any_phase(edge.dims[0]) : edge.dims[0];
    i64 needed = ceil_divide(row.mul * (c.lag - 1) + row.hi, row.div) + 1;
    p.lag = first ? needed : std::max(p.lag, needed);
    first = false;
  }
}

// Of a ring: up to what its last consumer still reads.
void FindLayout::find_depth(std::size_t i) {
  StagePlan& p = found_.stages[i];
  p.depth = 0;
  if (p.home != Home::ring || facts_.options.schedule == Schedule::tiled) return;
  const i64 rows = ceil_divide(found_.step * p.rate[0].num, p.rate[0].den);
  const bool leaves = facts_.of(set_[i]).is_field || p.filled;
  p.depth = leaves ? rows + 1 : 1;
  for (std::size_t k : facts_.of(set_[i]).read_by) {
    const Edge& edge = facts_.edges[k];
    if (!inside(edge.consumer)) continue;
    const StagePlan& c = plan_of(edge.consumer);
    const EdgeDimension& row = edge.dims[0];
    i64 slack = (c.rate[0].den > 1 || p.rate[0].den > 1 || row.div > 1) ? row.mul + 1 : 0;
    i64 lowest = floor_divide(row.mul * c.lag + row.lo, row.div);
    p.depth = std::max(p.depth, p.lag + rows - lowest + slack);
  }
  if (!p.filled) return;
  // Pieces may be ahead of what they fill.
  i64 ahead = 0;
  for (const ir::Piece& piece : graph_.stage(set_[i]).pieces) {
    i64 reached = piece.stride[0] * plan_of(*piece.stage).lag;
    ahead = std::max(ahead, reached - p.lag + piece.stride[0]);
  }
  p.depth += ahead;
}

double taps(const EdgeDimension& dim) {
  return dim.whole ? 1 : static_cast<double>(dim.raw_hi - dim.raw_lo + 1);
}

// Where arrays are loaded one step before they are read.
Strip strip_of_set(const GraphFacts& facts, const Set& set, const Layout& layout) {
  Strip strip = strip_of(
      facts.graph, set, [&](StageId s) -> const StripReads& { return facts.of(s).strip_reads; },
      [&](StageId s) { return layout.leaves[place_in(set, s)]; },
      [&](StageId s) -> const std::vector<StagePlan::Rate>& { return layout.stages[place_in(set, s)].rate; });
  if (strip.why.empty()) strip.look_ahead(1);
  return strip;
}

}  // namespace

std::vector<bool> leaving(const GraphFacts& facts, const Set& set) {
  std::vector<bool> result;
  for (const StageId s : set)
    result.push_back(facts.of(s).is_output ||
                     std::any_of(facts.of(s).read_by.begin(), facts.of(s).read_by.end(),
                                 [&](std::size_t k) { return !contains(set, facts.edges[k].consumer); }));
  return result;
}

// In groups planes are worth four a step only where there are many.
std::size_t blocks_along(const GraphFacts& facts, StageId s, std::size_t stages_of_group) {
  const Stage& stage = facts.graph.stage(s);
  const std::size_t rank = stage.domain.size();
  const std::size_t rows = rank < 2 ? 0 : rank - 2;
  if (rank <= 2 || facts.machine.columns_together || stage.kind != StageKind::point) return rows;
  double most = stages_of_group == 1 ? 2 : 4;
  std::size_t along = rows;
  for (std::size_t k : facts.of(s).reads) {
    const Edge& edge = facts.edges[k];
    if (edge.dims.size() != rank) continue;
    if (taps(edge.dims[rows]) > 1) return rows;
    for (std::size_t d = 0; d < rows; ++d)
      if (edge.dims[d].mul == 1 && edge.dims[d].div == 1 && taps(edge.dims[d]) > most) {
        most = taps(edge.dims[d]);
        along = d;
      }
  }
  return along;
}

Layout layout(const GraphFacts& facts, const Set& set, std::vector<bool> leaves) {
  const TileGroups tiles(facts);
  if (facts.plans_strips && !reduction_pairs(facts.graph, set).empty()) {
    Layout found = layout_of_pieces(facts, set, std::move(leaves));
    found.strip = strip_of_set(facts, set, found);
    return found;
  }
  Layout found = set.size() > 1 && tiles.has_tiles(set) ? tiles.layout_of_tiles(set, std::move(leaves))
                                                        : FindLayout(facts, set, std::move(leaves)).found();
  if (found.legal && facts.plans_strips) found.strip = strip_of_set(facts, set, found);
  return found;
}

Layout planned_layout(const GraphFacts& facts, const Group& group, const std::vector<StagePlan>& stages) {
  Layout found;
  found.anchor = group.anchor;
  for (StageId s : group.stages) found.stages.push_back(stages[s]);
  found.leaves = leaving(facts, group.stages);
  if (facts.plans_strips) found.strip = strip_of_set(facts, group.stages, found);
  return found;
}

}  // namespace tessera::plan
