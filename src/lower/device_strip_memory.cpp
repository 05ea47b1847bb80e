// Rows of a step from and to memory: a thread's columns, and those beside them, as vectors where they lie inside.
#include <fmt/format.h>

#include <algorithm>

#include "base/division.hpp"
#include "lower/device_strip_step.hpp"

namespace tessera::lower {

using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;
using plan::StripRing;

namespace {

constexpr i64 bytes_of_access = 16;  // of one load or store of a thread

}  // namespace

i64 StripStep::vector_of(const StripRing& r) const {
  const i64 size = bytes_of(r.stage);
  for (const i64 lanes : {16, 8, 4, 2})
    if (r.own(width()) % lanes == 0 && lanes * size <= bytes_of_access) return lanes;
  return 1;
}

i64 StripStep::load_beside(const StripRing& r, i64 columns) const {
  const i64 vector = vector_of(r), rest = columns % vector;
  return columns - rest + (rest > 0 ? last_vector(r, rest) : 0);
}

i64 StripStep::last_vector(const StripRing& r, i64 columns) const {
  i64 lanes = std::min<i64>(vector_of(r), std::max(1, 4 / bytes_of(r.stage)));
  while (lanes < columns) lanes *= 2;
  return lanes;
}

std::vector<std::pair<i64, i64>> StripStep::loads_of(const StripRing& r) const {
  const i64 vector = vector_of(r), end = r.own(width()) + r.right;
  std::vector<std::pair<i64, i64>> loads;
  if (r.left % vector > 0) loads.emplace_back(-load_left(r), last_vector(r, r.left % vector));
  for (i64 c = -(r.left / vector * vector); c < end; c += vector)
    loads.emplace_back(c, end - c < vector ? last_vector(r, end - c) : vector);
  return loads;
}

void StripStep::load_row(const StripRing& ring, const Value& at_row_index, const std::vector<Value>& to) {
  const auto& domain = domain_of(ring);
  const Lane lane = memory_lane(ring.stage), kept_lane = register_lane(ring.stage);
  const Type type{kept_lane, 1, false};
  const ArrayPlace where = place(ring.stage);
  const i64 size = ir::nest::size_of(lane);
  const Value& x = x_.at(ring.rate[1]);
  Value r = builder_->let("row", at_row_index);
  if (columns_inside_) {
    Value from = builder_->let("from", row(ring.stage, {r}));
    Value pointer = builder_->let("from", convert({lane, 1, true}, address(from, x * where.element_stride)));
    if (values_ == 2) return load_twins(ring, pointer, to);
    if (where.element_stride == size && vector_of(ring) > 1) {
      for (const auto& [c, lanes_at_once] : loads_of(ring)) {
        if (lanes_at_once == 1) {
          builder_->assign(to[static_cast<std::size_t>(c + ring.left)], convert(type, load(pointer, integer(c), 1)));
          continue;
        }
        std::vector<Value> lanes{address(pointer, integer(c))};
        for (i64 k = 0; k < lanes_at_once; ++k) {
          const i64 at = c + k + ring.left;
          const bool kept = at >= 0 && at < static_cast<i64>(to.size());
          lanes.push_back(kept ? to[static_cast<std::size_t>(at)] : ir::nest::variable("tsr_unused", {lane, 1, false}));
        }
        builder_->call(fmt::format("tsr_load_{}x{}", name_of(lane), lanes_at_once), std::move(lanes));
      }
      return;
    }
    for (i64 c = 0; c < static_cast<i64>(to.size()); ++c)
      builder_->assign(to[static_cast<std::size_t>(c)],
                       convert(type, load(pointer, integer((c - ring.left) * (where.element_stride / size)), 1)));
    return;
  }
  auto mapped = [&](const Border& border, const Value& i, const Value& n, Value& off) {
    const BorderMode mode = border.mode == BorderMode::none ? BorderMode::clamp : border.mode;
    return mapped_index(mode, i, n, off);
  };
  Value row_off;
  Value at_row = rows_inside_ ? r : mapped(ring.border[0], r, extent(domain[0]), row_off);
  Value from = builder_->let("from", row(ring.stage, {at_row}));
  for (i64 c = 0; c < static_cast<i64>(to.size()); ++c) {
    Value column_off;
    Value at = mapped(ring.border[1], x + (c - ring.left), extent(domain[1]), column_off);
    Value v = convert(type, load(convert({lane, 1, true}, address(from, at * where.element_stride)), integer(0), 1));
    if (column_off)
      v = operation(Op::select, type, {column_off, border_value(ring.border[1].value, ring.stage, kept_lane), v});
    if (row_off)
      v = operation(Op::select, type, {row_off, border_value(ring.border[0].value, ring.stage, kept_lane), v});
    builder_->assign(to[static_cast<std::size_t>(c)], v);
  }
}

void StripStep::store_rows(StageId s, const Value& first, const std::vector<std::vector<Value>>& rows) {
  const StripRing& ring = ring_of(s);
  const auto& domain = graph_.stage(s).domain;
  const bool exact = ring.rate[0] == 1 && domain[0] == kernel_.domain[0];  // the domain ends where its rows end
  for (std::size_t k = 0; k < rows.size();) {
    // Rows of the same step of the domain.
    const i64 step = base::floor_divide(ring.first_fresh() + static_cast<i64>(k), ring.rate[0]);
    std::size_t end = k;
    while (end < rows.size() && base::floor_divide(ring.first_fresh() + static_cast<i64>(end), ring.rate[0]) == step)
      ++end;
    const auto store = [&] {
      for (; k < end; ++k) {
        Value r = builder_->let("row", first + static_cast<i64>(k));
        if (exact || rows_inside_)
          store_row(s, r, rows[k]);
        else
          builder_->branch(less(r, extent(domain[0])), [&] { store_row(s, r, rows[k]); });
      }
    };
    if (known_step_) {
      if (*known_step_ + step >= 0 && *known_step_ + step < kernel_.frame->height)
        stores_ ? builder_->branch(stores_, store) : store();
    } else {
      Value at = builder_->let("at", y_ + step);
      builder_->branch(both(less(y0_ - 1, at), less(at, y1_)), store);
    }
    k = end;
  }
}

void StripStep::store_row(StageId s, const Value& r, const std::vector<Value>& values) {
  const StripRing& ring = ring_of(s);
  const Lane lane = memory_lane(s);
  const ArrayPlace where = place(s);
  const i64 size = ir::nest::size_of(lane), lanes_at_once = vector_of(ring);
  const Value& x = x_.at(ring.rate[1]);
  Value to = builder_->let("to", row(s, {r}));
  Value pointer = builder_->let("to", convert({lane, 1, true}, address(to, x * where.element_stride)));
  if (stores_twins(s)) return store_twins(s, pointer, values);
  const std::vector<Value> own = own_columns(s, values);
  const auto value = [&](i64 c) { return convert({lane, 1, false}, own[static_cast<std::size_t>(c)]); };
  if (columns_inside_ && where.element_stride == size && lanes_at_once > 1) {
    for (i64 c = 0; c < ring.own(width()); c += lanes_at_once) {
      std::vector<Value> lanes{address(pointer, integer(c))};
      for (i64 k = 0; k < lanes_at_once; ++k) lanes.push_back(value(c + k));
      builder_->call(fmt::format("tsr_store_{}x{}", name_of(lane), lanes_at_once), std::move(lanes));
    }
    return;
  }
  for (i64 c = 0; c < ring.own(width()); ++c) {
    auto put = [&] { builder_->store(pointer, integer(c * (where.element_stride / size)), value(c)); };
    if (columns_inside_)
      put();
    else
      builder_->branch(less(x + c, extent(graph_.stage(s).domain[1])), put);
  }
}

}  // namespace tessera::lower
