// Variables of reductions: other names for them, since an expression that stands in two reductions, one inside the
// other, needs variables of its own in each; and their values, one after the other.
#pragma once

#include <map>

#include "ir/graph.hpp"

namespace tessera::ir {

using VariableNames = std::map<std::uint32_t, std::uint32_t>;

// The same ranges with new variables; `names` gets what became of each.
std::vector<Var> fresh_variables(Graph&, const std::vector<Var>&, VariableNames& names);

// The expression with other variables, in offsets too.
ExprId renamed(Graph&, ExprId root, const VariableNames&);

// A value of each variable: the first ones, and the next, the last variable's soonest. False: those were the last.
using VariableValues = std::vector<std::pair<std::uint32_t, i64>>;
VariableValues first_values(const std::vector<Var>&);
bool next_values(VariableValues&, const std::vector<Var>&);

}  // namespace tessera::ir
