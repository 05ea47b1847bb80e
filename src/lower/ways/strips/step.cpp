// What a step computes and keeps; see step.hpp. Rows from and to memory are in memory.cpp.
#include "lower/ways/strips/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analyze/expressions.hpp"
#include "base/division.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;
using plan::StripRing;

StripStep::StripStep(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                     std::string name)
    : DeviceFunction(plan, interface, ranges, std::move(name)) {
  const plan::Group& stages = plan.groups[group];
  kernel_.group = group;
  kernel_.domain = graph_.stage(stages.anchor).domain;
  rank_ = kernel_.domain.size();
  for (const plan::Pass& pass : stages.passes) order_.insert(order_.end(), pass.stages.begin(), pass.stages.end());
  is_result_.insert(stages.results.begin(), stages.results.end());
  for (StageId s : order_) reads_.emplace(s, plan::strip_reads(graph_, s));
  strip_ = plan::strip_of(
      graph_, order_, [&](StageId s) -> const plan::StripReads& { return reads_.at(s); },
      [&](StageId s) { return is_result_.contains(s); },
      [&](StageId s) -> const std::vector<plan::StagePlan::Rate>& { return plan_.stages[s].rate; });
  if (!strip_.why.empty()) return;
  for (std::size_t k = 0; k < strip_.rings.size() && !strip_.rings[k].memory; ++k)
    ring_of_[{strip_.rings[k].stage, strip_.rings[k].slice}] = k;
  for (const auto& [s, reads] : reads_)
    for (const plan::StripRead& r : reads.reads) read_.insert(r.stage);
  find_domain();
}

void StripStep::find_domain() {
  for (std::size_t d = 0; d < rank_; ++d) {
    std::optional<ir::SizeId> most;
    for (StageId s : is_result_) {
      const i64 rate = d == 0 ? ring_of(s).rate[0] : d == last() ? ring_of(s).rate[1] : 1;
      ir::SizeId n = graph_.stage(s).domain[d];
      if (rate > 1) n = graph_.size_floor_div(graph_.size_binary(ir::SizeOp::add, n, graph_.size(rate - 1)), rate);
      most = !most || ir::at_most(graph_, *most, n) ? n
             : ir::at_most(graph_, n, *most)        ? *most
                                                    : graph_.size_binary(ir::SizeOp::max, *most, n);
    }
    kernel_.domain[d] = *most;
  }
}

std::size_t StripStep::ring_index(const ExprNode& node, const StripRing& to) const {
  if (member(node.stage)) return ring_of_.at({node.stage, slice_of(node)});
  return strip_.ring(node.stage, node.border, {to.rate[0] * node.index[0].scale, to.rate[1] * node.index.back().scale},
                     slice_of(node));
}

plan::Slice StripStep::slice_of(const ExprNode& node) {
  plan::Slice slice;
  for (std::size_t d = 1; d + 1 < node.index.size(); ++d) slice.push_back(node.index[d].offset);
  return slice;
}

int StripStep::registers() const {
  return strip_.registers(columns_, [&](StageId s) { return bytes_of(s); });
}

std::pair<i64, i64> StripStep::computed_columns(const StripRing& ring) const {
  if (exchanging()) return {0, ring.own(columns_)};
  return {-ring.left, ring.own(columns_) + ring.right};
}

// ---- where it is inside ----
i64 StripStep::margin_of(StageId s, std::size_t d) const {
  const ir::Stage& stage = graph_.stage(s);
  return stage.margin_lo.empty() ? 0 : std::max(stage.margin_lo[d], stage.margin_hi[d]);
}

std::pair<i64, i64> StripStep::columns_beside(const StripRing& ring) const {
  const i64 margin = ring.memory ? 0 : margin_of(ring.stage, last());
  return ring.memory ? std::pair(load_left(ring), load_right(ring))
                     : std::pair(ring.left + margin, ring.right + margin);
}

std::map<ir::SizeId, std::pair<i64, i64>> StripStep::rows_beside(std::size_t d) const {
  std::map<ir::SizeId, std::pair<i64, i64>> result;
  for (const StripRing& ring : strip_.rings) {
    if (ring.depth == 0) continue;
    const i64 margin = ring.memory ? 0 : margin_of(ring.stage, d), at = ring.slice[d - 1];
    auto& [before, after] = result[domain_of(ring)[d]];
    before = std::max(before, margin - at), after = std::max(after, margin + at);
  }
  return result;
}

