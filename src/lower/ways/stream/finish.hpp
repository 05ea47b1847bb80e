// What is left to do once a row is complete: finish.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

// Zeros where the stage is not evaluated, its continuation beyond its ends, its copy in memory. `target`: column 0.
void finish_row(const TileFunction&, ir::StageId, const std::vector<ir::nest::Value>& index,
                const ir::nest::Value& target);

}  // namespace tessera::lower
