// The function of a group: tile, regions, scratch memory, steps. Passes are in pass.cpp.
#include "lower/ways/stream/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/deadline.hpp"
#include "data/half.hpp"
#include "ir/build.hpp"
#include "lower/outline.hpp"
#include "lower/vocabulary.hpp"
#include "lower/ways/stream/tiles.hpp"
#include "plan/tiles.hpp"

namespace tessera::lower {

using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;
using ir::nest::variable;

namespace {

constexpr i64 guard_bytes = 4096;  // tsr_guard

std::vector<StageId> stages_of(const plan::Plan& plan, std::size_t group) {
  std::vector<StageId> stages;
  for (StageId s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].group == static_cast<int>(group)) stages.push_back(s);
  return stages;
}

bool is_integer_one(const plan::StagePlan::Rate& r) {
  return r.num == 1 && r.den == 1;
}

}  // namespace

GroupLowering::GroupLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group)
    : plan_(plan),
      interface_(interface),
      ranges_(ranges),
      group_(plan.groups[group]),
      number_(group),
      rank_(plan.graph.stage(plan.groups[group].anchor).domain.size()),
      edges_(plan::edges_of(plan.graph, stages_of(plan, group))) {
  bodies_.resize(group_.passes.size());
  for (StageId s : group_.stages)
    if (stage(s).note > 0) tiled_.push_back(s);
  for (StageId s : tiled_)
    if (const auto before = prologue_of(s)) take_borders(s, *before);
  for (std::size_t p = 0; p < group_.passes.size(); ++p)
    if (stage(group_.passes[p].stages.front()).note == 0) analyze_pass(p);
}

bool GroupLowering::in_group(StageId s) const {
  return plan_.stages[s].group == static_cast<int>(number_);
}

std::size_t GroupLowering::pass_of(StageId s) const {
  for (std::size_t p = 0; p < group_.passes.size(); ++p)
    if (std::count(group_.passes[p].stages.begin(), group_.passes[p].stages.end(), s)) return p;
  throw Error(ErrorClass::internal, "stage '" + stage(s).name + "' has no pass in its group");
}

bool GroupLowering::direct_result(StageId s) const {
  return plan_.stages[s].home == plan::Home::array;
}

StageId GroupLowering::written(StageId s) const {
  return plan_.stages[s].home == plan::Home::inside ? plan_.stages[s].whole : s;
}

i64 GroupLowering::slack(StageId s, std::size_t dim) const {
  // A region that begins at any phase is rounded down for the first piece and again for the last one.
  return plan_.stages[s].filled ? 2 * (stage(s).pieces.front().stride[dim] - 1) : 0;
}

Lane GroupLowering::memory_lane(StageId s) const {
  return plan_.stages[s].lane;
}

i64 GroupLowering::element_step(StageId s) const {
  if (plan_.stages[s].home == plan::Home::ring && in_group(s)) return 1;
  auto place = place_of(plan_, interface_, s);
  return place->element_stride / ir::nest::size_of(memory_lane(s));
}

i64 GroupLowering::element_offset(StageId s) const {
  if (plan_.stages[s].home == plan::Home::ring && in_group(s)) return 0;
  return place_of(plan_, interface_, s)->offset / ir::nest::size_of(memory_lane(s));
}

i64 GroupLowering::border_bits(const Border& border, StageId s) const {
  double v = ir::evaluate(Op::convert, stage(s).type, ElementType::f64, &border.value);
  switch (memory_lane(s)) {
    case Lane::f32:
      return static_cast<i64>(std::bit_cast<std::uint32_t>(static_cast<float>(v)));
    case Lane::f64:
      return std::bit_cast<i64>(v);
    case Lane::f16:
      return static_cast<i64>(double_to_half(v));
    default:
      return static_cast<i64>(v);
  }
}