std::pair<i64, ir::SizeId> StripStep::steps_inside() {
  i64 from = 0;
  ir::SizeId to = kernel_.domain[0];
  for (const StripRing& ring : strip_.rings) {
    if (ring.depth == 0) continue;
    const i64 rate = ring.rate[0], margin = ring.memory ? 0 : margin_of(ring.stage, 0);
    from = std::max(from, -base::floor_divide(ring.oldest() - margin, rate));
    to = smaller(to, steps(domain_of(ring)[0], -ring.lag - margin, rate));
  }
  return {from, to};
}

ir::SizeId StripStep::steps(ir::SizeId size, i64 more, i64 rate) {
  const ir::SizeId sum = graph_.size_binary(ir::SizeOp::add, size, graph_.size(more));
  return rate > 1 ? graph_.size_floor_div(sum, rate) : sum;
}

ir::SizeId StripStep::smaller(ir::SizeId a, ir::SizeId b) {
  return ir::at_most(graph_, a, b) ? a : ir::at_most(graph_, b, a) ? b : graph_.size_binary(ir::SizeOp::min, a, b);
}

// ---- registers ----
void StripStep::place_columns(const Value& first) {
  x_.clear();
  x_[1] = builder_->let("x", first);
  for (const StripRing& ring : strip_.rings)
    if (!x_.contains(ring.rate[1])) x_[ring.rate[1]] = builder_->let("x", x_.at(1) * ring.rate[1]);
}

const StripStep::MappedSlice& StripStep::mapped_slice(std::size_t d, const Border& border, i64 distance,
                                                      ir::SizeId size) {
  auto [place, fresh] = mapped_slices_.try_emplace({d, border.mode, distance, size});
  if (fresh) {
    const Value& own = slice_[d - 1];
    MappedSlice& m = place->second;
    m.index = builder_->let("m", mapped_index(border.mode, own + distance, extent(size), m.off) - own);
    if (m.off) m.off = builder_->let("off", m.off);
  }
  return place->second;
}

// In front of all loops and branches, where whatever the text reads sees them.
void StripStep::map_slices() {
  mapped_slices_.clear();
  if (slices_inside_) return;
  for (const StripRing& ring : strip_.rings)
    for (std::size_t d = 1; d < last(); ++d) {
      if (ring.memory) mapped_slice(d, memory_border(ring, d), ring.slice[d - 1], domain_of(ring)[d]);
      if (ring.memory || ring.depth == 0) continue;
      for (const plan::StripRead& r : reads_.at(ring.stage).reads)
        if (member(r.stage) && r.between[d - 1].mode != BorderMode::none)
          mapped_slice(d, r.between[d - 1], ring.slice[d - 1] + r.slice[d - 1], graph_.stage(r.stage).domain[d]);
    }
}

void StripStep::declare_rings() {
  rows_of_tile_.clear();
  at_.assign(strip_.rings.size(), {});
  for (std::size_t k = 0; k < at_.size(); ++k) {
    const StripRing& ring = strip_.rings[k];
    if (!is_kept(ring)) continue;
    const Lane lane = values_ == 2 ? Lane::u32 : register_lane(ring.stage);
    at_[k].resize(static_cast<std::size_t>(ring.depth));
    for (auto& slot : at_[k])
      for (i64 c = 0; c < ring.columns(columns_); ++c) slot.push_back(builder_->var("r", lane_constant(0, lane)));
  }
}

void StripStep::step(const Value& y) {
  y_ = y;
  for (std::size_t k = 0; k < at_.size(); ++k) {
    const auto rate = static_cast<std::size_t>(strip_.rings[k].rate[0]);
    for (std::size_t j = 0; j + rate < at_[k].size(); ++j)
      for (std::size_t c = 0; c < at_[k][j].size(); ++c) builder_->assign(at_[k][j][c], at_[k][j + rate][c]);
  }
  for (std::size_t k = 0; k < at_.size(); ++k) {
    const StripRing& ring = strip_.rings[k];
    if (!ring.memory) continue;
    for (i64 j = ring.depth - ring.fresh(); j < ring.depth; ++j)
      load_row(ring, ring.oldest() + j, at_[k][static_cast<std::size_t>(j)]);
  }
  for (std::size_t k = 0; k < at_.size(); ++k)
    if (!strip_.rings[k].memory) compute(k);
}

