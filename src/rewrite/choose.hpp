// Reductions that choose an element, as selections; see choose.cpp.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::rewrite {

// Whether a choice of so many terms is written out, given the nodes of one term.
bool written_as_selections(i64 terms, std::size_t nodes);

// The value of a choice, term by term. Choices by one key share their comparisons.
ir::ExprId selections(ir::Graph&, const ir::ExprNode& pick);

// No stage has a choice any more.
void take_choices(ir::Graph&, std::vector<std::string>& remarks);

}  // namespace tessera::rewrite