Value GroupLowering::size_value(ir::SizeId s) {
  const ir::SizeNode& node = plan_.graph.node(s);
  switch (node.op) {
    case ir::SizeOp::constant:
      return integer(node.value);
    case ir::SizeOp::parameter:
      return load(integers(), integer(node.value), 1);
    case ir::SizeOp::add:
      return size_value(node.a) + size_value(node.b);
    case ir::SizeOp::sub:
      return size_value(node.a) - size_value(node.b);
    case ir::SizeOp::mul:
      return size_value(node.a) * size_value(node.b);
    case ir::SizeOp::floor_div:
      return call_i64("tsr_floor_div", {size_value(node.a), integer(node.value)});
    case ir::SizeOp::min:
      return min(size_value(node.a), size_value(node.b));
    case ir::SizeOp::max:
      return max(size_value(node.a), size_value(node.b));
  }
  return integer(0);
}

Value GroupLowering::extent(ir::SizeId s) {
  auto it = extents_.find(s);
  return it != extents_.end() ? it->second : size_value(s);
}

void GroupLowering::declare_extents() {
  extents_.clear();
  auto declare = [&](ir::SizeId s) {
    if (!extents_.contains(s)) extents_[s] = builder_->let("n", size_value(s));
  };
  for (StageId s : group_.stages) {
    for (ir::SizeId d : stage(s).domain) declare(d);
    for (StageId p : ir::sources(plan_.graph, s))
      for (ir::SizeId d : stage(p).domain) declare(d);
    for (const ir::Piece& piece : stage(s).pieces) {
      for (ir::SizeId d : piece.start) declare(d);
      for (ir::SizeId d : piece.count) declare(d);
    }
  }
  for (const PassBody& body : bodies_)
    for (const PassBody::Source& source : body.sources) {
      declare(source.shift);
      for (const ir::Index& index : source.outer) declare(index.shift);
    }
}

// What passes read of P and N, as values at the top of the function: passes that do the same with other arrays then
// have the same text.
void GroupLowering::declare_arrays() {
  std::set<StageId> stages(group_.stages.begin(), group_.stages.end());
  for (StageId s : group_.stages)
    for (StageId p : ir::sources(plan_.graph, s)) stages.insert(p);
  for (StageId s : stages) {
    auto place = place_of(plan_, interface_, s);
    if (!place || bases_.contains(place->array)) continue;
    const ArrayRef& array = interface_.arrays[place->array];
    bases_[place->array] = builder_->let("array", array_base(place->array));
    for (std::size_t d = 0; d + 1 < array.extents.size(); ++d)
      strides_[array.strides + d] = builder_->let("stride", stride(array.strides + d));
  }
}

Value GroupLowering::array_base(std::size_t array) {
  if (auto it = bases_.find(array); it != bases_.end()) return it->second;
  return ir::nest::call("tsr_array", bytes_pointer, {variable("P", bytes_pointer), integer(static_cast<i64>(array))});
}

Value GroupLowering::stride(std::size_t position) {
  if (auto it = strides_.find(position); it != strides_.end()) return it->second;
  return load(integers(), integer(static_cast<i64>(position)), 1);
}

// ---- shape and scratch ---------------------------------------------------------------------------------------------

