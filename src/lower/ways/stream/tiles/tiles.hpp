// The tile of a group with sums that are computed through Fourier transforms: tiles.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

void compute_tiles(TileFunction&);

}  // namespace tessera::lower
