// What a sum reads that is computed through Fourier transforms, while its tiles are loaded: prologue.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

// Of the points that both tiles of a pair read, into the ring of that stage.
void compute_prologue(TileFunction&, const PlacedTransform&, const std::vector<ir::nest::Value>& index,
                      const ir::nest::Value& x0);

}  // namespace tessera::lower