ir::nest::Function GroupLowering::shape_function() {
  ir::nest::Function f;
  f.name = "tsr_g" + std::to_string(number_) + "_shape";
  f.parameters = {{"N", {Lane::i64, 1, true}, true, false},
                  {"threads", index_type, false, false},
                  {"T", {Lane::i64, 1, true}, false, false}};
  Builder b(f.body);
  builder_ = &b;
  declare_extents();
  const Stage& anchor = stage(group_.anchor);
  // Columns: as many as let the rings fit the share of L2 that is theirs; rows: a few tiles for every thread, high
  // against the rows that a tile computes beyond its own.
  i64 budget = plan_.device.l2_bytes * 6 / 10;
  i64 per_column = std::max<i64>(1, static_cast<i64>(group_.ring_bytes_per_column));
  Value threads = variable("threads", index_type);
  std::vector<Value> n;
  for (ir::SizeId d : anchor.domain) n.push_back(extent(d));
  Value columns, middle = integer(1);
  bool rings = group_.ring_bytes_per_column > 0;
  i64 most_columns = plan::most_tile_columns(plan_.device, group_, rank_);
  Value most = integer(most_columns);
  const auto signal = plan::signal_columns(plan_, group_);
  if (signal) {
    const Value share = b.let("share", call_i64("tsr_tile_rows", {n.back(), integer(1), threads, integer(signal->least),
                                                                  integer(signal->smallest)}));
    most = rings ? min(most, share) : share;
  }
  columns = rings || signal ? b.let("columns", call_i64("tsr_balanced", {n.back(), most, integer(64)})) : n.back();
  std::vector<Value> extents(rank_);
  extents[rank_ - 1] = columns;
  Value row_budget =
      rings ? b.let("budget", call_i64("tsr_quotient", {integer(budget), columns * per_column})) : integer(1 << 20);
  for (std::size_t d = rank_ - 1; d-- > 1;) {
    const i64 halo = d < group_.ring_halo.size() ? group_.ring_halo[d] : 0;
    extents[d] = b.let("extent", call_i64("tsr_balanced", {n[d], max(row_budget - halo, integer(8)), integer(4)}));
    row_budget = b.let("budget", call_i64("tsr_quotient", {row_budget, extents[d] + halo}));
  }
  Value others = integer(1);
  for (std::size_t d = 1; d < rank_; ++d)
    others = others * call_i64("tsr_ceil_div", {n[d], max(extents[d], integer(1))});
  i64 least = std::max<i64>(rank_ > 2 ? 8 : 32, 8 * group_.halo_rows);
  i64 smallest = std::max<i64>(rank_ > 2 ? 8 : 32, 2 * group_.halo_rows);
  extents[0] = b.let("rows", call_i64("tsr_tile_rows", {n[0], others, threads, integer(least), integer(smallest)}));
  if (const i64 points = plan::most_tile_points(group_); points > 0 && !transformed()) {
    Value between = integer(1);
    for (std::size_t d = 1; d + 1 < rank_; ++d) between = between * max(extents[d], integer(1));
    const Value row = between * max(columns, integer(1));
    const Value wanted = call_i64("tsr_quotient", {integer(points / 8), row}) * 8;
    extents[0] = b.let("rows", min(extents[0], rings ? max(wanted, integer(least)) : wanted));
    if (!rings)
      extents[rank_ - 1] = b.let(
          "columns",
          min(columns, call_i64("tsr_quotient", {integer(points / 64), max(extents[0], integer(1)) * between}) * 64));
  }
  if (transformed()) shape_of_transform(extents, n, threads);
  Value tiles = integer(1);
  for (std::size_t d = 0; d < rank_; ++d) {
    b.assign_element(tile_shape(), integer(static_cast<i64>(d)), max(extents[d], integer(1)));
    tiles = tiles * call_i64("tsr_ceil_div", {n[d], max(extents[d], integer(1))});
  }
  b.assign_element(tile_shape(), integer(static_cast<i64>(rank_)), tiles);
  // Stores go past the caches when what the group writes could not stay in them anyway.
  Value written = integer(0);
  for (StageId s : group_.results) {
    Value points = integer(ir::nest::size_of(memory_lane(s)));
    for (ir::SizeId d : stage(s).domain) points = points * extent(d);
    written = written + points;
  }
  b.assign_element(tile_shape(), integer(static_cast<i64>(rank_) + 1),
                   transformed() ? integer(0) : convert(index_type, less(integer(2 * plan_.device.l2_bytes), written)));
  return f;
}

Value GroupLowering::span_bound(StageId s, std::size_t dim) {
  const plan::StagePlan::Rate& r = plan_.stages[s].rate[dim];
  Value t = load(tile_shape(), integer(static_cast<i64>(dim)), 1);
  Value scaled = is_integer_one(r) ? t : call_i64("tsr_ceil_div", {t * r.num, integer(r.den)});
  return scaled + (r.after - r.before + 8 + 2 * slack(s, dim));
}

Value GroupLowering::reserve(const Value& bytes) {
  Value offset = scratch_top_;
  scratch_top_ = builder_->let("top", call_i64("tsr_align", {scratch_top_ + bytes}));
  guard();
  if (measuring_) return offset;
  return builder_->let("memory", address(variable("S", bytes_pointer), offset));
}

