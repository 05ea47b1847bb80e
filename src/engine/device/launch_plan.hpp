// What a program is on every device, and how its kernels are launched for images of given extents: one answer for runs
// and for `explain`, so that what is explained is what runs.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "engine/device/slabs.hpp"
#include "lower/device.hpp"
#include "plan/plan.hpp"
#include "run/gpu/device.hpp"

namespace tessera::engine {

// What kernels are planned for: the same on every device, so that a program's kernels are the same everywhere, but for
// what OpenCL 1.2 cannot say, or what a device takes several instructions for.
struct Abilities {
  bool shuffles = false;  // reading another thread's registers: CUDA, and OpenCL on NVIDIA's GPUs
  bool minima = false;    // of two integers of 16 bits in one register: NVIDIA's GPUs since Hopper
  bool chains = false;    // see machine::Machine::row_chains: CUDA
  bool overlaps = false;  // and machine::Machine::overlaps
  bool matrices = false;  // and machine::Machine::matrices: CUDA since compute capability 8.0
  bool narrow = false;    // tiles of volumes are as narrow as floats have them: see is_wide
  bool buffers = true;  // kernels get tables in memory, where they are run; an emitted file has its tables in the text
  machine::Prices prices;  // in use on the device; of the class those built in
};
Abilities abilities_of(const run::gpu::Limits&);
Abilities abilities_of_target(const std::string& target);  // of the class
machine::Machine device_class(Abilities);
// The multiprocessors of the card that the class is a part of, an H200.
constexpr int multiprocessors_of_class = 132;

struct DeviceCode {
  plan::Plan plan;
  lower::DeviceProgram program;
};
// `shared_bytes`: of a block, as far as the device has them. `of_class`: of sizes, size_class.hpp.
DeviceCode device_code(const ir::Graph&, Abilities, Schedule, Numbers, Method,
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
