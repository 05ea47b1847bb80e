// Which tile a block of threads of a device takes a weighted sum in, and what that and the direct way cost: see
// fft/device_tile.hpp and docs/convolution.md.
#pragma once

#include <array>
#include <optional>

#include "ir/graph.hpp"
#include "plan/weights.hpp"

namespace tessera::plan {

// Of weights of one plane; rows 0 where no tile holds them. `parts`: threads that may share a row. `extents`: of the
// image, where they are known.
ir::Stage::Tiling device_tile(const Tensor& weights, ElementType number, int parts,
                              const std::array<std::optional<i64>, 2>& extents);

// The same of tiles that no block holds, in three kernels (fft/device_large_tile.hpp). `assumed`: extents of the image,
// which tiles are to suit as well as larger ones.
ir::Stage::Tiling large_device_tile(const Tensor& weights, ElementType number, const std::array<i64, 2>& assumed);

// Nanoseconds a point of a multiprocessor without transforms.
double device_direct(const Tensor& weights, ElementType type);

}  // namespace tessera::plan
