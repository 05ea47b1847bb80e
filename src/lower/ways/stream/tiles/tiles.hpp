// The way of cores that takes groups with sums that are computed through Fourier transforms of tiles.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const CoreWay core_tiles;

}  // namespace tessera::lower
