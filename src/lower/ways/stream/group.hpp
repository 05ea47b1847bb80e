// One group of a plan as a C-like function for a CPU core: what all ways of cores have in common.
//
//   extents, this tile's part of the anchor
//   for every pass, last first: the region of its stages that this tile needs                          (regions.hpp)
//   ring buffers in scratch memory                                                                     (memory.hpp)
//   what the way computes of the tile: `stream` (stream.cpp), for every step along the anchor's rows:
//     for every pass: the rows that are due, in blocks of `rows`:                                      (pass.hpp)
//       a pointer to every row that the block reads or writes (borders of rows are settled here)       (rows.hpp)
//       columns: runs of whole vectors straight from memory; near the ends of a row, short runs        (columns.hpp)
//       through small patches that hold the row continued by its border                                (ends.hpp)
//     after a block: margins set to 0, rings continued beyond their ends, rows copied to arrays        (finish.hpp)
//
// So the loop over columns has no test for borders, and one text serves inside and edge. The other way takes groups
// with sums through Fourier transforms (tiles/tiles.hpp), pair of tiles by pair of tiles instead of step by step.
//
// What is known before a line is written are values that never change: the group (stream_group.hpp), what its passes
// read (pass_body.hpp), its sums through transforms (transform.hpp). What a function has declared, and where things lie
// in it, is another (tile_function.hpp), which those who write it share.
#pragma once

#include <functional>
#include <string>

#include "lower/way.hpp"
#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

// What the function computes, once its regions and its memory are there.
using TileBody = std::function<void(TileFunction&)>;

// Adds tsr_gK_shape, tsr_gK_scratch, tsr_gK, and what these call.
void lower_group(const WayQuestion&, const std::string& name, const TileBody&, Lowered& into);

// The price of a way of cores: what the plan predicts for one core, by the extents that it assumes.
double nanoseconds_of_result(const WayQuestion&);

}  // namespace tessera::lower
