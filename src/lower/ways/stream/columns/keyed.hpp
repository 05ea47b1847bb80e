// Elements of a keyed reduction (ir/keyed.hpp) on cores: a tile is a piece of them, and has bins of its own.
//
// Keys and values are rows that vectors have computed, or rows of an image as it is. What they say is done one element
// after the other: a bin is loaded, takes the element and is stored again. Where the same bin is hit again at once, the
// load has to wait for the store before. So bins that are few and take elements in any order lie there several times,
// for neighbouring columns in turn. Where no element of a turn has a bin, nothing is done.
#pragma once

#include "lower/ways/stream/columns/columns.hpp"

namespace tessera::lower {

// The rows of a block.
void put_into_bins(const PassOfTile&, const std::vector<ir::nest::Value>& index, const ir::nest::Value& count);

// Further bins of a stage of elements, besides those in its array, and the bytes of each.
struct MoreBins {
  i64 copies = 0, bytes = 0;
};
MoreBins more_bins(const StreamGroup&, ir::StageId elements);

// Before the tile's first row and behind its last one, for all stages of elements.
void begin_bins(const TileFunction&);
void end_bins(const TileFunction&);

}  // namespace tessera::lower
