// Windows written out: hardware computes all terms of a window at once.
#pragma once

#include "ir/graph.hpp"

namespace tessera::hardware {

// Replaces every reduction over a window by an expression, medians by networks. Throws Error(argument) with the stage
// where a window has more than 4096 terms.
void write_windows_out(ir::Graph&);

}  // namespace tessera::hardware
