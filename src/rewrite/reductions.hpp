// Reductions of whole images as stages that any machine computes point by point.
//
// A reduction becomes four stages, in the order that ir/reductions.hpp defines: lanes of pieces of the image (a row for
// every piece, a column for every lane), what each piece comes to, and the same of those. Each reads the one before as
// a whole and so begins a group; the first is the one that takes time. Lanes of several reductions of one image are
// computed beside each other.
#pragma once

#include "ir/graph.hpp"

namespace tessera::rewrite {

void take_reductions_apart(ir::Graph&);

}  // namespace tessera::rewrite