// ---- stages ----
void StripStep::compute(std::size_t number) {
  const StripRing& ring = strip_.rings[number];
  const StageId s = ring.stage;
  if (ring.depth == 0) return;
  Value r = builder_->let("row", y_ * ring.rate[0] + ring.first_fresh());
  std::vector<std::vector<Value>> rows(static_cast<std::size_t>(ring.fresh()));
  for (auto& row : rows)
    row.resize(static_cast<std::size_t>(is_parted(s) ? ring.own(width()) : ring.columns(columns_)));
  if (graph_.stage(s).kind == ir::StageKind::compose)
    put_together(ring, rows);
  else if (values_ == 2)
    evaluate_twins(s, r, rows);
  else
    evaluate(number, r, rows);
  if (exchanging() && columns_inside_)
    values_ == 2 ? take_twins_from_neighbours(ring, rows) : take_from_neighbours(ring, rows);
  if (is_kept(ring)) {
    auto& slots = at_[number];
    for (std::size_t k = 0; k < rows.size(); ++k)
      for (std::size_t c = 0; c < rows[k].size(); ++c)
        builder_->assign(slots[slots.size() - rows.size() + k][c], rows[k][c]);
  }
  if (is_result_.contains(s) && ring.is_own()) store_rows(s, r, rows);
}

void StripStep::take_from_neighbours(const StripRing& ring, std::vector<std::vector<Value>>& rows) {
  const i64 own = ring.own(columns_);
  for (std::vector<Value>& row : rows)
    for (i64 c = -ring.left; c < own + ring.right; ++c) {
      const i64 away = base::floor_divide(c, own);
      if (away == 0) continue;
      const Value& theirs = row[static_cast<std::size_t>(ring.left + c - away * own)];
      row[static_cast<std::size_t>(ring.left + c)] =
          builder_->let("v", ir::nest::call(fmt::format("tsr_of_thread_{}", name_of(theirs->type.lane)), theirs->type,
                                            {theirs, integer(away, {Lane::i32, 1, false})}));
    }
}

std::vector<ExprId> StripStep::points(const StripRing& ring, std::size_t rows) {
  std::vector<ExprId> roots;
  const auto [first, last] = computed_columns(ring);
  ExprId slice = graph_.stage(ring.stage).body;
  for (std::size_t d = 1; d + 1 < rank_; ++d) slice = analyze::shift_along(graph_, slice, rank_, d, ring.slice[d - 1]);
  for (std::size_t k = 0; k < rows; ++k) {
    const ExprId body = analyze::shift_along(graph_, slice, rank_, 0, static_cast<i64>(k));
    for (i64 c = first; c < last; ++c) roots.push_back(analyze::shift_columns(graph_, body, rank_, c));
  }
  return roots;
}

// All points of a step as one expression: what they have in common is computed once.
void StripStep::evaluate(std::size_t number, const Value& r, std::vector<std::vector<Value>>& rows) {
  const bool inside = rows_inside_ && columns_inside_ && slices_inside_;
  const StripRing& ring = strip_.rings[number];
  const StageId s = ring.stage;
  const Value& x = x_.at(ring.rate[1]);
  index_ = {r};
  index_.insert(index_.end(), slice_.begin(), slice_.end());
  index_.push_back(x);
  domain_ = graph_.stage(s).domain;
  const std::vector<ExprId> roots = points(ring, rows.size());
  const auto [first, last] = computed_columns(ring);
  const i64 width = last - first;
  if (rows_inside_ && columns_inside_ && !operations_.contains(number))
    operations_[number] = operations_of(ring, rows.size());
  mapped_rows_.clear();
  PointSource source = point_source();
  source.load = [&](const ExprNode& node, const std::map<std::uint32_t, Value>&) {
    return inside || !member(node.stage) ? kept(node, ring) : found(node, ring, r);
  };
  PointEmitter emitter(graph_, ranges_, *builder_, source);
  const Lane lane = register_lane(s);
  emitter.emit(roots, [&](std::size_t root, const Value& v) {
    const std::size_t k = root / static_cast<std::size_t>(width);
    const i64 c = first + static_cast<i64>(root) % width;
    Value out = emitter.stored(roots[root], v, lane);
    if (!inside || columns_patched_) {
      std::vector<Value> at = index_;
      at.front() = r + static_cast<i64>(k), at.back() = x + c;
      for (std::size_t d = 1; d + 1 < rank_; ++d) at[d] = at[d] + ring.slice[d - 1];
      out = without_margins(s, at, out, lane);
    }
    rows[k][static_cast<std::size_t>(ring.left + c)] = builder_->let("v", out);
  });
}

