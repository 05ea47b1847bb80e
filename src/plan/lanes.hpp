// Lane types: the narrowest machine type that computes the same integers as the 32-bit semantics of the graph.
#pragma once

#include "analyze/ranges.hpp"
#include "ir/nest.hpp"

namespace tessera::plan {

// The narrowest of u8, i16, u16, i32, u32 that holds the range.
ir::nest::Lane narrowest(analyze::Range);

// The lane type in which the value of an expression is held. Booleans are masks and have none: i8 is returned.
ir::nest::Lane lane_of(const ir::Graph&, analyze::Ranges&, ir::ExprId);

// The lane type in which an operation on integers is carried out: wide enough for its operands where they matter beyond
// the low bits (comparisons, division, minimum ...), and for what the machine has instructions for.
ir::nest::Lane working_lane(const ir::Graph&, analyze::Ranges&, ir::ExprId);

}  // namespace tessera::plan
