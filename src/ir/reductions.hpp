// Reductions of whole images: the order in which elements come together, defined once for every machine.
//
// The elements of an image, in the order of memory (last dimension fastest), are one list. It is cut into pieces of
// 4096. Lane l of a piece takes its elements l, l + 64, l + 128 ... one after the other; the 64 lanes come together in
// their order. What the pieces come to is a list again, and one piece of any length. So rows may be short or long,
// vectors and threads take lanes and pieces as they like, and the bits are the same everywhere.
//
//   sum, mean   double. Lanes begin with 0. In a piece the lanes of integers of 8 and 16 bits are int, which is exact
//   min, max    of the image's type. A lane takes an element that is less (greater) than what it holds, so NaNs are
//               passed over; it begins with infinity, or with the end of the type
//
// Programs have whole_* in a stage of one element, read by `value`; plans take them apart (rewrite/reductions.hpp).
#pragma once

#include "ir/graph.hpp"

namespace tessera::ir {

constexpr i64 elements_of_piece = 4096, lanes_of_piece = 64;

// The only element of a stage of one element.
ExprId value(Graph&, StageId);
// One of whole_*, of all elements of a stage.
ExprId whole(Graph&, Op, StageId);
// One of lanes_*, in pieces of so many elements; 0: one piece.
ExprId lanes(Graph&, Op, StageId, i64 piece);
// An extent as a double.
ExprId size_value(Graph&, SizeId);

// Of whole_* and lanes_* over elements of a type.
ElementType whole_type(Op, ElementType);
ElementType lanes_type(Op, ElementType);
// With what a lane begins.
double first_of_lane(Op lanes, ElementType lanes_type);
// The operation of two operands, the element first, by which a lane takes an element.
Op step_of_lane(Op lanes);
// The lanes_* of which a whole_* is made.
Op lanes_of(Op whole);

// Is the stage one element, whatever the parameters are?
bool is_single(const Graph&, const Stage&);
// The elements of a stage as an extent.
SizeId count_of(Graph&, const Stage&);

}  // namespace tessera::ir
