// What one tile needs of every pass: rows, columns and planes, found from the tile's share of the anchor backwards.
#pragma once

#include <map>
#include <vector>

#include "lower/ways/stream/declared.hpp"

namespace tessera::lower {

struct Region {  // per dimension
  std::vector<ir::nest::Value> lo, hi;
};

struct Regions {
  std::vector<Region> of_pass;
  std::map<ir::StageId, Region> own;  // of results: the tile's share
};

// For tile number `tile` of the shape T.
Regions regions_of(const Declared&);

}  // namespace tessera::lower
