// The rows of a pass, in blocks: pass.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

// Of dimension 0 those that are not done yet, below `end`.
void compute_rows(TileFunction&, std::size_t pass, const ir::nest::Value& end);
// Those of a block whose columns are computed, from the one at `index` on; so many are due.
void compute_block(const PassOfTile&, const std::vector<ir::nest::Value>& index, const ir::nest::Value& count);

}  // namespace tessera::lower