// A gap behind what has been reserved so far.
void GroupLowering::guard() {
  if (!plan_.options.guarded) return;
  guards_.push_back(scratch_top_);
  if (!measuring_) builder_->call("tsr_guard", {address(variable("S", bytes_pointer), scratch_top_)});
  scratch_top_ = builder_->let("top", scratch_top_ + guard_bytes);
}

void GroupLowering::reserve_all() {
  scratch_top_ = integer(0);
  guards_.clear();
  guard();
  rings_.clear();
  work_.assign(group_.passes.size(), {});
  if (transformed()) reserve_transform();
  for (StageId s : group_.stages) {
    if (plan_.stages[s].home != plan::Home::ring || transformed()) continue;
    std::vector<Value> span;
    for (std::size_t d = 0; d < rank_; ++d) span.push_back(span_bound(s, d));
    reserve_ring(s, std::move(span));
  }
  for (std::size_t k = 0; k < group_.passes.size(); ++k)
    if (stage(group_.passes[k].stages.front()).note == 0) reserve_workspace(k);
}

// For so many points along each dimension; of those of a tile as many rows as it keeps.
void GroupLowering::reserve_ring(StageId s, std::vector<Value> span) {
  const plan::StagePlan& p = plan_.stages[s];
  i64 size = ir::nest::size_of(memory_lane(s));
  i64 left = ((p.pad_lo + slack(s, rank_ - 1)) * size + 63) / 64 * 64;
  Value row = builder_->let("pitch", call_i64("tsr_pitch", {(span[rank_ - 1] + (p.pad_hi + p.reach)) * size + left}));
  Ring ring;
  ring.pitch.assign(rank_ - 1, row);
  Value plane = row;
  for (std::size_t d = rank_ - 1; d-- > 0;) {
    ring.pitch[d] = plane;
    Value count = d == 0 && p.depth > 0 ? integer(p.depth) : span[d];
    plane = builder_->let("plane", plane * count);
  }
  Value memory = reserve(plane);
  if (!measuring_) {
    Value first = regions_[pass_of(s)].lo[rank_ - 1];
    ring.first = builder_->let("ring", address(memory, integer(left)));
    ring.base = transformed() ? ring.first : builder_->let("ring", address(memory, integer(left) - first * size));
  }
  rings_[s] = ring;
}

void GroupLowering::reserve_workspace(std::size_t k) {
  const plan::Pass& pass = group_.passes[k];
  Workspace& work = work_[k];
  i64 widest = 1, results = 0;
  for (StageId s : pass.stages) {
    widest = std::max<i64>(widest, ir::nest::size_of(memory_lane(written(s))));
    if (direct_result(s)) ++results;
  }
  const i64 pair = transformed() ? transforms_.front()->wide + transforms_.front()->tile.columns : 0;
  Value columns = span_bound(pass.stages.front(), rank_ - 1) + (3 * pass.lanes + pair);
  i64 spread = 1;
  for (StageId s : pass.stages)
    if (written(s) != s) spread = std::max(spread, plan_.stages[s].stride.back());
  if (pass.kind == plan::PassKind::point && pass.rows > 1) work.dump = reserve(columns * (widest * spread));
  if (results > 0) work.outputs = reserve(integer(results * pass.rows * (6 * pass.lanes * widest + 64)));
  i64 patches = 0, rows_patched = 0;
  for (const PassBody::Source& source : bodies_[k].sources)
    if (!in_group(source.stage)) {
      patches += source.entries() * patch_bytes(k, source);
      rows_patched += source.entries();
    }
  if (patches > 0) work.patches = reserve(integer(patches));
  if (patches > 0) work.ends = reserve(integer(rows_patched * static_cast<i64>(sizeof(void*))));
  if (const i64 piece = piece_bytes(k); piece > 0) work.piece = reserve(integer(piece));
  for (std::size_t i = 0; i < bodies_[k].sources.size(); ++i) {
    const PassBody::Source& source = bodies_[k].sources[i];
    std::vector<Value> rows(source.outer_border.size());
    for (std::size_t d = 0; d < rows.size(); ++d) {
      const Border& border = source.outer_border[d];
      if (border.mode != BorderMode::constant) continue;
      for (std::size_t before = 0; before < d; ++before)
        if (source.outer_border[before] == border) rows[d] = rows[before];
      if (rows[d]) continue;
      i64 step = element_step(source.stage), size = ir::nest::size_of(memory_lane(source.stage));
      Value count = builder_->let("count", (columns * source.scale + (source.hi - source.lo + 64 + pass.lanes)) * step);
      Value memory = reserve(count * size);
      if (measuring_) continue;
      builder_->call("tsr_fill", {memory, count, integer(size), integer(border_bits(border, source.stage))});
      Value first = regions_[k].lo[rank_ - 1] * source.scale + extent(source.shift) + source.lo;
      rows[d] = builder_->let("outside", address(memory, integer(0) - first * (step * size)));
    }
    work.constants[i] = std::move(rows);
  }
}