void StripStep::put_together(const StripRing& ring, std::vector<std::vector<Value>>& rows) {
  const Type type{values_ == 2 ? Lane::u32 : register_lane(ring.stage), 1, false};
  for (const plan::StripRead& piece : reads_.at(ring.stage).reads) {
    const auto &across = piece.dims[1], &down = piece.dims[0];
    const std::size_t from =
        strip_.ring(piece.stage, piece.borders(), {ring.rate[0] / down.div, ring.rate[1] / across.div}, ring.slice);
    const StripRing& source = strip_.rings[from];
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const i64 row = ring.first_fresh() + static_cast<i64>(k) + down.lo;
      if (row % down.div != 0) continue;
      const auto& slot = at_[from].at(static_cast<std::size_t>(row / down.div - source.oldest()));
      const auto [first, last] = computed_columns(ring);
      for (i64 c = first; c < last; ++c) {
        const i64 column = c + across.lo;
        if (column % across.div == 0)
          rows[k][static_cast<std::size_t>(ring.left + c)] =
              convert(type, slot.at(static_cast<std::size_t>(column / across.div + source.left)));
      }
    }
  }
}

// ---- accesses ----
std::size_t StripStep::slot_of(const ExprNode& node, const StripRing& from, const StripRing& to) {
  return static_cast<std::size_t>(node.index[0].scale * to.first_fresh() + node.index[0].offset - from.oldest());
}

std::size_t StripStep::column_of(const ExprNode& node, const StripRing& from) {
  return static_cast<std::size_t>(node.index.back().offset + from.left);
}

Value StripStep::kept(const ExprNode& node, const StripRing& to) {
  const std::size_t k = ring_index(node, to);
  const StripRing& from = strip_.rings[k];
  return patched(from, at_[k].at(slot_of(node, from, to)), column_of(node, from), node.border.back());
}

Value StripStep::patched(const StripRing& ring, const std::vector<Value>& row, std::size_t column,
                         const Border& border) {
  const Value plain = row.at(column);
  const i64 c = static_cast<i64>(column) - ring.left, end = ring.own(columns_) - 1;
  const bool left = c < 0;
  if (!columns_patched_ || border.mode == BorderMode::none || (c >= 0 && c <= end)) return plain;
  Value instead;
  if (border.mode == BorderMode::constant) {
    if (ring.memory) return plain;  // has it already
    instead = border_value(border.value, ring.stage, plain->type.lane);
  } else {
    const i64 beyond = left ? -c : c - end, to = border.mode == BorderMode::clamp    ? 0
                                                 : border.mode == BorderMode::mirror ? beyond
                                                                                     : beyond - 1;
    const auto at = static_cast<std::size_t>((left ? to : end - to) + ring.left);
    if (at >= row.size()) return plain;  // of a point that is outside itself
    instead = row[at];
  }
  return builder_->let("v", choose(left ? at_left_ : at_right_, instead, plain));
}

std::pair<i64, i64> StripStep::mapped_by(const ExprNode& node, const StripRing& to, std::size_t d) const {
  std::pair<i64, i64> span{0, 0};
  for (const plan::StripRead& r : reads_.at(to.stage).reads)
    if (r.stage == node.stage && r.dims[d].border == (d == 0 ? node.border.front() : node.border.back()))
      span = {std::min(span.first, r.dims[d].least - r.dims[d].hi),
              std::max(span.second, r.dims[d].most - r.dims[d].lo)};
  return span;
}

Value StripStep::found(const ExprNode& node, const StripRing& to, const Value& r) {
  const std::size_t own = ring_index(node, to);
  Value v = found_in(own, node, to, r);
  if (slices_inside_) return v;
  const Type type = v->type;
  std::vector<const MappedSlice*> mapped(rank_);
  for (std::size_t d = 1; d < last(); ++d)
    if (node.border[d].mode != BorderMode::none)
      mapped[d] = &mapped_slice(d, node.border[d], node.index[d].offset, graph_.stage(node.stage).domain[d]);
  for (std::size_t k = 0; k < strip_.rings.size(); ++k) {
    const StripRing& from = strip_.rings[k];
    if (k == own || from.memory || from.stage != node.stage || !may_map(node, to, from)) continue;
    Value here;
    for (std::size_t d = 1; d < last(); ++d)
      if (mapped[d]) here = both(here, equal(mapped[d]->index, from.slice[d - 1]));
    if (!here) continue;
    here = builder_->let("here", here);
    v = builder_->let("v", choose(here, found_in(k, node, to, r), v));
  }
  for (std::size_t d = last(); d-- > 1;)
    if (mapped[d] && mapped[d]->off)
      v = builder_->let("v", choose(mapped[d]->off, border_value(node.border[d].value, node.stage, type.lane), v));
  Value row_off;  // the slowest dimension decides
  mapped_row(own, node, to, r, row_off);
  if (!row_off) return v;
  return builder_->let("v", choose(row_off, border_value(node.border[0].value, node.stage, type.lane), v));
}

