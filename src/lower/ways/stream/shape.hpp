// tsr_gK_shape: extents of a tile, for extents of the images and a number of threads; shape.cpp.
#pragma once

#include "lower/ways/stream/pass_body.hpp"
#include "lower/ways/stream/tiles/transform.hpp"

namespace tessera::lower {

ir::nest::Function shape_function(const StreamGroup&, const std::vector<PassBody>&, const std::vector<TileTransform>&);

}  // namespace tessera::lower
