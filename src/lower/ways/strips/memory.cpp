// Rows of a step from and to memory: a thread's columns, and those beside them, as vectors where they lie inside.
#include <fmt/format.h>

#include <algorithm>

#include "base/division.hpp"
#include "lower/ways/strips/step.hpp"

namespace tessera::lower {

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

Border StripStep::memory_border(const StripRing& ring, std::size_t d) {
  Border border = ring.border[d];
  if (border.mode == BorderMode::none) border.mode = BorderMode::clamp;
  return border;
}

void StripStep::load_columns(const StripRing& ring, const Value& pointer, i64 first, i64 count,
                             const std::vector<Value>& to) {
  const Lane lane = memory_lane(ring.stage);
  if (count == 1) {
    const Type type{register_lane(ring.stage), 1, false};
    builder_->assign(to[static_cast<std::size_t>(first + ring.left)], convert(type, load(pointer, integer(first), 1)));
    return;
  }
  std::vector<Value> lanes{address(pointer, integer(first))};
  for (i64 c = first + ring.left; c < first + ring.left + count; ++c) {
    const bool kept = c >= 0 && c < static_cast<i64>(to.size());
    lanes.push_back(kept ? to[static_cast<std::size_t>(c)] : ir::nest::variable("tsr_unused", {lane, 1, false}));
  }
  builder_->call(fmt::format("tsr_load_{}x{}", name_of(lane), count), std::move(lanes));
}

// Where the row has these columns.
void StripStep::where_it_is(const StripRing& ring, i64 column, const std::function<void()>& load) {
  const Value& x = x_.at(ring.rate[1]);
  if (!columns_patched_ || (column >= 0 && column < ring.own(columns_) && !in_row_))
    load();
  else if (column < 0)
    builder_->branch(less(integer(-1), x + column), load);
  else
    builder_->branch(column < ring.own(columns_) ? in_row_ : less(x + column, extent(domain_of(ring).back())), load);
}

// Slower dimensions decide: so constants of arrays are put in before theirs are.
Value StripStep::patched_by_constant(const StripRing& ring, const Value& v, i64 column) {
  const Border& border = ring.border.back();
  const bool left = column < 0, right = column >= ring.own(columns_);
  if (!columns_patched_ || border.mode != BorderMode::constant || (!left && !right)) return v;
  return choose(left ? at_left_ : at_right_, border_value(border.value, ring.stage, v->type.lane), v);
}

Value StripStep::columns_of_row(const StripRing& ring, const std::vector<Value>& outer) {
  Value from = builder_->let("from", row(ring.stage, outer));
  return address(from, x_.at(ring.rate[1]) * place(ring.stage).element_stride);
}

Value StripStep::row_of_tile(const StripRing& ring, i64 number) {
  number += *known_step_ * ring.rate[0];
  auto [found, first] = rows_of_tile_.try_emplace({{ring.stage, ring.slice}, ring.rate});
  RowOfTile& row = found->second;
  if (first) {
    std::vector<Value> outer{y0_ * ring.rate[0] + number};
    for (std::size_t d = 1; d < last(); ++d) outer.push_back(slice_[d - 1] + ring.slice[d - 1]);
    row.at = builder_->let("at", columns_of_row(ring, outer));
  } else if (number != row.number) {
    const std::size_t whole = place(ring.stage).array, array = position(whole);
    const std::size_t lead = interface_.arrays[whole].extents.size() - rank_;
    const Value stride = host({Kind::stride, {}, array, lead});
    const Value at = builder_->let("at", address(row.at, stride * (number - row.number)));
    if (!plan_.device.row_chains) return at;
    row.at = at;
  }
  row.number = number;
  return row.at;
}

void StripStep::load_row(const StripRing& ring, i64 number, const std::vector<Value>& to) {
  const auto& domain = domain_of(ring);
  const Lane lane = memory_lane(ring.stage), kept_lane = register_lane(ring.stage);
  const Type type{kept_lane, 1, false};
  const ArrayPlace where = place(ring.stage);
  const i64 size = ir::nest::size_of(lane);
  const Value& x = x_.at(ring.rate[1]);
  const auto load_inside = [&](const Value& pointer) {
    if (values_ == 2) return load_twins(ring, pointer, to);
    if (where.element_stride == size && vector_of(ring) > 1) {
      for (const auto& [c, lanes] : loads_of(ring))
        where_it_is(ring, c, [&, c = c, lanes = lanes] { load_columns(ring, pointer, c, lanes, to); });
    } else {
      for (i64 c = -ring.left; c < ring.own(columns_) + ring.right; ++c)
        where_it_is(ring, c, [&] {
          builder_->assign(to[static_cast<std::size_t>(c + ring.left)],
                           convert(type, load(pointer, integer(c * (where.element_stride / size)), 1)));
        });
    }
    for (std::size_t c = 0; c < to.size(); ++c) {
      const Value v = patched_by_constant(ring, to[c], static_cast<i64>(c) - ring.left);
      if (v != to[c]) builder_->assign(to[c], v);
    }
  };
  if (rows_known()) return load_inside(builder_->let("from", convert({lane, 1, true}, row_of_tile(ring, number))));
  Value r = builder_->let("row", y_ * ring.rate[0] + number);
  std::vector<Value> outer{r};
  std::vector<std::pair<Value, double>> outside;  // a flag and the value then, the slowest dimension last
  for (std::size_t d = 1; d < last(); ++d) {
    const i64 distance = ring.slice[d - 1];
    outer.push_back(slice_[d - 1] + distance);
    if (slices_inside_) continue;
    const Border border = memory_border(ring, d);
    const MappedSlice& m = mapped_slice(d, border, distance, domain[d]);
    outer.back() = slice_[d - 1] + m.index;
    if (m.off) outside.insert(outside.begin(), {m.off, border.value});
  }
  if (!rows_inside_) {
    const Border border = memory_border(ring, 0);
    Value off;
    outer.front() = mapped_index(border.mode, r, extent(domain[0]), off);
    if (off) outside.emplace_back(off, border.value);
  }
  const auto bordered = [&](Value v) {
    for (const auto& [off, value] : outside) v = choose(off, border_value(value, ring.stage, kept_lane), v);
    return v;
  };
  if (columns_inside_) {
    load_inside(builder_->let("from", convert({lane, 1, true}, columns_of_row(ring, outer))));
    for (const Value& r : values_ == 2 ? std::vector<Value>{} : to)
      if (const Value v = bordered(r); v != r) builder_->assign(r, v);
    return;
  }
  const Border border = memory_border(ring, last());
  Value from = builder_->let("from", row(ring.stage, outer));
  for (i64 c = 0; c < static_cast<i64>(to.size()); ++c) {
    Value column_off;
    Value at = mapped_index(border.mode, x + (c - ring.left), extent(domain.back()), column_off);
    Value v = convert(type, load(convert({lane, 1, true}, address(from, at * where.element_stride)), integer(0), 1));
    if (column_off) v = choose(column_off, border_value(border.value, ring.stage, kept_lane), v);
    builder_->assign(to[static_cast<std::size_t>(c)], bordered(v));
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
    // Addresses stand before the branch: those of later rows go on from them.
    std::vector<Value> known;
    const bool stored = !known_step_ || (*known_step_ + step >= 0 && *known_step_ + step < kernel_.frame->height);
    for (std::size_t j = k; rows_known() && stored && j < end; ++j)
      known.push_back(row_of_tile(ring, ring.first_fresh() + static_cast<i64>(j)));
    const auto store = [&] {
      for (std::size_t j = k; j < end; ++j) {
        if (rows_known()) {
          store_row(s, known[j - k], rows[j]);
          continue;
        }
        Value r = builder_->let("row", first + static_cast<i64>(j));
        const auto put = [&] {
          std::vector<Value> outer{r};
          outer.insert(outer.end(), slice_.begin(), slice_.end());
          store_row(s, columns_of_row(ring, outer), rows[j]);
        };
        exact || rows_inside_ ? put() : builder_->branch(less(r, extent(domain[0])), put);
      }
    };
    if (known_step_) {
      Value here = stores_;
      if (others_ && *known_step_ + step + 1 < kernel_.frame->height)
        here = both(here, less(others_, convert(flag_type, integer(*known_step_ + step + 1))));
      if (stored) here ? builder_->branch(here, store) : store();
    } else {
      Value at = builder_->let("at", y_ + step);
      builder_->branch(both(less(y0_ - 1, at), less(at, y1_)), store);
    }
    k = end;
  }
}

void StripStep::store_row(StageId s, const Value& at, const std::vector<Value>& values) {
  const StripRing& ring = ring_of(s);
  const Lane lane = memory_lane(s);
  const ArrayPlace where = place(s);
  const i64 size = ir::nest::size_of(lane), lanes_at_once = vector_of(ring);
  const Value& x = x_.at(ring.rate[1]);
  Value pointer = builder_->let("to", convert({lane, 1, true}, at));
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
      builder_->branch(less(x + c, extent(graph_.stage(s).domain.back())), put);
  }
}

}  // namespace tessera::lower
