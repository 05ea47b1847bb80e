// Walking and rewriting expressions.
//
// Arguments of an expression always have smaller ids than the expression itself (hash-consing builds bottom up), so the
// set of reachable ids in ascending order is a topological order: every walk below is a loop, never a recursion, and a
// sum of a hundred thousand terms is as safe as a sum of two.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::analyze {

// All expressions reachable from the roots, arguments before users.
std::vector<ir::ExprId> reachable(const ir::Graph&, const std::vector<ir::ExprId>& roots);

// Rewrites bottom up. `replace` sees each node with its arguments already rewritten and returns the new expression,
// or an invalid id to keep the node as it is. Results are remembered across calls on the same rewriter.
class Rewriter {
 public:
  using Replace = std::function<ir::ExprId(ir::Graph&, const ir::ExprNode&)>;
  Rewriter(ir::Graph& graph, Replace replace) : graph_(graph), replace_(std::move(replace)) {}
  ir::ExprId operator()(ir::ExprId root);

 private:
  ir::Graph& graph_;
  Replace replace_;
  std::unordered_map<std::uint32_t, ir::ExprId> done_;
};

// Rough price of computing an expression once per point, in vector instructions. Shared nodes count once; reductions
// count their body once per term.
double operation_count(const ir::Graph&, const std::vector<ir::ExprId>& roots);

// Does the expression read the index of its point (coord)?
bool uses_coordinates(const ir::Graph&, ir::ExprId);

// The number of terms of a reduction node.
i64 term_count(const ir::ExprNode&);

}  // namespace tessera::analyze
