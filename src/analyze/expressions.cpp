// Iterative walks over hash-consed expressions; see the header for why ascending ids are a topological order.
#include "analyze/expressions.hpp"

#include <algorithm>
#include <unordered_set>

namespace tessera::analyze {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

std::vector<ExprId> reachable(const Graph& graph, const std::vector<ExprId>& roots) {
  std::unordered_set<std::uint32_t> seen;
  std::vector<ExprId> stack, found;
  for (ExprId root : roots)
    if (root.valid() && seen.insert(root.id).second) stack.push_back(root);
  while (!stack.empty()) {
    ExprId e = stack.back();
    stack.pop_back();
    found.push_back(e);
    for (ExprId a : graph.node(e).args)
      if (seen.insert(a.id).second) stack.push_back(a);
  }
  std::sort(found.begin(), found.end());
  return found;
}

ExprId Rewriter::operator()(ExprId root) {
  if (!root.valid()) return root;
  std::unordered_set<std::uint32_t> seen{root.id};
  std::vector<ExprId> stack{root}, order;
  while (!stack.empty()) {
    ExprId e = stack.back();
    stack.pop_back();
    if (done_.contains(e.id)) continue;
    order.push_back(e);
    for (ExprId a : graph_.node(e).args)
      if (seen.insert(a.id).second) stack.push_back(a);
  }
  std::sort(order.begin(), order.end());
  for (ExprId e : order) {
    ExprNode node = graph_.node(e);
    for (ExprId& a : node.args) a = done_.at(a.id);
    ExprId replaced = replace_(graph_, node);
    done_[e.id] = replaced.valid() ? replaced : graph_.expr(std::move(node));
  }
  return done_.at(root.id);
}

i64 term_count(const ExprNode& node) {
  i64 terms = 1;
  for (const ir::Var& v : node.vars) terms *= v.hi - v.lo + 1;
  return terms;
}

namespace {

double price(const ExprNode& node) {
  switch (node.op) {
    case Op::constant:
    case Op::parameter:
    case Op::scalar:
    case Op::var:
    case Op::extent:
      return 0;
    case Op::access:
      return 0.5;
    case Op::gather:
    case Op::lookup:
      return 16;
    case Op::div:
      return is_float(node.type) ? 6 : 12;
    case Op::rem:
      return 14;
    case Op::sqrt:
      return 8;
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::sin:
    case Op::cos:
    case Op::atan:
      return 18;
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::cbrt:
    case Op::atan2:
    case Op::hypot:
    case Op::fmod:
      return 30;
    case Op::pow:
      return 45;
    default:
      return 1;
  }
}

}  // namespace

double operation_count(const Graph& graph, const std::vector<ExprId>& roots) {
  // A node inside a reduction runs once per term of every reduction above it; the largest such product counts.
  std::vector<ExprId> order = reachable(graph, roots);
  std::unordered_map<std::uint32_t, double> times;
  for (ExprId root : roots) times[root.id] = 1;
  double total = 0;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const ExprNode& node = graph.node(*it);
    double here = times[it->id];
    double below = here;
    if (is_reduction(node.op)) {
      double terms = static_cast<double>(term_count(node));
      below *= terms;
      total += here * terms * (node.op == Op::reduce_median ? 2 * terms : 1);
    } else {
      total += here * price(node);
    }
    for (ExprId a : node.args) times[a.id] = std::max(times[a.id], below);
  }
  return total;
}

bool uses_coordinates(const Graph& graph, ExprId root) {
  for (ExprId e : reachable(graph, {root}))
    if (graph.node(e).op == Op::coord) return true;
  return false;
}

}  // namespace tessera::analyze
