// Fields of structs in memory: fields.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

// Lanes of 32 bits: one field of bytes, of points of so many. `at`: the first element of the first point.
ir::nest::Value field_words(const ir::nest::Value& pointer, const ir::nest::Value& at, i64 field, i64 fields,
                            int lanes);

// Fields of results that leave together (StreamGroup::leaving_with), of a block of which `count` rows are due. `rows`:
// of every row of the block those of all stages.
void copy_fields(const PassOfTile&, const std::vector<ir::nest::Value>& index, const ir::nest::Value& count,
                 const std::vector<ir::nest::Value>& rows);

}  // namespace tessera::lower
