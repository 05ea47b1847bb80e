// The columns of a block of rows: runs of whole vectors straight from memory, and near the ends of a row short runs
// through patches. columns.cpp splits the row, vectors.cpp has the loop over the vectors of one run.
#pragma once

#include "lower/ways/stream/rows.hpp"

namespace tessera::lower {

// Where a pass stores the values of a stage in one row of its block.
struct Target {
  ir::nest::Value to;  // typed: column 0 of the row; shared by the pieces that fill one row
  // Pieces that fill one row: this one is number `piece` of `pieces`, whose vectors are stored interleaved.
  int piece = 0, pieces = 1;
  std::size_t first = 0;  // position of piece 0 among the targets
};

// A block of rows, of which `count` are due.
struct Block {
  std::vector<ir::nest::Value> index;  // of its first row
  ir::nest::Value count;
  std::vector<Pointers> sources;  // by source of the pass's body
  std::vector<Target> targets;    // rows * stages, as roots are
};

// All columns that the pass computes.
void compute_columns(const PassOfTile&, const Block&);

// From column `from` on in whole vectors, until `to` is reached or passed. `streaming`: a flag, may results go past the
// caches?
void compute_vectors(const PassOfTile&, const Block&, const ir::nest::Value& from, const ir::nest::Value& to,
                     const ir::nest::Value& streaming);

// Elements at computed places of an array: clamped to it, and put together from their offsets.
ir::nest::Value gathered(const TileFunction&, const ir::ExprNode&, const std::vector<ir::nest::Value>& indices,
                         int lanes);
// An element at one place, whose indices are scalars.
ir::nest::Value gathered_one(const TileFunction&, const ir::ExprNode&, const std::vector<ir::nest::Value>& indices);
// Operands of a stage that are no access, at column x: the same in all lanes but for the column's own number.
ir::nest::Value leaf(const TileFunction&, ir::StageId, const ir::ExprNode&, const std::vector<ir::nest::Value>& index,
                     const ir::nest::Value& x, int lanes);

// A turn of that loop, at column x, by forms of passes: vectors.cpp, of partial results lanes.cpp.
void vector_turn(const PassOfTile&, const Block&, const ir::nest::Value& x, const ir::nest::Value& streaming);
void pair_turn(const PassOfTile&, const Block&, const ir::nest::Value& x, const ir::nest::Value& streaming);
void quad_turn(const PassOfTile&, const Block&, const ir::nest::Value& x, const ir::nest::Value& streaming);
void reduction_turn(const PassOfTile&, const Block&, const ir::nest::Value& x, const ir::nest::Value& streaming);

}  // namespace tessera::lower
