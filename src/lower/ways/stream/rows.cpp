// Pointers to the rows that a block reads of one source.
//
// A few dozen are variables of their own, which compilers keep in registers. Those of a long window (a Gaussian of
// sigma 200 reads 1201 rows) are an array that a loop fills: as text they took half a minute to compile.
#include "lower/ways/stream/rows.hpp"

#include <functional>

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Type;
using ir::nest::Value;

namespace {

// u8*: column 0 of the row at these offsets from what the block reads first.
Value source_row(const PassOfTile& of, std::size_t k, const std::vector<Value>& offsets,
                 const std::vector<Value>& index) {
  const TileFunction& tile = of.tile;
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const PassBody::Source& source = of.body.sources[k];
  const StageId consumer = of.pass.stages.front();

  const ir::Stage& producer = group.stage(source.stage);
  const plan::StagePlan& from = group.plan_of(source.stage);
  bool ring = group.contains(source.stage);
  std::size_t lead = group.rank - producer.domain.size();
  std::vector<Value> at;
  std::vector<std::pair<Value, Value>> outside;  // a flag, and the row to read then
  for (std::size_t d = 0; d + 1 < producer.domain.size(); ++d) {
    const ir::Index& where = source.outer[d];
    const Value offset = offsets.empty() ? integer(where.offset) : offsets[d] + where.offset;
    Value v = index[d + lead] * where.scale + tile.extent(where.shift) + offset;
    BorderMode mode = source.outer_border[d].mode;
    if (group.plan_of(consumer).periodic[d + lead]) mode = BorderMode::wrap;
    Value n = tile.extent(producer.domain[d]);
    if (!(ring && from.periodic[d]) && mode != BorderMode::none && mode != BorderMode::clamp) {
      v = b.let("row", call_i64("tsr_map", {integer(static_cast<i64>(mode)), v, n}));
      if (mode == BorderMode::constant) {
        outside.emplace_back(less(v, integer(0)), of.work.constants.at(k)[d]);
      }
    }
    // Rows of a block below its last one read whatever is there; ring rows are those computed so far.
    Value lo = integer(0), hi = n - 1;
    if (ring) {
      std::size_t p = group.pass_of(source.stage);
      lo = tile.regions[p].lo[d];
      hi = (d == 0 ? tile.done[p] : tile.regions[p].hi[d]) - 1;
      if (!from.periodic[d] && mode == BorderMode::clamp) v = call_i64("tsr_clamp", {v, integer(0), n - 1});
    }
    at.push_back(b.let("row", call_i64("tsr_clamp", {v, lo, hi})));
  }
  Value pointer = tile.row_at(source.stage, at);
  for (std::size_t k = outside.size(); k-- > 0;)  // the slowest dimension decides
    pointer = choose(outside[k].first, outside[k].second, pointer);
  return pointer;
}

}  // namespace

Pointers source_rows(const PassOfTile& of, std::size_t k, const std::vector<Value>& index) {
  const StreamGroup& group = of.tile.group;
  Builder& b = of.tile.builder;
  const PassBody::Source& source = of.body.sources[k];

  Pointers pointers;
  const auto row = [&](const std::vector<Value>& offsets) {
    return group.typed(source.stage, source_row(of, k, offsets, index));
  };
  if (source.table.empty()) {
    pointers.direct.push_back(b.let("from", row({})));
    return pointers;
  }
  std::vector<Value> offsets(source.table.size());
  if (source.is_long()) {
    pointers.listed = b.array("listed", Type{group.memory_lane(source.stage), 1, true}, source.entries());
    std::function<void(std::size_t, const Value&)> nest = [&](std::size_t d, const Value& entry) {
      if (d == offsets.size()) {
        b.assign_element(pointers.listed, entry, row(offsets));
        return;
      }
      const auto [lo, hi] = source.table[d];
      b.loop("o", integer(lo), integer(hi + 1), integer(1), [&, lo = lo, hi = hi](const Value& o) {
        offsets[d] = o;
        nest(d + 1, entry * (hi - lo + 1) + (o - lo));
      });
    };
    nest(0, integer(0));
    return pointers;
  }
  std::vector<i64> at;
  for (auto [lo, hi] : source.table) at.push_back(lo);
  for (i64 e = 0; e < source.entries(); ++e) {
    for (std::size_t d = 0; d < at.size(); ++d) offsets[d] = integer(at[d]);
    pointers.direct.push_back(b.let("from", row(offsets)));
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] <= source.table[d].second) break;
      at[d] = source.table[d].first;
    }
  }
  return pointers;
}

}  // namespace tessera::lower
