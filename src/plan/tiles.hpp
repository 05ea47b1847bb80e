// The shape of tiles for given extents: the same arithmetic as the function tsr_gK_shape that lowering writes for every
// group, so that what `explain` says about tiles is what runs. tests/explain compares the two.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.hpp"

namespace tessera::plan {

// Of L2, what the rings of a tile may take: the rest is for rows of arrays, which go through it as well.
constexpr i64 ring_tenths = 6;
constexpr double ring_share = static_cast<double>(ring_tenths) / 10;
inline i64 ring_budget(const machine::Machine& machine) {
  return machine.l2_bytes * ring_tenths / 10;
}

struct TileShape {
  std::vector<i64> extents;  // of a full tile of the anchor, slowest first
  std::vector<i64> counts;   // tiles in every dimension
  i64 tiles = 1;
  bool streaming = false;  // results are stored past the caches
};

// `rows` and `columns` as in RunOptions: 0 leaves the choice to the plan.
TileShape tile_shape(const Plan&, const Group&, const std::vector<i64>& parameters, i64 threads, i64 rows = 0,
                     i64 columns = 0);

// Of groups of one row, or of very few: threads take parts of it, as they take rows of images (tsr_tile_rows).
struct SignalColumns {
  i64 least, smallest;
};
std::optional<SignalColumns> signal_columns(const Plan&, const Group&);

// Points of a tile at most where each of them takes long, so that a run ends soon after it is cancelled; 0: no bound.
i64 most_tile_points(const Group&);

// Columns of a tile at most, where its group has rings: lowering writes them as a number.
i64 most_tile_columns(const machine::Machine&, const Group&, std::size_t rank);

// A ring in the scratch memory of one tile.
struct RingShape {
  i64 rows = 0;       // kept along dimension 0: rows, or planes of `middle` rows
  i64 middle = 1;     // product of the middle dimensions
  i64 columns = 0;    // of the stage that a tile may compute, without padding
  i64 row_bytes = 0;  // from one row to the next: padding and alignment included
  i64 bytes = 0;      // all of it, middle dimensions included
};
RingShape ring_shape(const Plan&, ir::StageId, const TileShape&);

}  // namespace tessera::plan