Value GroupLowering::scratch_size() {
  measuring_ = true;
  reserve_all();
  measuring_ = false;
  return scratch_top_ + 256;
}

ir::nest::Function GroupLowering::scratch_function() {
  ir::nest::Function f;
  f.name = "tsr_g" + std::to_string(number_) + "_scratch";
  f.has_result = true;
  f.result = index_type;
  f.parameters = {{"N", {Lane::i64, 1, true}, true, false}, {"T", {Lane::i64, 1, true}, true, false}};
  Builder b(f.body);
  builder_ = &b;
  declare_extents();
  b.call("return", {scratch_size()});
  return f;
}

// ---- the tile ------------------------------------------------------------------------------------------------------

void GroupLowering::tile_extents() {
  // Tiles are numbered with the fastest dimension first.
  tile_lo_.assign(rank_, integer(0));
  tile_hi_.assign(rank_, integer(0));
  Value rest = builder_->var("rest", variable("tile", index_type));
  for (std::size_t d = rank_; d-- > 0;) {
    Value n = extent(stage(group_.anchor).domain[d]);
    Value t = builder_->let("t", load(tile_shape(), integer(static_cast<i64>(d)), 1));
    Value tiles = builder_->let("tiles", call_i64("tsr_ceil_div", {n, t}));
    Value at = builder_->let("at", rest % tiles);
    builder_->assign(rest, rest / tiles);
    tile_lo_[d] = builder_->let("lo", at * t);
    tile_hi_[d] = builder_->let("hi", min(tile_lo_[d] + t, n));
  }
}

void GroupLowering::regions() {
  regions_.assign(group_.passes.size(), {});
  own_.clear();
  for (StageId s : group_.results) {
    Region& own = own_[s];
    for (std::size_t d = 0; d < rank_; ++d) {
      const plan::StagePlan::Rate& r = plan_.stages[s].rate[d];
      if (stage(s).domain[d] == stage(group_.anchor).domain[d] && is_integer_one(r)) {
        own.lo.push_back(tile_lo_[d]);
        own.hi.push_back(tile_hi_[d]);
        continue;
      }
      // The tile's share of a result with another extent: scaled, and the last tile takes what is left.
      Value n = extent(stage(s).domain[d]), whole = extent(stage(group_.anchor).domain[d]);
      own.lo.push_back(
          builder_->let("own_lo", call_i64("tsr_share", {tile_lo_[d], integer(r.num), integer(r.den), whole, n})));
      own.hi.push_back(
          builder_->let("own_hi", call_i64("tsr_share", {tile_hi_[d], integer(r.num), integer(r.den), whole, n})));
    }
  }
  std::vector<bool> sure(group_.passes.size());
  for (std::size_t p = group_.passes.size(); p-- > 0;) {
    std::vector<Part> parts = parts_of(p, sure);
    sure[p] = std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.sure; });
    regions_[p] = united(parts, sure[p]);
  }
}

