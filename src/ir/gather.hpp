// Reads at absolute indices with borders: an index beyond the image goes where the border of its dimension says.
#pragma once

#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir {

// The extent as an i32 value of a point.
ExprId extent_value(Graph&, SizeId);
// Is an index one of that extent? A condition.
ExprId lies_inside(Graph&, ExprId index, SizeId extent);

// One border per dimension of the stage. `none` is the nearest element, as `clamp` is; beyond the image in several
// dimensions that have `constant`, it is the value of the first of them.
ExprId gather(Graph&, StageId, std::vector<ExprId> indices, const std::vector<Border>&);

}  // namespace tessera::ir
