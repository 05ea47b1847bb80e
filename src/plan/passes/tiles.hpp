// The shape of tiles for given extents: the same arithmetic as the function tsr_gK_shape that lowering writes for every
// group, so that what `explain` says about tiles is what runs. tests/explain compares the two.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.hpp"

namespace tessera::plan {

// How tiles are cut: numbers that stand behind tile_shape, behind the function that lowering writes, and behind prices
// (prices.cpp). They were chosen, and are judged by the jobs of the benchmark all together: no measurement of its own
// is on record for any of them.

// Of L2, what the rings of a tile may take: the rest is for rows of arrays, which go through it as well.
constexpr i64 ring_tenths = 6;
constexpr double ring_share = static_cast<double>(ring_tenths) / 10;
inline i64 ring_budget(const machine::Machine& machine) {
  return machine.l2_bytes * ring_tenths / 10;
}
// A tile's columns begin with a line of the cache, whatever its elements are; fewer than the least ones are mostly ends
// of rows.
constexpr i64 column_unit = 64, least_columns = 256;
// Between the first and the last dimension: whole blocks.
constexpr i64 middle_unit = 4, least_middle = 8;
// Rows: tiles enough that no core waits long for the last one, but eight times as high as their halo. Where that leaves
// cores without one they are lower, down to twice the halo.
constexpr i64 tiles_of_core = 4, halos_of_tile = 8, halos_of_low_tile = 2, row_unit = 8;
constexpr i64 least_rows(std::size_t rank) {
  return rank > 2 ? 8 : 32;
}
// Results of more caches than this could not stay there until they are read: they are stored past them.
constexpr i64 caches_of_results = 2;

// Of a group with elements that go into bins: the pieces that its tiles are (ir/keyed.hpp).
std::optional<i64> pieces_of_group(const ir::Graph&, const Group&);

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
