// How blocks lie on the points of a kernel, and the integers that tell it.
#include "lower/host/launches.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera::lower {

namespace {

using ir::host::call;
using ir::host::Launch;
using ir::host::Number;
using Op = Number::Op;

Number let(Launch& launch, std::string name, Number value, std::size_t fills = 0) {
  launch.lets.push_back({std::move(name), std::move(value), fills});
  return Number(Op::let, launch.lets.size() - 1);
}

// Points along a dimension: of the first one those that the launch is for.
Number extent(const DeviceKernel& kernel, std::size_t d) {
  return d == 0 ? Number(Op::rows) : Number(kernel.domain[d]);
}

Number blocks_along(const DeviceKernel& kernel, std::size_t d) {
  return ceil_divide(extent(kernel, d), kernel.points[d]);
}

// Register tiles, and the frame around them.
void lay_frame(const DeviceKernel& kernel, Launch& launch) {
  const DeviceKernel::Frame& f = *kernel.frame;
  const std::size_t rank = kernel.domain.size();
  Number rows = rank > 2 ? 1 : 0;
  for (std::size_t d = 1; d + 1 < rank; ++d) rows = rows * kernel.domain[d];
  const Number columns = kernel.domain.back();
  launch.grid = let(launch, "blocks",
                    call("tsr_frame", {Op::first, Op::last, columns, f.top, f.bottom, f.left, f.right, f.height,
                                       kernel.points.back(), kernel.threads[1], rows, f.sides}),
                    frame_integers);
  launch.height = f.height;
}

// Rows of a strip, or planes that a block marches through.
Number height_of(const DeviceKernel& kernel, Launch& launch) {
  const std::size_t last = kernel.domain.size() - 1;
  if (!kernel.marches)
    return let(launch, "height",
               call("tsr_strip_height", {extent(kernel, last - 1), blocks_along(kernel, last), Op::at_once,
                                         kernel.threads[1], kernel.warm_up}));
  Number across = 1;
  for (std::size_t d = 1; d <= last; ++d) across = std::move(across) * blocks_along(kernel, d);
  return let(launch, "height", call("tsr_march_height", {extent(kernel, 0), across, Op::at_once, kernel.warm_up}));
}

void lay_blocks(const DeviceKernel& kernel, Launch& launch) {
  const std::size_t rank = kernel.domain.size();
  if (kernel.strips || kernel.marches) launch.height = height_of(kernel, launch);
  launch.grid = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    Number points = kernel.points[d];
    if (kernel.marches && d == 0) points = *launch.height;
    if (!kernel.marches && kernel.strips && d + 2 == rank) points = *launch.height * kernel.threads[1];
    launch.blocks.push_back(let(launch, fmt::format("b{}", d), ceil_divide(extent(kernel, d), points)));
    launch.grid = std::move(launch.grid) * launch.blocks.back();
  }
}

Number integer_of(const DeviceKernel& kernel, const Launch& launch, const DeviceKernel::Integer& what) {
  using Kind = DeviceKernel::Integer::Kind;
  switch (what.kind) {
    case Kind::size:
      return what.size;
    case Kind::offset:
      return Number(Op::offset, kernel.arrays[what.array]);
    case Kind::stride:
      return Number(Op::stride, kernel.arrays[what.array], what.dimension);
    case Kind::blocks:
      return launch.blocks[what.dimension];
    case Kind::strip:
      return *launch.height;
    case Kind::first:
      return Op::first;
    case Kind::last:
      return Op::last;
    case Kind::frame:
      return Number(Op::filled, 0, what.dimension);
    case Kind::order:
      return Op::order;
  }
  return 0;
}

}  // namespace

ir::host::Launch launch_of(const DeviceKernel& kernel) {
  Launch launch;
  if (kernel.frame)
    lay_frame(kernel, launch);
  else
    lay_blocks(kernel, launch);
  for (const DeviceKernel::Integer& what : kernel.integers) launch.integers.push_back(integer_of(kernel, launch, what));
  if (launch.integers.empty()) launch.integers.push_back(0);
  return launch;
}

}  // namespace tessera::lower
