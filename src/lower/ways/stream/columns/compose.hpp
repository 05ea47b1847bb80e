// Rows of compose stages: compose.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

void compose_row(const PassOfTile&, const std::vector<ir::nest::Value>& index);
// The row of the whole that a row of a piece inside it is.
std::vector<ir::nest::Value> written_index(const StreamGroup&, ir::StageId piece,
                                           const std::vector<ir::nest::Value>& index);

}  // namespace tessera::lower
