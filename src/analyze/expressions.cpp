// Iterative walks over hash-consed expressions.
#include "analyze/expressions.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/build.hpp"

namespace tessera::analyze {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

i64 term_count(const ExprNode& node) {
  constexpr i64 most = i64{1} << 40;
  i64 terms = 1;
  for (const ir::Var& v : node.vars) terms = std::min(most, terms * (v.hi - v.lo + 1));
  return terms;
}

double assumed_terms(const ExprNode& node) {
  constexpr double of_extent = 64;
  double terms = 1;
  for (const ir::Var& v : node.vars) terms *= v.end == ir::SizeId{} ? static_cast<double>(v.hi - v.lo + 1) : of_extent;
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
    case Op::value:
    case Op::size:
      return 0;
    case Op::lanes_min:
    case Op::lanes_max:
    case Op::lanes_sum:  // of a whole piece
      return 128;
    case Op::access:
      return 0.5;
    case Op::into_sum:
    case Op::into_min:
    case Op::into_max:  // one after the other
      return 20;
    case Op::gather:
    case Op::partial:
    case Op::lookup:
      return 16;
    case Op::div:
      return is_float(node.type) ? 6 : 12;
    case Op::rem:
      return 14;
    case Op::sqrt:
      return 8;
    case Op::fast_exp:
      return 13;
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

// The sum of what every node costs, `cost(node, terms)`: of a reduction for all its terms, else once. A node inside a
// reduction runs once per term of every reduction above it; the largest such product counts.
template <class Cost>
double total_of(const Graph& graph, const std::vector<ExprId>& roots, Cost cost) {
  std::vector<ExprId> order = ir::postorder(graph, roots);
  std::unordered_map<std::uint32_t, double> times;
  for (ExprId root : roots) times[root.id] = 1;
  double total = 0;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const ExprNode& node = graph.node(*it);
    double here = times[it->id];
    double below = here;
    if (is_reduction(node.op)) {
      double terms = assumed_terms(node);
      below *= terms;
      total += here * cost(node, terms);
    } else {
      total += here * cost(node, 1);
    }
    for (ExprId a : node.args) times[a.id] = std::max(times[a.id], below);
  }
  return total;
}

// Of every element of a window.
double step_cost(Op reduction, double terms) {
  if (reduction == Op::reduce_pick) return 3;
  return reduction == Op::reduce_median || reduction == Op::reduce_rank ? 2 * terms : 1;
}

}  // namespace

double operation_count(const Graph& graph, const std::vector<ExprId>& roots) {
  // Sums and products of numbers and variables of loops, and what stands at such places of tables: one for all lanes.
  std::unordered_set<const ExprNode*> same_in_all;
  const auto same = [&](ExprId e) { return same_in_all.contains(&graph.node(e)); };
  for (ExprId e : ir::postorder(graph, roots)) {
    const ExprNode& node = graph.node(e);
    const bool index = node.op == Op::add || node.op == Op::sub || node.op == Op::mul || node.op == Op::lookup ||
                       node.op == Op::gather;
    if (node.op == Op::var || node.op == Op::constant ||
        (index && std::all_of(node.args.begin(), node.args.end(), same)))
      same_in_all.insert(&node);
  }
  return total_of(graph, roots, [&](const ExprNode& node, double terms) {
    if (is_reduction(node.op)) return terms * step_cost(node.op, terms);
    if (same_in_all.contains(&node)) return node.op == Op::lookup || node.op == Op::gather ? 0.5 : 0;
    return price(node);
  });
}

namespace {

// Two instructions, of which one is of another unit and four times as long; eight rows of bilateral filters, which
// lower prices would choose, take 15 % more than four.
constexpr double exponential_of_device = 8;

// By a power of two: a product with its inverse, which compilers find.
bool divides_exactly(const Graph& graph, const ExprNode& node) {
  if (node.op != Op::div || !is_float(node.type)) return false;
  const std::optional<double> by = ir::constant_value(graph, node.args[1]);
  int exponent = 0;
  return by && std::abs(std::frexp(*by, &exponent)) == 0.5;
}

}  // namespace

double instruction_count(const Graph& graph, const std::vector<ExprId>& roots, bool contracted) {
  const std::vector<ExprId> order = ir::postorder(graph, roots);
  std::unordered_map<std::uint32_t, int> users;
  for (ExprId e : order)
    for (ExprId a : graph.node(e).args) ++users[a.id];
  std::unordered_set<const ExprNode*> absorbed;  // products; each sum takes one
  for (ExprId e : order) {
    const ExprNode& sum = graph.node(e);
    if ((sum.op != Op::add && sum.op != Op::sub) || (is_float(sum.type) && !contracted)) continue;
    for (ExprId a : sum.args)
      if (graph.node(a).op == Op::mul && users[a.id] == 1 && absorbed.insert(&graph.node(a)).second) break;
  }
  return total_of(graph, roots, [&](const ExprNode& node, double terms) {
    if (is_reduction(node.op)) return terms * step_cost(node.op, terms);
    if (node.op == Op::access || absorbed.contains(&node)) return 0.0;
    if (node.op == Op::fast_exp) return exponential_of_device;
    return divides_exactly(graph, node) ? 1.0 : price(node);
  });
}

double load_count(const Graph& graph, const std::vector<ExprId>& roots) {
  return total_of(graph, roots, [](const ExprNode& node, double) {
    const bool one = node.op == Op::access || node.op == Op::gather || node.op == Op::lookup || node.op == Op::partial;
    return one ? 1.0 : is_lanes(node.op) ? 64.0 : 0.0;
  });
}

bool uses_coordinates(const Graph& graph, ExprId root) {
  for (ExprId e : ir::postorder(graph, {root}))
    if (graph.node(e).op == Op::coord) return true;
  return false;
}

namespace {

// `from_end` counts dimensions from the last one: 1 is that of columns.
ExprId shift(Graph& graph, ExprId body, std::size_t rank, std::size_t from_end, i64 by) {
  if (by == 0) return body;
  const i64 dimension = static_cast<i64>(rank - from_end);
  return ir::rewrite(graph, body, [&](ExprId, const ExprNode& node) {
    if (node.op == Op::coord && node.ivalue == dimension) {
      ExprNode coordinate = node, sum;
      sum.op = Op::add;
      sum.type = ElementType::i32;
      sum.args = {graph.expr(std::move(coordinate)), ir::constant(graph, ElementType::i32, static_cast<double>(by))};
      return graph.expr(std::move(sum));
    }
    if (node.op != Op::access || node.index.size() < from_end) return ExprId{};
    ExprNode moved = node;
    ir::Index& index = moved.index[moved.index.size() - from_end];
    index.offset += index.scale * by;
    return graph.expr(std::move(moved));
  });
}

}  // namespace

ExprId shift_rows(Graph& graph, ExprId body, std::size_t rank, i64 rows) {
  return shift(graph, body, rank, 2, rows);
}

ExprId shift_along(Graph& graph, ExprId body, std::size_t rank, std::size_t dimension, i64 points) {
  return shift(graph, body, rank, rank - dimension, points);
}

ExprId shift_columns(Graph& graph, ExprId body, std::size_t rank, i64 columns) {
  return shift(graph, body, rank, 1, columns);
}

}  // namespace tessera::analyze
