// Variables of reductions under other names: an expression that stands in two reductions, one inside the other, needs
// variables of its own in each.
#pragma once

#include <map>

#include "ir/graph.hpp"

namespace tessera::ir {

using VariableNames = std::map<std::uint32_t, std::uint32_t>;

// The same ranges with new variables; `names` gets what became of each.
std::vector<Var> fresh_variables(Graph&, const std::vector<Var>&, VariableNames& names);

// The expression with other variables, in offsets too.
ExprId renamed(Graph&, ExprId root, const VariableNames&);

}  // namespace tessera::ir