bool StripStep::may_map(const ExprNode& node, const StripRing& to, const StripRing& from) const {
  for (const plan::StripRead& r : reads_.at(to.stage).reads) {
    if (r.stage != node.stage || r.borders() != node.border) continue;
    bool same = true;
    for (std::size_t d = 1; d < last(); ++d) same &= to.slice[d - 1] + r.slice[d - 1] == node.index[d].offset;
    const std::vector<plan::Slice> slices = r.slices(to.slice);
    if (same && std::find(slices.begin(), slices.end(), from.slice) != slices.end()) return true;
  }
  return false;
}

Value StripStep::found_in(std::size_t ring, const ExprNode& node, const StripRing& to, const Value& r) {
  const StripRing& from = strip_.rings[ring];
  const Lane lane = register_lane(node.stage);
  Value row_off, column_off;
  const std::vector<Value>& row = mapped_row(ring, node, to, r, row_off);
  const std::size_t own = column_of(node, from);
  const BorderMode mode = node.border.back().mode;
  const Value& x = x_.at(from.rate[1]);
  Value v = row.at(own);
  if (columns_patched_) {
    v = patched(from, row, own, node.border.back());
  } else if (!columns_inside_ && mode != BorderMode::none && mode != BorderMode::wrap) {
    Value m = builder_->let("m", call_i64("tsr_map", {integer(static_cast<i64>(mode)), x + node.index.back().offset,
                                                      extent(domain_of(from).back())}));
    if (mode == BorderMode::constant) {
      column_off = less(m, integer(0));
    } else {
      const auto [least, most] = mapped_by(node, to, 1);
      for (i64 c = 0; c < static_cast<i64>(row.size()); ++c) {
        const i64 away = c - static_cast<i64>(own);
        if (away == 0 || away < least || away > most) continue;
        Value here = equal(m, x + (c - from.left));
        v = builder_->let("v", choose(here, row[static_cast<std::size_t>(c)], v));
      }
    }
  }
  if (column_off)
    v = builder_->let("v", choose(column_off, border_value(node.border.back().value, node.stage, lane), v));
  if (row_off) v = builder_->let("v", choose(row_off, border_value(node.border[0].value, node.stage, lane), v));
  return v;
}

const std::vector<Value>& StripStep::mapped_row(std::size_t ring, const ExprNode& node, const StripRing& to,
                                                const Value& r, Value& off) {
  const StripRing& from = strip_.rings[ring];
  const BorderMode mode = node.border[0].mode;
  const i64 offset = node.index[0].offset;
  auto [place, fresh] = mapped_rows_.try_emplace({ring, offset, mode});
  if (fresh) {
    const std::size_t slot = slot_of(node, from, to);
    const std::vector<Value>& plain = at_[ring].at(slot);
    place->second.values = plain;
    if (!rows_inside_ && mode != BorderMode::none && mode != BorderMode::wrap) {
      Value m = builder_->let("m", call_i64("tsr_map", {integer(static_cast<i64>(mode)),
                                                        r * node.index[0].scale + offset, extent(domain_of(from)[0])}));
      if (mode == BorderMode::constant) {
        place->second.off = builder_->let("off", less(m, integer(0)));
      } else {
        const auto [least, most] = mapped_by(node, to, 0);
        for (i64 k = 0; k < from.depth; ++k) {
          const i64 away = k - static_cast<i64>(slot);
          if (away == 0 || away < least || away > most) continue;
          Value here = equal(m, y_ * from.rate[0] + (from.oldest() + k));
          here = builder_->let("here", here);
          for (std::size_t c = 0; c < plain.size(); ++c) {
            Value& v = place->second.values[c];
            v = builder_->let("v", choose(here, at_[ring][static_cast<std::size_t>(k)][c], v));
          }
        }
      }
    }
  }
  off = place->second.off;
  return place->second.values;
}

}  // namespace tessera::lower
