// Reductions that choose an element, as selections; see choose.cpp.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::rewrite {

// No stage has a choice any more.
void take_choices(ir::Graph&, std::vector<std::string>& remarks);

}  // namespace tessera::rewrite