// What the tile itself and every consumer in the group want of the stages of a pass.
std::vector<GroupLowering::Part> GroupLowering::parts_of(std::size_t pass, const std::vector<bool>& sure) {
  std::vector<Part> parts;
  for (StageId s : group_.passes[pass].stages) {
    const std::vector<ir::SizeId>& domain = stage(s).domain;
    for (const plan::Edge& edge : edges_) {
      if (edge.producer != s || !in_group(edge.consumer)) continue;
      const std::size_t consumer = pass_of(edge.consumer);
      const Region& c = regions_[consumer];
      Part part;
      part.sure = sure[consumer];
      for (std::size_t d = 0; d < rank_; ++d) {
        const plan::EdgeDimension dim = written(s) != s ? plan::any_phase(edge.dims[d]) : edge.dims[d];
        Value a = c.lo[d] * dim.mul + dim.lo, b = (c.hi[d] - 1) * dim.mul + dim.hi;
        if (dim.div != 1) {
          a = call_i64("tsr_floor_div", {a, integer(dim.div)});
          b = call_i64("tsr_floor_div", {b, integer(dim.div)});
        }
        b = b + 1;
        if (!sure[consumer]) part.wanted_for.push_back(c.hi[d] - c.lo[d]);
        if (!plan_.stages[s].periodic[d]) {
          a = max(a, integer(0));
          b = min(b, extent(domain[d]));
          const bool within = dim.mul == 1 && dim.div == 1 && dim.lo <= 0 && dim.hi >= 0;
          if (!within || domain[d] != stage(edge.consumer).domain[d]) part.sure = false;
        }
        part.region.lo.push_back(a);
        part.region.hi.push_back(b);
      }
      parts.push_back(std::move(part));
    }
    if (auto own = own_.find(s); own != own_.end()) {
      Part part{own->second, true, {}};
      for (std::size_t d = 0; d < rank_; ++d)
        if (domain[d] != stage(group_.anchor).domain[d] || !is_integer_one(plan_.stages[s].rate[d])) part.sure = false;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

// The smallest region around all parts. A part may be empty where the tile lies beyond the end of a smaller stage; it
// would then stand anywhere, and the region around it and the others would be larger than the memory for it.
GroupLowering::Region GroupLowering::united(const std::vector<Part>& parts, bool sure) {
  const Value nowhere = integer(i64{1} << 60);
  Region region{std::vector<Value>(rank_), std::vector<Value>(rank_)};
  for (const Part& part : parts) {
    const bool masked = !part.sure;
    Value some;
    for (const Value& n : part.wanted_for) some = some ? min(some, n) : n;
    std::vector<Value> lo = part.region.lo, hi = part.region.hi;
    if (masked) {
      for (std::size_t d = 0; d < rank_; ++d) {
        lo[d] = builder_->let("lo", lo[d]);
        hi[d] = builder_->let("hi", hi[d]);
        some = some ? min(some, hi[d] - lo[d]) : hi[d] - lo[d];
      }
      some = builder_->let("some", less(integer(0), some));
    }
    for (std::size_t d = 0; d < rank_; ++d) {
      if (masked && parts.size() == 1) {
        hi[d] = choose(some, hi[d], lo[d]);
      } else if (masked) {
        lo[d] = choose(some, lo[d], nowhere);
        hi[d] = choose(some, hi[d], integer(0) - nowhere);
      }
      region.lo[d] = region.lo[d] ? min(region.lo[d], lo[d]) : lo[d];
      region.hi[d] = region.hi[d] ? max(region.hi[d], hi[d]) : hi[d];
    }
  }
  for (std::size_t d = 0; d < rank_; ++d) {
    region.lo[d] = builder_->let("lo", region.lo[d]);
    if (!sure && parts.size() > 1)
      region.lo[d] = builder_->let("lo", choose(less(region.lo[d], region.hi[d]), region.lo[d], integer(0)));
    region.hi[d] = builder_->let("hi", max(region.hi[d], region.lo[d]));
  }
  return region;
}

void GroupLowering::stream() {
  done_.clear();
  for (std::size_t p = 0; p < group_.passes.size(); ++p) done_.push_back(builder_->var("done", regions_[p].lo[0]));
  auto step = [&](auto&& end_of) {
    for (std::size_t p = 0; p < group_.passes.size(); ++p) {
      Value end = builder_->let("end", end_of(p));
      builder_->block(fmt::format("tsr_g{}_pass{}", number_, p), [&] { pass_rows(p, end); });
      builder_->assign(done_[p], end);
    }
  };
  bool single = group_.passes.size() == 1 || plan_.options.schedule == Schedule::tiled;
  if (single) {
    step([&](std::size_t p) { return regions_[p].hi[0]; });
    return;
  }
  Value first, last;
  auto rate = [&](std::size_t p) { return plan_.stages[group_.passes[p].stages.front()].rate[0]; };
  auto lag = [&](std::size_t p) {
    i64 most = plan_.stages[group_.passes[p].stages.front()].lag;
    for (StageId s : group_.passes[p].stages) most = std::max(most, plan_.stages[s].lag);
    return most;
  };
  for (std::size_t p = 0; p < group_.passes.size(); ++p) {
    auto r = rate(p);
    Value a = call_i64("tsr_floor_div", {(regions_[p].lo[0] - lag(p)) * r.den, integer(r.num)});
    Value b = call_i64("tsr_ceil_div", {(regions_[p].hi[0] - lag(p)) * r.den, integer(r.num)});
    first = first ? min(first, a) : a;
    last = last ? max(last, b) : b;
  }
  first = builder_->let("first", first + group_.step);
  last = builder_->let("last", last + group_.step);
  builder_->loop("e", first, last, integer(group_.step), [&](const Value& e) {
    step([&](std::size_t p) {
      auto r = rate(p);
      Value rows = is_integer_one(r) ? e
                   : r.den == 1      ? e * r.num
                                     : call_i64("tsr_floor_div", {e * r.num, integer(r.den)});
      return call_i64("tsr_clamp", {rows + lag(p), done_[p], regions_[p].hi[0]});
    });
  });
}

ir::nest::Function GroupLowering::tile_function() {
  ir::nest::Function f;
  f.name = "tsr_g" + std::to_string(number_);
  for (StageId s : group_.stages) f.essay += (f.essay.empty() ? "" : ", ") + stage(s).name;
  f.parameters = {{"P", bytes_pointer, false, true},
                  {"N", {Lane::i64, 1, true}, true, false},
                  {"T", {Lane::i64, 1, true}, true, false},
                  {"tile", index_type, false, false},
                  {"S", bytes_pointer, false, false}};
  Builder b(f.body);
  builder_ = &b;
  declare_extents();
  declare_arrays();
  tile_extents();
  regions();
  // What is reserved holds 0xff, and so NaN, until it is written; borders are filled in while reserving.
  if (plan_.options.guarded) b.call("tsr_spoil", {variable("S", bytes_pointer), scratch_size()});
  reserve_all();
  transformed() ? transform() : stream();
  for (const Value& g : guards_) b.call("tsr_guarded", {address(variable("S", bytes_pointer), g)});
  return f;
}

void GroupLowering::into(ir::nest::Module& module) {
  for (StageId s : tiled_) prepare_transform(module, s);
  module.functions.push_back(shape_function());
  module.functions.push_back(scratch_function());
  module.functions.push_back(tile_function());
}

Lowered lower_cpu(const plan::Plan& plan) {
  plan::Plan working = plan;  // bodies shifted along rows join the graph's expressions
  Lowered result;
  result.interface = interface_of(working);
  result.module.tables = working.graph.tables;
  analyze::Ranges ranges(working.graph);
  for (std::size_t g = 0; g < working.groups.size(); ++g) {
    base::reached_stage(working.graph.stage(working.groups[g].anchor).name);
    GroupLowering(working, result.interface, ranges, g).into(result.module);
  }
  outline_blocks(result.module);
#ifndef NDEBUG
  ir::nest::verify(result.module);
#endif
  return result;
}

}  // namespace tessera::lower
