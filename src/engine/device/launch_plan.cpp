// See launch_plan.hpp.
#include "engine/device/launch_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/size_class.hpp"
#include "engine/tune/prices.hpp"
#include "lower/ways/ways.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

constexpr int narrow_columns = 4;  // of a thread, as floats have them

}  // namespace

Abilities abilities_of(const run::gpu::Limits& limits) {
  const bool cuda = limits.target == "cuda";
  return {limits.shuffles, limits.minima, cuda, cuda,
          limits.matrices, false,         true, prices_in_use(limits.target, limits.name).prices};
}

Abilities abilities_of_target(const std::string& target) {
  const bool cuda = target == "cuda";
  return {cuda, cuda, cuda, cuda, cuda, false, true, {}};
}

machine::Machine device_class(Abilities abilities) {
  machine::Machine device;
  // A multiprocessor of an H200 as one core: four warps an instruction, its part of the memory's bandwidth.
  device.name = "device";
  device.vector_bytes = 128;
  device.vector_registers = 255;
  device.gigahertz = 4 * 1.98;
  device.bandwidth = 32;
  device.l1_bytes = 228 << 10;
  device.l2_bytes = 1 << 20;
  device.load_price = 0.1, device.ring_price = 1, device.fold_price = 2;
  device.columns_together = true;
  device.strip_registers = 200;
  device.shuffles = abilities.shuffles, device.minima = abilities.minima;
  // Tiles of a block have their tables in the text, which OpenCL keeps in constant memory: two spectra fill it, and a
  // warp gets one number at a time. Large tiles have buffers.
  device.transforms = abilities.chains, device.row_threads = abilities.chains ? 2 : 0;
  device.large_tiles = abilities.buffers;
  device.row_chains = abilities.chains, device.overlaps = abilities.overlaps;
  device.matrices = abilities.matrices;
  if (abilities.narrow) device.most_columns = narrow_columns;
  device.prices = abilities.prices;
  return device;
}

DeviceCode device_code(const ir::Graph& graph, Abilities abilities, Schedule schedule, Numbers numbers, Method method,
                       i64 shared_bytes, const std::vector<i64>& of_class) {
  plan::Options how;
  how.schedule = schedule;
  how.numbers = numbers;
  how.method = method;
  DeviceCode code;
  code.plan = plan_for_class(graph, how, device_class(abilities), of_class);
  lower::choose_ways(code.plan, std::min(shared_bytes, lower::shared_of_block));
  code.program = lower::lower_device(code.plan);
  return code;
}

bool is_wide(const lower::DeviceProgram& program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(), [](const lower::DeviceKernel& k) {
    return k.frame && k.domain.size() > 2 && k.columns > narrow_columns;
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
