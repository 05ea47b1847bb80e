// See launch_plan.hpp.
#include "engine/device/launch_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/size_class.hpp"
#include "engine/tune/prices.hpp"
#include "lower/ways/ways.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

machine::Abilities abilities_of(const run::gpu::Limits& limits) {
  machine::Abilities abilities = machine::abilities_of_target(limits.target);
  abilities.shuffles = limits.shuffles;
  abilities.minima = limits.minima;
  abilities.matrices = limits.matrices;
  abilities.prices = prices_in_use(limits.target, limits.name).prices;
  return abilities;
}

DeviceCode device_code(const ir::Graph& graph, const machine::Abilities& abilities, Schedule schedule, Numbers numbers,
                       Method method, i64 shared_bytes, const std::vector<i64>& of_class) {
  plan::Options how;
  how.schedule = schedule;
  how.numbers = numbers;
  how.method = method;
  DeviceCode code;
  code.plan = plan_for_class(graph, how, machine::device(abilities), of_class);
  lower::choose_device_ways(code.plan, std::min(shared_bytes, lower::shared_of_block));
  code.program = lower::lower_device(code.plan);
  return code;
}

bool is_wide(const lower::DeviceProgram& program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(), [](const lower::DeviceKernel& k) {
    return k.frame && k.domain.size() > 2 && k.columns > machine::narrow_columns;
  });
}

bool takes(const lower::DeviceProgram& program, const ir::Graph& graph, const std::vector<i64>& parameters) {
  const auto least = lower::least_extents(program);
  return std::all_of(least.begin(), least.end(),
                     [&](const auto& extent) { return graph.evaluate(extent.first, parameters) >= extent.second; });
}

KernelLaunch launch_plan(const lower::DeviceKernel& kernel, const ir::Graph& graph, const std::vector<i64>& parameters,
                         int blocks_per_multiprocessor, int multiprocessors, std::optional<RowRange> rows) {
  KernelLaunch result;
  result.launch.kernel = kernel.name;
  result.launch.block = kernel.threads;
  result.launch.early = kernel.strips;
  std::vector<i64> extents;
  for (const ir::SizeId size : kernel.domain) extents.push_back(graph.evaluate(size, parameters));
  const RowRange all = rows.value_or(RowRange{0, extents.front()});
  extents.front() = all.count();
  const auto checked = [&](i64 count) {
    if (count > 0x7fffffff)
      throw Error(ErrorClass::argument,
                  fmt::format("stage of kernel {} has too many points for one launch: more than {} blocks", kernel.name,
                              0x7fffffff));
    return count;
  };
  if (kernel.frame) {
    result.strip_rows = kernel.frame->height;
    result.launch.grid = {checked(lower::frame(kernel, graph, parameters, all.first, all.last, result.frame)), 1, 1};
    return result;
  }
  std::vector<i64> points = kernel.points;
  const i64 known = blocks_per_multiprocessor > 0 ? blocks_per_multiprocessor : std::max(4, kernel.blocks_at_once);
  const i64 at_once = known * std::max(1, multiprocessors);
  if (kernel.marches) {
    i64 across = 1;
    for (std::size_t d = 1; d < points.size(); ++d) across *= (extents[d] + points[d] - 1) / points[d];
    result.strip_rows = points[0] = lower::strip_height(kernel, extents[0], across, at_once);
  } else if (kernel.strips) {
    const i64 across = (extents.back() + points.back() - 1) / points.back();
    result.strip_rows = lower::strip_height(kernel, extents[extents.size() - 2], across, at_once);
    points[points.size() - 2] = result.strip_rows * kernel.threads[1];
  }
  i64 count = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    result.blocks.push_back((extents[d] + points[d] - 1) / points[d]);
    count = checked(count * result.blocks.back());
  }
  result.launch.grid = {count, 1, 1};
  return result;
}

}  // namespace tessera::engine
