// Groups as overlapped tiles in shared memory: one tile of the anchor a block of threads.
//
// Every stage is computed on the part of its domain that the tile's results need, halos included, by all threads of the
// block, and kept in shared memory until its last reader has run; a barrier stands between stages. Halos are computed
// by every block that needs them. This takes all that a plan puts into a group but stages that wrap: sampling,
// composed stages, any number of dimensions. It is the schedule `tiled`.
#pragma once

#include <string>
#include <vector>

#include "lower/way.hpp"

namespace tessera::lower {

struct SharedTileFit {
  bool fits = false;
  std::string why;
  std::vector<i64> tile;  // points of the anchor, per dimension
  i64 shared_bytes = 0;
};
extern const DeviceWay shared_tiles;

}  // namespace tessera::lower
