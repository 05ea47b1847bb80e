// Which tile a block of threads of a device takes a weighted sum in, and what that and the direct way cost: see
// fft/device/tile.hpp and docs/design/sums.md.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "rewrite/sums/tiles/tiling.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

// Of a stage, with these parameters.
double points_of(const ir::Graph&, const ir::Stage&, const std::vector<i64>& parameters);

// What a block keeps besides a tile of floats, to know where rounding reaches: the largest numbers of bands of its
// rows, each band as high as half of the weights, those of all rows, and parts of the energy of the tile.
struct TileRanges {
  i64 band = 1, bands = 0;  // rows of one, how many
  static constexpr i64 energies = 8;
  i64 numbers(i64 columns) const { return (bands + 1) * columns + energies; }
};
TileRanges ranges_of_tile(i64 rows, i64 weight_rows);

// Of weights of one plane; rows 0 where no tile holds them. `ranged`: a block keeps the largest numbers of the tile's
// parts, as it does for floats. `parts`: threads that may share a row. `extents`: of the
// image, where they are known; it has about so many `points`, in all of its planes.
Tiling device_tile(const Tensor& weights, ElementType number, bool ranged, int parts,
                   const std::array<std::optional<i64>, 2>& extents, double points);

// The same of tiles that no block holds, in three kernels (fft/device/large_tile.hpp). `assumed`: extents of the image,
// which tiles are to suit as well as larger ones.
Tiling large_device_tile(const Tensor& weights, ElementType number, const std::array<i64, 2>& assumed, double points);

// Nanoseconds a point of a multiprocessor without transforms, of images of `from` to one of `type`: term by term, and
// one dimension at a time, where the weights of a plane are an outer product.
double device_direct(const Tensor& weights, ElementType type, ElementType from, double points);
std::optional<double> device_apart(const Tensor& weights, ElementType type, double points);

// Of an image that leaves much of the device idle, where the terms cost less than the second dimension's wait.
bool waits_for_dimensions(const Tensor& weights, ElementType type, ElementType from, double points);

}  // namespace tessera::rewrite
