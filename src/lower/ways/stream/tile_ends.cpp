// What runs beside sums that are computed through Fourier transforms of tiles, in one function with them.
//
//   for every pair of tiles:
//     what a sum reads is computed for the points of both tiles, on images continued by the border of the sum
//     the pair (tiles.cpp), whose results go to a ring that holds no more
//     passes over these: what reads sums at its own point
//
// Passes are those of any group (pass.cpp), on the region of a pair. A point beyond the image is the same function
// of images beyond theirs, since all are read at the same point; but where the border of the sum is a number.
#include <algorithm>

#include "lower/vocabulary.hpp"
#include "lower/ways/stream/tiles.hpp"

namespace tessera::lower {

using ir::ExprNode;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;

std::optional<StageId> GroupLowering::prologue_of(StageId tiled) const {
  for (const plan::Edge& edge : edges_)
    if (edge.consumer == tiled && in_group(edge.producer)) return edge.producer;
  return {};
}

// The border of a sum, on the images that its prologue reads.
void GroupLowering::take_borders(StageId tiled, StageId prologue) {
  ir::Graph& graph = plan_.graph;
  const rewrite::Convolution sum = rewrite::convolution_of(graph, stage(tiled), plan_.options.numbers).value();
  const ir::ExprId body = ir::rewrite(graph, stage(prologue).body, [&](ir::ExprId, const ExprNode& node) {
    if (node.op != ir::Op::access) return ir::ExprId{};
    ExprNode moved = node;
    const std::size_t lead = rank_ - node.index.size();
    for (std::size_t d = 0; d < node.index.size(); ++d) {
      const Border& border = sum.border[d + lead];
      const bool number = border.mode == BorderMode::constant || border.mode == BorderMode::none;
      moved.border[d] = number ? Border{BorderMode::clamp, 0} : border;
    }
    return graph.expr(std::move(moved));
  });
  graph.stage(prologue).body = body;
}

// The regions of all passes and the places of their rings, for one pair of tiles.
void GroupLowering::begin_pair(const std::vector<Value>& index, const Value& x0) {
  if (!fused()) return;
  const Transform& t = *transforms_.front();
  Region pair;
  for (std::size_t d = 0; d + 2 < rank_; ++d) {
    const bool march = stacked() && d + 3 == rank_;
    pair.lo.push_back(index[d]);
    pair.hi.push_back(march ? builder_->let("hi", min(index[d] + 2, wanted_.hi[d])) : index[d] + 1);
  }
  Region own = pair;
  const Value ends[2] = {index.back() + t.high, x0 + 2 * t.wide};
  pair.lo.insert(pair.lo.end(), {index.back(), x0});
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t d = rank_ - 2 + k;
    own.lo.push_back(builder_->let("lo", max(pair.lo[d], wanted_.lo[d])));
    own.hi.push_back(builder_->let("hi", min(ends[k], wanted_.hi[d])));
    pair.hi.push_back(own.hi.back());
  }
  for (std::size_t p = 0; p < group_.passes.size(); ++p) {
    const StageId front = group_.passes[p].stages.front();
    const bool ring = plan_.stages[front].home == plan::Home::ring;  // of whole tiles
    regions_[p] = stage(front).note > 0 && ring ? pair : own;
  }
  for (auto& [s, region] : own_) region = own;
  done_.assign(group_.passes.size(), {});
  for (std::size_t p = 0; p < group_.passes.size(); ++p) done_[p] = regions_[p].hi[0];
  for (auto& [s, ring] : rings_)
    ring.base = builder_->let("ring", address(ring.first, x0 * -ir::nest::size_of(memory_lane(s))));
}

// Of the points that both tiles read.
void GroupLowering::prologue(const std::vector<Value>& index, const Value& x0) {
  const Transform& t = *transform_;
  const StageId s = *t.prologue;
  const std::size_t p = pass_of(s), across = rank_ - 1;
  const auto& lo = t.sum.weights.lo;
  Region& region = regions_[p];
  region.lo = index;
  region.hi.clear();
  for (const Value& i : index) region.hi.push_back(i + 1);
  region.lo.back() = builder_->let("lo", index.back() + lo[rank_ - 2]);
  region.hi.back() = builder_->let("hi", region.lo.back() + t.rows);
  const Value x = builder_->let("x", x0 + lo[across]);
  const Value second = less(x0 + t.wide, extent(stage(t.stage).domain[across]));
  const Value width = builder_->let("width", choose(second, integer(t.wide), integer(0)) + t.tile.columns);
  region.lo.push_back(x);
  region.hi.push_back(builder_->let("hi", x + width));
  Ring& ring = rings_.at(s);
  ring.base = builder_->let("ring", address(ring.first, x * -ir::nest::size_of(memory_lane(s))));
  done_[p] = region.lo[0];
  pass_rows(p, region.hi[0]);
  done_[p] = region.hi[0];
  fill_outside(index, x, width);
}

// With the numbers of a constant border.
void GroupLowering::fill_outside(const std::vector<Value>& index, const Value& x, const Value& width) {
  const Transform& t = *transform_;
  const StageId s = *t.prologue;
  const Border &rows = t.sum.border[rank_ - 2], &columns = t.sum.border[rank_ - 1];
  const bool rows_end = rows.mode == BorderMode::constant, columns_end = columns.mode == BorderMode::constant;
  if (!rows_end && !columns_end) return;
  const std::vector<ir::SizeId>& domain = stage(s).domain;
  const Value high = extent(domain[rank_ - 2]), wide = extent(domain[rank_ - 1]);
  const i64 size = ir::nest::size_of(memory_lane(s));
  const auto fill = [&](const Value& row, const Value& from, const Value& to, const Border& border) {
    builder_->call("tsr_fill", {address(row, from * size), to - from, integer(size), integer(border_bits(border, s))});
  };
  const Value end = builder_->let("end", x + width);
  builder_->loop("i", integer(0), integer(t.rows), integer(1), [&](const Value& i) {
    std::vector<Value> at = index;
    at.back() = builder_->let("y", index.back() + i + t.sum.weights.lo[rank_ - 2]);
    const Value row = builder_->let("row", row_at(s, at));
    const auto ends = [&] {
      if (!columns_end) return;
      fill(row, x, builder_->let("to", min(max(integer(0), x), end)), columns);
      fill(row, builder_->let("from", min(max(wide, x), end)), end, columns);
    };
    if (!rows_end) return ends();
    const Value inside = less(integer(-1), at.back()) & less(at.back(), high);
    builder_->branch(inside, ends, [&] { fill(row, x, end, rows); });
  });
}

// What reads the sums, on the results of a pair.
void GroupLowering::epilogue() {
  for (std::size_t p = 0; p < group_.passes.size(); ++p) {
    const StageId front = group_.passes[p].stages.front();
    const auto before = [&](const auto& t) { return t->prologue == front; };
    if (stage(front).note > 0 || std::any_of(transforms_.begin(), transforms_.end(), before)) continue;
    done_[p] = regions_[p].lo[0];
    pass_rows(p, regions_[p].hi[0]);
    done_[p] = regions_[p].hi[0];
  }
}

}  // namespace tessera::lower
