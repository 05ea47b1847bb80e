// See launch_plan.hpp.
#include "engine/device/launch_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/size_class.hpp"
#include "engine/tune/prices.hpp"
#include "lower/host/launches.hpp"
#include "lower/ways/ways.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

struct Here : ir::host::LaunchContext {
  explicit Here(const LaunchOf& o) : of(o) {}
  i64 size(ir::SizeId n) const override { return of.graph.evaluate(n, of.parameters); }
  i64 offset(std::size_t array) const override { return of.lying(array).offset; }
  i64 stride(std::size_t array, std::size_t d) const override { return of.lying(array).strides.at(d); }
  i64 call(const std::string& function, const std::vector<i64>& args, std::vector<i64>& filled) const override {
    return lower::host_function(function, args, filled);
  }
  const LaunchOf& of;
};

}  // namespace

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

KernelLaunch launch_plan(const lower::DeviceKernel& kernel, const LaunchOf& of) {
  Here here(of);
  const i64 all = of.graph.evaluate(kernel.domain.front(), of.parameters);
  here.first = of.rows ? of.rows->first : 0;
  here.last = of.rows ? of.rows->first + of.rows->count() : all;
  const i64 known =
      of.blocks_per_multiprocessor > 0 ? of.blocks_per_multiprocessor : std::max(4, kernel.blocks_at_once);
  here.at_once = known * std::max(1, of.multiprocessors);
  const ir::host::LaunchValues value(kernel.launch, here);
  KernelLaunch result;
  result.launch.kernel = kernel.name;
  result.launch.block = kernel.threads;
  result.launch.early = kernel.strips;
  result.launch.grid = {value(kernel.launch.grid), 1, 1};
  constexpr i64 most_blocks = 0x7fffffff;
  if (result.launch.grid[0] > most_blocks)
    throw Error(ErrorClass::argument,
                fmt::format("stage of kernel {} has too many points for one launch: more than {} blocks", kernel.name,
                            most_blocks));
  if (kernel.launch.height) result.strip_rows = value(*kernel.launch.height);
  if (of.lying)
    for (const ir::host::Number& n : kernel.launch.integers) result.integers.push_back(value(n));
  return result;
}

}  // namespace tessera::engine
