// The rows of a pass, in blocks: pass.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

// Of dimension 0 those that are not done yet, below `end`.
void compute_rows(TileFunction&, std::size_t pass, const ir::nest::Value& end);

}  // namespace tessera::lower
