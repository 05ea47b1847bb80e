// A weighted sum through Fourier transforms of tiles that no block of threads holds: three kernels, between which the
// spectra of tiles lie in memory (fft/device/large_tile.hpp, docs/design/sums.md).
//
//   rows      a block has lines of a tile; a row's place is mapped by every thread, columns by the block where some lie
//             outside, in shared memory
//   columns   a block has some columns of a tile
//   back      a block has lines of a tile again: results, as far as they are wanted
//
// Their domains are rows and columns of tiles, then lines of a tile, so that a slab of rows takes whole tiles, and the
// memory between the kernels is that of the slab's. What is not finite spoils all results of its tile: a thread that
// sees it in its own sums them up directly.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const DeviceWay large_tiles;

}  // namespace tessera::lower
