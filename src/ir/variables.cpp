// See variables.hpp.
#include "ir/variables.hpp"

#include <algorithm>

namespace tessera::ir {

std::vector<Var> fresh_variables(Graph& g, const std::vector<Var>& vars, VariableNames& names) {
  std::vector<Var> fresh = vars;
  for (Var& v : fresh) v.id = names[v.id] = g.new_var();
  return fresh;
}

VariableValues first_values(const std::vector<Var>& vars) {
  VariableValues values;
  for (const Var& v : vars) values.emplace_back(v.id, v.lo);
  return values;
}

bool next_values(VariableValues& values, const std::vector<Var>& vars) {
  for (std::size_t d = vars.size(); d-- > 0;) {
    if (++values[d].second <= vars[d].hi) return true;
    values[d].second = vars[d].lo;
  }
  return false;
}

ExprId renamed(Graph& g, ExprId root, const VariableNames& names) {
  return rewrite(g, root, [&](ExprId, const ExprNode& node) {
    if (node.op != Op::var && node.index.empty()) return ExprId{};
    ExprNode own = node;
    if (own.op == Op::var)
      if (const auto at = names.find(static_cast<std::uint32_t>(own.ivalue)); at != names.end())
        own.ivalue = at->second;
    for (Index& i : own.index) {
      for (auto& [v, factor] : i.vars)
        if (const auto at = names.find(v); at != names.end()) v = at->second;
      std::sort(i.vars.begin(), i.vars.end());
    }
    return g.expr(std::move(own));
  });
}

}  // namespace tessera::ir
