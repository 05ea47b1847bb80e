// What lowering does for every form of a pass (plan::PassForm): a table with a row for each.
#pragma once

#include "lower/ways/stream/columns/columns.hpp"

namespace tessera::lower {

struct FormLowering {
  plan::PassForm form;
  // The rows of a block, from the one at `index` on, of which `count` are due. None of tiles, which have no such loop.
  void (*block)(const PassOfTile&, const std::vector<ir::nest::Value>& index, const ir::nest::Value& count) = nullptr;
  // Where a block has a loop over columns, one turn of it, at column x; see compute_vectors.
  void (*turn)(const PassOfTile&, const Block&, const ir::nest::Value& x, const ir::nest::Value& streaming) = nullptr;
  // What else the body of the pass holds, once its sources are known.
  void (*complete)(const StreamGroup&, const plan::Pass&, PassBody&) = nullptr;
  int phases = 1;             // neighbouring columns that are computed apart, each with roots of its own
  i64 multiple = 1;           // of columns, at which what is read begins
  bool whole_stores = false;  // as wide as a vector of the machine, however wide elements are
  bool patched_here = false;  // ends of rows by text in place: bytes are many to a vector, and ends many
};

const FormLowering& lowering_of(plan::PassForm);

}  // namespace tessera::lower
