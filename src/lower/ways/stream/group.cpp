// The functions of a group, and the tile's loop over steps.
#include "lower/ways/stream/group.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/process/deadline.hpp"
#include "lower/outline.hpp"
#include "lower/ways/stream/pass.hpp"
#include "lower/ways/stream/shape.hpp"
#include "lower/ways/stream/tiles/tiles.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;
using ir::nest::variable;

namespace {

constexpr ir::nest::Type integers_type{Lane::i64, 1, true};

ir::nest::Function scratch_function(const StreamGroup& group, const std::vector<PassBody>& bodies,
                                    const std::vector<TileTransform>& transforms) {
  ir::nest::Function f;
  f.name = group.name() + "_scratch";
  f.has_result = true;
  f.result = index_type;
  f.parameters = {{"N", integers_type, true, false}, {"T", integers_type, true, false}};
  Builder b(f.body);
  Declared declared(group, b);
  declared.declare_extents(bodies);
  b.call("return", {memory_size(declared, bodies, transforms)});
  return f;
}

// The rows by which a pass is ahead of the anchor: where that has reached row e, it is done below e * rate + lag.
struct Pace {
  plan::StagePlan::Rate rate;
  i64 lag = 0;
};

Pace pace_of(const StreamGroup& group, const plan::Pass& pass) {
  Pace pace{group.plan_of(pass.stages.front()).rate[0], group.plan_of(pass.stages.front()).lag};
  for (StageId s : pass.stages) pace.lag = std::max(pace.lag, group.plan_of(s).lag);
  return pace;
}

// Rows of all passes, step by step.
void stream(TileFunction& tile) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const std::size_t count = group.passes().size();
  tile.done.clear();
  for (std::size_t p = 0; p < count; ++p) tile.done.push_back(b.var("done", tile.regions[p].lo[0]));
  auto step = [&](auto&& end_of) {
    for (std::size_t p = 0; p < count; ++p) {
      Value end = b.let("end", end_of(p));
      b.block(fmt::format("{}_pass{}", group.name(), p), [&] { compute_rows(tile, p, end); });
      b.assign(tile.done[p], end);
    }
  };
  if (count == 1 || group.options.schedule == Schedule::tiled)
    return step([&](std::size_t p) { return tile.regions[p].hi[0]; });
  Value first, last;
  for (std::size_t p = 0; p < count; ++p) {
    const Pace pace = pace_of(group, group.pass(p));
    const auto reached = [&](const char* rounded, const Value& row) {
      return call_i64(rounded, {(row - pace.lag) * pace.rate.den, integer(pace.rate.num)});
    };
    const Value low = reached("tsr_floor_div", tile.regions[p].lo[0]);
    const Value high = reached("tsr_ceil_div", tile.regions[p].hi[0]);
    first = first ? min(first, low) : low;
    last = last ? max(last, high) : high;
  }
  first = b.let("first", first + group.planned.step);
  last = b.let("last", last + group.planned.step);
  b.loop("e", first, last, integer(group.planned.step), [&](const Value& e) {
    step([&](std::size_t p) {
      const auto [r, lag] = pace_of(group, group.pass(p));
      Value rows = is_one(r) ? e : r.den == 1 ? e * r.num : call_i64("tsr_floor_div", {e * r.num, integer(r.den)});
      return call_i64("tsr_clamp", {rows + lag, tile.done[p], tile.regions[p].hi[0]});
    });
  });
}

ir::nest::Function tile_function(const StreamGroup& group, const std::vector<PassBody>& bodies,
                                 const std::vector<TileTransform>& transforms) {
  ir::nest::Function f;
  f.name = group.name();
  for (StageId s : group.planned.stages) f.essay += (f.essay.empty() ? "" : ", ") + group.stage(s).name;
  f.parameters = {{"P", bytes_pointer, false, true},
                  {"N", integers_type, true, false},
                  {"T", integers_type, true, false},
                  {"tile", index_type, false, false},
                  {"S", bytes_pointer, false, false}};
  Builder b(f.body);
  TileFunction tile(group, bodies, b);
  tile.declare_extents(bodies);
  tile.declare_arrays();
  Regions regions = regions_of(tile);
  tile.regions = std::move(regions.of_pass);
  tile.own = std::move(regions.own);
  const Value memory = variable("S", bytes_pointer);
  const bool guarded = group.options.guarded;
  // What is reserved holds 0xff, and so NaN, until it is written; borders are filled in while reserving.
  if (guarded) b.call("tsr_spoil", {memory, memory_size(tile, bodies, transforms)});
  ScratchStack scratch(b, ScratchStack::Use::written, guarded);
  tile.memory = reserve_memory(tile, bodies, transforms, tile.regions, scratch);
  group.transformed() ? compute_tiles(tile) : stream(tile);
  for (const Value& g : scratch.guards()) b.call("tsr_guarded", {address(memory, g)});
  return f;
}

}  // namespace

void lower_group(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t number,
                 ir::nest::Module& module) {
  const StreamGroup group(plan, interface, ranges, number);
  take_borders(group);
  const std::vector<PassBody> bodies = bodies_of(group);
  const std::vector<TileTransform> transforms = prepare_transforms(group, module);
  module.functions.push_back(shape_function(group, bodies, transforms));
  module.functions.push_back(scratch_function(group, bodies, transforms));
  module.functions.push_back(tile_function(group, bodies, transforms));
}

Lowered lower_cpu(const plan::Plan& plan) {
  plan::Plan working = plan;  // bodies shifted along rows join the graph's expressions
  Lowered result;
  result.interface = interface_of(working);
  result.module.tables = working.graph.tables;
  analyze::Ranges ranges(working.graph);
  for (std::size_t g = 0; g < working.groups.size(); ++g) {
    base::reached_stage(working.graph.stage(working.groups[g].anchor).name);
    lower_group(working, result.interface, ranges, g, result.module);
  }
  outline_blocks(result.module);
#ifndef NDEBUG
  ir::nest::verify(result.module);
#endif
  return result;
}

}  // namespace tessera::lower
