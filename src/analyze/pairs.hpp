// Bytes computed in 16-bit lanes, even and odd columns apart; see pairs.cpp.
#pragma once

#include "ir/graph.hpp"

namespace tessera::analyze {

// Whether the stage reads and gives bytes alone, every one at a fixed distance along its row. If 16-bit lanes are wide
// enough for all it computes, a vector of bytes then needs no widening: as 16-bit lanes it holds the even columns in
// the low halves and the odd ones in the high halves.
bool works_in_pairs(const ir::Graph&, ir::StageId);

// A field of a struct in memory: its elements are apart.
bool in_struct(const ir::Graph&, ir::StageId);

}  // namespace tessera::analyze
