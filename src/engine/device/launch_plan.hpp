// What a program is on every device, and how its kernels are launched for images of given extents: one answer for runs
// and for `explain`, so that what is explained is what runs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "engine/device/slabs.hpp"
#include "lower/device.hpp"
#include "machine/machines.hpp"
#include "plan/plan.hpp"
#include "run/gpu/device.hpp"

namespace tessera::engine {

// Of a device that is there, with the prices in use on it.
machine::Abilities abilities_of(const run::gpu::Limits&);

struct DeviceCode {
  plan::Plan plan;
  lower::DeviceProgram program;
};
// `shared_bytes`: of a block, as far as the device has them. `of_class`: of sizes, size_class.hpp.
DeviceCode device_code(const ir::Graph&, const machine::Abilities&, Schedule, Numbers, Method,
                       i64 shared_bytes = lower::shared_of_block, const std::vector<i64>& of_class = {});

// Volumes that are narrower than a tile and its frame run a point a thread, which takes three to nine times as long.
// Tiles of bytes are up to four times as wide as those of floats: between both there is a program of narrow tiles.
bool is_wide(const lower::DeviceProgram&);

// Are the extents large enough for every kernel?
bool takes(const lower::DeviceProgram&, const ir::Graph&, const std::vector<i64>& parameters);

struct KernelLaunch {
  run::gpu::Launch launch;
  i64 strip_rows = 0;         // 0: no strips
  std::vector<i64> integers;  // as DeviceKernel::integers says
};

// Where an array of a program's interface lies.
struct Placement {
  i64 offset = 0;            // of row 0 in its memory, in bytes; negative where the first rows are not there
  std::vector<i64> strides;  // bytes, of every dimension but the last
};

// What a launch is of. Where arrays lie is asked for its integers alone: without that it has none.
struct LaunchOf {
  const ir::Graph& graph;
  const std::vector<i64>& parameters;
  int multiprocessors = 0;
  int blocks_per_multiprocessor = 0;  // of this kernel, at once; what is not known (0 or less) counts as 4
  std::optional<RowRange> rows = {};  // of all
  std::function<const Placement&(std::size_t)> lying = {};
};

// The kernel's launch (DeviceKernel::launch) in numbers. Throws Error(argument) where one launch cannot hold all
// points.
KernelLaunch launch_plan(const lower::DeviceKernel&, const LaunchOf&);

}  // namespace tessera::engine
