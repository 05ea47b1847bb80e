// Pointers to the rows that a block reads of one source: rows.cpp.
#pragma once

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

struct Pointers {                       // of a source, at one block
  std::vector<ir::nest::Value> direct;  // one per table entry
  ir::nest::Value listed;               // of a long table, whose text would be too long: an array, filled by a loop
  ir::nest::Value current;              // variable (or array of them): direct, or the patch
};

// Of source k, for the block whose first row is at `index`: borders of rows are settled here.
Pointers source_rows(const PassOfTile&, std::size_t source, const std::vector<ir::nest::Value>& index);

// Of an array of pointers to rows.
inline ir::nest::Value listed_row(const ir::nest::Value& rows, const ir::nest::Value& entry) {
  return ir::nest::call("tsr_at", rows->type, {rows, entry});
}

}  // namespace tessera::lower
