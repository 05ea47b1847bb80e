// The extents that costs are counted for where nobody gives any.
#pragma once

#include <vector>

#include "ir/graph.hpp"

namespace tessera::analyze {

// One for every parameter of the program: images of 2160 x 3840 points, volumes of 256 a side, signals of 2^22.
std::vector<i64> assumed_parameters(const ir::Graph&);

}  // namespace tessera::analyze
