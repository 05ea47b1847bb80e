// A weighted sum through Fourier transforms of tiles: a block of threads has a tile, in registers and shared memory.
//
//   rows and columns that the tile reads   a thread loads a column; where some lie outside, the border's map of rows is
//                                          made once for the block, in shared memory, that of columns by every thread
//   forward, times the spectrum, back      fft/device/tile.hpp
//   results                                a thread stores its column, as far as it is wanted
//
// A number that is not finite spoils its tile, and every thread of the block sees it in its own results: these it then
// sums up directly, so that NaN spreads as far as the weights reach. Tiles lie at multiples of their results from the
// origin of the image, whatever rows of it are computed: a point has the same bits in slabs of any height.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const DeviceWay transform_tiles;

}  // namespace tessera::lower
