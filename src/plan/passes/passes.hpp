// Which stages of a group one loop computes, and how many rows and columns at once.
#pragma once

#include "plan/passes/layout.hpp"

namespace tessera::plan {

std::vector<Pass> passes_of(const GraphFacts&, const Set&, const Layout&);

}  // namespace tessera::plan
