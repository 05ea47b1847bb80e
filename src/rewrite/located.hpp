// A program that may be given a part of its images, as a program that is told which: where an expression asks for a
// coordinate or an extent, it means that of the whole.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::rewrite {

// Behind the arguments of the program stand whole numbers: for every extent of `origins` where the part begins, for
// every extent of `wholes` what it is in the whole.
struct Located {
  ir::Graph graph;
  std::vector<ir::SizeId> origins, wholes;
};

// Nothing where no expression asks.
std::optional<Located> located(const ir::Graph&);

}  // namespace tessera::rewrite
