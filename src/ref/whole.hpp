// Reductions of whole images, in the order that is their definition (ir/reductions.hpp).
#pragma once

#include "ir/graph.hpp"
#include "ref/image.hpp"
#include "ref/sizes.hpp"

namespace tessera::ref {

// Elements `first`, first + 64 ... below `end`.
double lane_of_piece(ir::Op, ElementType own, const std::vector<double>& all, i64 first, i64 end);
// Of all elements. The size is that of all elements for a lane, too, which is more than those of the lane.
double whole_value(const ir::ExprNode&, const Image&);
Size whole_size(const ir::ExprNode&, const Image&);

}  // namespace tessera::ref
