// Groups of volumes on vector cores, of programs in which a stage sums over planes: volumes.cpp.
#pragma once

#include "plan/groups/prices.hpp"

namespace tessera::plan {

// Is the group one of them?
bool sums_planes(const GraphFacts&, const Layout&);
// Does the stage, in a group of several passes?
bool sums_planes(const GraphFacts&, ir::StageId);

Price price_of_volume(const GraphFacts&, const Set&, const Layout&);

}  // namespace tessera::plan
