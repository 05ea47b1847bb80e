// Rows of a pass: blocks of them, the pointers that a block reads and writes by, and what follows its columns.
#include "lower/ways/stream/pass.hpp"

#include <algorithm>
#include <functional>

#include "lower/ways/stream/columns/compose.hpp"
#include "lower/ways/stream/columns/fields.hpp"
#include "lower/ways/stream/finish.hpp"
#include "lower/ways/stream/forms.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;

namespace {

// Row r of a block.
std::vector<Value> row_of_block(const plan::Pass& pass, std::vector<Value> index, int r) {
  index[pass.along] = index[pass.along] + r;
  return index;
}

// Of a stage that may be one of several pieces of one row of what they fill: in the order of their columns.
Target target_of(const PassOfTile& of, StageId s, std::size_t own, int r) {
  const StreamGroup& group = of.tile.group;
  const std::vector<StageId>& stages = of.pass.stages;
  Target target;
  target.first = own;
  const StageId w = group.written(s);
  const i64 spread = w == s ? 1 : group.plan_of(s).stride.back();
  for (std::size_t k = 0; k < stages.size() && spread > 1; ++k) {
    const plan::StagePlan &mine = group.plan_of(s), &other = group.plan_of(stages[k]);
    if (group.written(stages[k]) != w) continue;
    if (!std::equal(mine.start.begin(), mine.start.end() - 1, other.start.begin())) continue;
    if (other.start.back() == 0) target.first = static_cast<std::size_t>(r) * stages.size() + k;
    target.pieces = static_cast<int>(spread);
    target.piece = static_cast<int>(mine.start.back());
  }
  return target;
}

// Rows to write, u8*; rows of the block that are not due go to a row that nobody reads.
std::vector<Value> place_targets(const PassOfTile& of, Block& block) {
  const StreamGroup& group = of.tile.group;
  Builder& b = of.tile.builder;
  const Value xs = of.region().lo[group.rank - 1];
  std::vector<Value> rows;
  for (int r = 0; r < of.pass.rows; ++r)
    for (StageId s : of.pass.stages) {
      const std::vector<Value> at = row_of_block(of.pass, block.index, r);
      const StageId w = group.written(s);
      const i64 spread = w == s ? 1 : group.plan_of(s).stride.back();
      Target target = target_of(of, s, block.targets.size(), r);
      Value row = of.tile.row_at(w, w == s ? at : written_index(group, s, at));
      if (r > 0) {
        Value dump = address(of.work.dump, integer(0) - xs * (spread * group.bytes(w)));
        row = choose(less(integer(r), block.count), row, dump);
      }
      rows.push_back(b.let("to", row));
      target.to = b.let("to", group.typed(w, rows.back()));
      block.targets.push_back(std::move(target));
    }
  return rows;
}

// Is there anything left to do once a row of the stage is complete?
bool is_finished_later(const StreamGroup& group, StageId s) {
  const plan::StagePlan& plan = group.plan_of(s);
  if (plan.home == plan::Home::inside) return false;
  if (group.has_margins(s)) return true;
  return plan.home != plan::Home::array && (plan.pad_lo != 0 || plan.pad_hi != 0 || plan.also_array);
}

}  // namespace

void compute_block(const PassOfTile& of, const std::vector<Value>& index, const Value& count) {
  const std::vector<StageId>& stages = of.pass.stages;
  Block block;
  block.index = index;
  block.count = count;
  for (std::size_t k = 0; k < of.body.sources.size(); ++k) block.sources.push_back(source_rows(of, k, index));
  const std::vector<Value> rows = place_targets(of, block);
  compute_columns(of, block);
  for (int r = 0; r < of.pass.rows; ++r)
    for (std::size_t k = 0; k < stages.size(); ++k) {
      if (!is_finished_later(of.tile.group, stages[k])) continue;
      where_due(of.tile.builder, static_cast<std::size_t>(r), count, [&] {
        finish_row(of.tile, stages[k], row_of_block(of.pass, index, r),
                   rows[static_cast<std::size_t>(r) * stages.size() + k]);
      });
    }
  copy_fields(of, index, count, rows);
}

void compute_rows(TileFunction& tile, std::size_t p, const Value& end) {
  const PassOfTile of(tile, p);
  Builder& b = tile.builder;
  const std::size_t rank = tile.group.rank;
  const auto block = lowering_of(of.pass.form).block;
  std::vector<Value> index(rank - 1);
  Value count = integer(1);  // rows of a block that are due
  std::function<void(std::size_t)> nest = [&](std::size_t d) {
    Value lo = d == 0 ? tile.done[p] : of.region().lo[d];
    Value hi = d == 0 ? end : of.region().hi[d];
    const bool last = d + 2 == rank;
    const i64 step = d == of.pass.along ? of.pass.rows : 1;
    b.loop(last ? "y" : "z", lo, hi, integer(step), [&](const Value& i) {
      index[d] = i;
      if (step > 1) count = b.let("count", min(hi - i, integer(step)));
      last ? block(of, index, count) : nest(d + 1);
    });
  };
  nest(0);
}

}  // namespace tessera::lower
