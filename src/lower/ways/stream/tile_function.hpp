// The function of one tile while it is written: what its head has declared, what the tile needs of every pass and how
// far it has come, and where rows lie.
#pragma once

#include <map>
#include <vector>

#include "lower/ways/stream/memory.hpp"

namespace tessera::lower {

struct TileFunction : Declared {
  TileFunction(const StreamGroup& of, const std::vector<PassBody>& with, Builder& into)
      : Declared(of, into), bodies(with) {}

  const std::vector<PassBody>& bodies;  // by pass, as `regions` and `done` are
  std::vector<Region> regions;          // of what is computed
  std::vector<ir::nest::Value> done;    // rows of dimension 0 below are computed
  std::map<ir::StageId, Region> own;    // of results: the tile's share
  Memory memory;

  // u8* to column 0 of a ring or array row. Its outer indices are inside the domain and computed.
  ir::nest::Value row_at(ir::StageId, const std::vector<ir::nest::Value>& at) const;
  // Is the row part of what this tile is to give? Where it lies in its array, from the tile's first column on.
  ir::nest::Value is_mine(ir::StageId, const std::vector<ir::nest::Value>& index) const;
  ir::nest::Value placed_row(ir::StageId, const std::vector<ir::nest::Value>& index) const;
};

// For row r of a block of which so many are due.
template <class Body>
void where_due(Builder& builder, std::size_t r, const ir::nest::Value& count, Body body) {
  if (r == 0)
    body();
  else
    builder.branch(less(ir::nest::integer(static_cast<i64>(r)), count), body);
}

// One of its passes.
struct PassOfTile {
  PassOfTile(TileFunction& of, std::size_t p)
      : tile(of), number(p), pass(of.group.pass(p)), body(of.bodies[p]), work(of.memory.work[p]) {}

  const Region& region() const { return tile.regions[number]; }

  TileFunction& tile;
  const std::size_t number;
  const plan::Pass& pass;
  const PassBody& body;
  const Workspace& work;
};

}  // namespace tessera::lower
