// Loops with a test (Graph::loops): which stages stand in their bodies, and what a well-formed loop is.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir {

constexpr std::uint32_t no_loop = 0xffffffff;

// For every stage the loop in whose body it stands: that which it depends on through a carried image, but not through
// the loop's end. Loops do not stand in each other (verify): of a graph where they do, any one of them.
std::vector<std::uint32_t> bodies(const Graph&);

// Throws Error(internal) that names the loop and the rule. Stages have to be well formed one by one.
void verify_loops(const Graph&);

}  // namespace tessera::ir
