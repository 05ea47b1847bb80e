// A plan as kernels: a loop over groups, each by the way that the plan holds; see lower/device.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/ranges.hpp"
#include "ir/build.hpp"
#include "ir/nest/key.hpp"
#include "lower/host/launches.hpp"
#include "lower/ways/points/points.hpp"
#include "lower/ways/repeated.hpp"
#include "lower/ways/ways.hpp"

namespace tessera::lower {

using ir::StageId;

namespace {

// Steps of a chain and levels of a pyramid are often the same text, which takes long to compile.
void share_functions(DeviceProgram& program) {
  std::vector<ir::nest::Function> functions = std::move(program.module.functions);
  program.module.functions.clear();
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> now;
  for (ir::nest::Function& function : functions) {
    const auto [found, fresh] = known.try_emplace(ir::nest::key_of(function), program.module.functions.size());
    now.push_back(found->second);
    if (fresh) program.module.functions.push_back(std::move(function));
  }
  // The order that a kernel waits for is one more integer, and a part of its text.
  std::map<std::tuple<std::array<int, 3>, int, std::size_t, i64, std::size_t>, std::string> names;
  for (DeviceKernel& kernel : program.kernels) {
    kernel.function = now[kernel.function];
    const auto text = std::make_tuple(kernel.threads, kernel.blocks_at_once, kernel.integers.size(),
                                      kernel.shared_bytes, kernel.function);
    kernel.name = names.try_emplace(text, kernel.name).first->second;
  }
}

// Neighbours that do not read each other may run beside each other, and are told so.
void take_orders(const plan::Plan& plan, DeviceProgram& program) {
  const auto reads = [&](const DeviceKernel& b, const DeviceKernel& a) {
    for (const StageId s : plan.groups[b.group].stages)
      for (const StageId source : ir::sources(plan.graph, s))
        if (plan.stages[source].group == static_cast<int>(a.group)) return true;
    return false;
  };
  std::set<std::size_t> able;
  for (std::size_t k = 1; k < program.kernels.size(); ++k) {
    const DeviceKernel &a = program.kernels[k - 1], &b = program.kernels[k];
    if (a.strips && b.strips && !reads(b, a)) able.insert({k - 1, k});
  }
  for (const std::size_t k : able)
    program.kernels[k].integers.push_back({DeviceKernel::Integer::Kind::order, {}, 0, 0});
}

bool runs_by_points(const plan::Group& group) {
  return group.way.chosen().way == points.name;
}

// Pass by pass every stage has an array, but pieces that lie inside of another.
void keep_all_stages(plan::Plan& plan) {
  for (plan::Group& group : plan.groups) {
    if (!runs_by_points(group)) continue;
    group.results.clear();
    for (StageId s : group.stages)
      if (plan.stages[s].home != plan::Home::inside) group.results.push_back(s);
  }
}

// Composed stages that are kernels of their own: copies.
std::set<StageId> composed_alone(const plan::Plan& plan) {
  std::set<StageId> result;
  for (const plan::Group& group : plan.groups) {
    if (!runs_by_points(group)) continue;
    for (const plan::Pass& pass : group.passes)
      if (pass.composes() && !plan.stages[pass.stages.front()].filled) result.insert(pass.stages.front());
  }
  return result;
}

}  // namespace

std::set<std::pair<ir::SizeId, i64>> least_extents(const DeviceProgram& program) {
  std::map<ir::SizeId, i64> result;
  for (const DeviceKernel& kernel : program.kernels)
    for (const auto& [size, least] : kernel.least) result[size] = std::max(result[size], least);
  return {result.begin(), result.end()};
}

DeviceProgram lower_device(plan::Plan& plan) {
  plan::Plan working = plan;
  keep_all_stages(working);
  DeviceProgram program;
  RangesOnDemand ranges(working.graph);
  program.interface = interface_of(working, composed_alone(working));
  program.module.tables = working.graph.tables;
  RepeatedGroups repeated(working, program.interface, ranges);
  for (std::size_t g = 0; g < working.groups.size(); ++g) {
    const plan::Group& group = working.groups[g];
    if (repeated.repeat(g, program)) continue;
    const std::size_t first = program.kernels.size();
    way_of(device_ways(), group)
        .lower({working, program.interface, ranges, g}, group.way.chosen(), fmt::format("tsr_g{}", g), program);
    repeated.lowered(g, first, program);
  }
  if (working.device.overlaps) take_orders(working, program);
  share_functions(program);
  for (DeviceKernel& kernel : program.kernels) kernel.launch = launch_of(kernel);
  plan.graph = std::move(working.graph);
  return program;
}

}  // namespace tessera::lower
