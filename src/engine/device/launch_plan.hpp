// What a program is on every device, and how its kernels are launched for images of given extents: one answer for runs
// and for `explain`, so that what is explained is what runs.
#pragma once

#include <array>
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
  std::vector<i64> blocks;  // along every dimension of the kernel's domain; empty where there is a frame
  i64 strip_rows = 0;       // 0: no strips
  std::array<i64, lower::frame_integers> frame{};
};

// `blocks_per_multiprocessor`: of this kernel, at once; what is not known (0 or less) counts as 4. Of all rows, or of
// `rows`. Throws Error(argument) where one launch cannot hold all points.
KernelLaunch launch_plan(const lower::DeviceKernel&, const ir::Graph&, const std::vector<i64>& parameters,
                         int blocks_per_multiprocessor, int multiprocessors, std::optional<RowRange> rows = {});

}  // namespace tessera::engine
