// See finish.hpp.
#include "lower/ways/stream/finish.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::StageKind;
using ir::nest::integer;
using ir::nest::Value;

namespace {

// Of the row of a stage that is computed by points, from `lo` to `hi`.
void zero_margins(const TileFunction& tile, StageId s, const std::vector<Value>& index, const Value& target,
                  const Value& lo, const Value& hi) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const ir::Stage& point = group.stage(s);
  const i64 size = group.bytes(s);
  const auto zero = [&](const Value& from, const Value& to) {
    b.call("tsr_zero", {address(target, from * size), (to - from) * size});
  };
  Value off;
  for (std::size_t d = 0; d + 1 < group.rank; ++d) {
    if (point.margin_lo[d] > 0) {
      Value below = less(index[d], integer(point.margin_lo[d]));
      off = off ? off | below : below;
    }
    if (point.margin_hi[d] > 0) {
      Value above = less(tile.extent(point.domain[d]) - (1 + point.margin_hi[d]), index[d]);
      off = off ? off | above : above;
    }
  }
  if (off) b.branch(off, [&] { zero(lo, hi); });
  if (point.margin_lo.back() > 0) {
    Value to = b.let("to", min(integer(point.margin_lo.back()), hi));
    b.branch(less(lo, to), [&] { zero(lo, to); });
  }
  if (point.margin_hi.back() > 0) {
    Value from = b.let("from", max(tile.extent(point.domain.back()) - point.margin_hi.back(), lo));
    b.branch(less(from, hi), [&] { zero(from, hi); });
  }
}

// To the array of a result, of which the tile gives a share.
void copy_row(const TileFunction& tile, StageId s, const std::vector<Value>& index, const Value& target) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const Region& own = tile.own.at(s);
  const i64 size = group.bytes(s);
  b.branch(tile.is_mine(s, index), [&] {
    const Value to = tile.placed_row(s, index);
    b.call("tsr_copy_strided",
           {to, integer(group.place(s)->element_stride), address(target, own.lo[group.rank - 1] * size),
            own.hi[group.rank - 1] - own.lo[group.rank - 1], integer(size)});
  });
}

}  // namespace

void finish_row(const TileFunction& tile, StageId s, const std::vector<Value>& index, const Value& target) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const plan::StagePlan& plan = group.plan_of(s);
  const Region& region = tile.regions[group.pass_of(s)];
  const Value lo = region.lo[group.rank - 1], hi = region.hi[group.rank - 1];
  const i64 size = group.bytes(s);
  const Value n = tile.extent(group.stage(s).domain.back());
  if (group.stage(s).kind == StageKind::point) zero_margins(tile, s, index, target, lo, hi);
  if (plan.home != plan::Home::ring) return;
  if ((plan.pad_lo > 0 || plan.pad_hi > 0) && !plan.periodic.back() && plan.pad.mode != BorderMode::none) {
    // (The end of what is there only counts where it is that of the row.)
    const i64 unit = group.bordered(plan.pad.mode);
    const auto points = [&](const Value& v) { return unit == 1 ? v : call_i64("tsr_floor_div", {v, integer(unit)}); };
    b.call("tsr_pad", {target, lo, points(hi), points(n), integer((plan.pad_lo + unit - 1) / unit),
                       integer((plan.pad_hi + unit - 1) / unit), integer(static_cast<i64>(plan.pad.mode)),
                       integer(size * unit), integer(group.border_bits(plan.pad, s))});
  }
  if (plan.also_array && group.leaving_with(s).empty()) copy_row(tile, s, index, target);
}

}  // namespace tessera::lower
