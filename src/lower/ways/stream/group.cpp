// The functions of a group; what a tile computes is its way's.
#include "lower/ways/stream/group.hpp"

#include <algorithm>

#include "lower/ways/stream/columns/keyed.hpp"
#include "lower/ways/stream/shape.hpp"

namespace tessera::lower {

using ir::StageId;
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

ir::nest::Function tile_function(const StreamGroup& group, const std::vector<PassBody>& bodies,
                                 const std::vector<TileTransform>& transforms, const TileBody& body) {
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
  begin_bins(tile);
  body(tile);
  end_bins(tile);
  for (const Value& g : scratch.guards()) b.call("tsr_guarded", {address(memory, g)});
  return f;
}

}  // namespace

void lower_group(const WayQuestion& question, const std::string& name, const TileBody& body, Lowered& into) {
  const StreamGroup group(question, name);
  take_borders(group);
  const std::vector<PassBody> bodies = bodies_of(group);
  const std::vector<TileTransform> transforms = prepare_transforms(group, into.module);
  into.module.functions.push_back(shape_function(group, bodies, transforms));
  into.module.functions.push_back(scratch_function(group, bodies, transforms));
  into.module.functions.push_back(tile_function(group, bodies, transforms, body));
}

double nanoseconds_of_result(const WayQuestion& question) {
  const plan::Plan& plan = question.plan;
  const plan::Group& group = plan.groups[question.group];
  double points = 1;
  for (const ir::SizeId n : plan.graph.stage(group.anchor).domain)
    points *= static_cast<double>(std::max<i64>(1, plan.graph.evaluate(n, plan.options.parameters)));
  return group.nanoseconds / points;
}

}  // namespace tessera::lower
