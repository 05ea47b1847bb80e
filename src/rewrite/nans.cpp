// See nans.hpp. A median is guarded by one comparison a sample: the rows of a block share those of a row of the window,
// as they share its sorting, and compilers take two samples at a time.
#include "rewrite/nans.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"
#include "rewrite/median.hpp"
#include "rewrite/sums/contraction.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::StageId;

namespace {

bool number_of_numbers(const Graph& graph, const ExprNode& n, const std::unordered_map<std::uint32_t, bool>& known) {
  const auto is = [&](std::size_t k) { return known.at(n.args[k].id); };
  if (!is_float(n.type)) return true;
  switch (n.op) {
    case Op::constant:
      return !std::isnan(n.fvalue);
    case Op::lookup: {
      const std::vector<double>& values = graph.tables[static_cast<std::size_t>(n.ivalue)].values;
      return std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
    }
    case Op::size:
      return true;
    case Op::min:
    case Op::max:
      return is(0) || is(1);
    case Op::least:
    case Op::most:
    case Op::hypot:
    case Op::atan2:
      return is(0) && is(1);
    case Op::select:
      return is(1) && is(2);
    case Op::convert:
    case Op::neg:
    case Op::abs:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc:
    case Op::exp:
    case Op::fast_exp:
    case Op::exp2:
    case Op::cbrt:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::reduce_min:
    case Op::reduce_max:
    case Op::reduce_median:
    case Op::reduce_rank:
      return is(0);
    case Op::reduce_pick:
      return is(2);
    default:
      return false;
  }
}

ExprId operation(Graph& graph, Op op, ElementType type, std::vector<ExprId> args) {
  ExprNode n;
  n.op = op;
  n.type = type;
  n.args = std::move(args);
  return graph.expr(std::move(n));
}

ExprId nan_of(Graph& graph, ElementType type) {
  return ir::constant(graph, type, std::numeric_limits<double>::quiet_NaN());
}

// The value, with the bits of the one NaN in place of any other.
ExprId unified(Graph& graph, ExprId e) {
  const ExprNode n = graph.node(e);
  if (n.type != ElementType::f16)
    return operation(graph, Op::select, n.type,
                     {operation(graph, Op::eq, ElementType::boolean, {e, e}), e, nan_of(graph, n.type)});
  const ExprId wide = n.op == Op::convert ? n.args[0] : operation(graph, Op::convert, ElementType::f32, {e});
  return operation(graph, Op::convert, ElementType::f16, {unified(graph, wide)});
}

}  // namespace

bool surely_number(const Graph& graph, ExprId e) {
  std::unordered_map<std::uint32_t, bool> known;
  for (const ExprId part : ir::postorder(graph, {e}))
    known.emplace(part.id, number_of_numbers(graph, graph.node(part), known));
  return known.at(e.id);
}

void guard_medians(Graph& graph) {
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    if (!graph.stage(s).body.valid()) continue;
    const ExprId body = ir::rewrite(graph, graph.stage(s).body, [&](ExprId, const ExprNode& node) {
      const bool ranked = node.op == Op::reduce_median || node.op == Op::reduce_rank;
      if (!ranked || !is_float(node.type) || surely_number(graph, node.args[0])) return ExprId{};
      const ExprNode median = node;
      ExprId odd = operation(graph, Op::ne, ElementType::boolean, {median.args[0], median.args[0]});
      const auto any_over = [&](std::vector<ir::Var> vars) {
        ExprNode any;
        any.op = Op::reduce_any;
        any.type = ElementType::boolean;
        any.args = {odd};
        any.vars = std::move(vars);
        odd = graph.expr(std::move(any));
      };
      if (analyze::term_count(median) > most_network_terms(median.type))
        any_over(median.vars);  // in the loop that counts
      else
        for (std::size_t k = median.vars.size(); k-- > 0;) any_over({median.vars[k]});
      return operation(graph, Op::select, median.type, {odd, nan_of(graph, median.type), graph.expr(median)});
    });
    graph.stage(s).body = body;
  }
}

void unify_nans(Graph& graph) {
  std::set<StageId> seen;
  std::vector<StageId> stored;
  for (const ir::Output& output : graph.outputs)
    stored.insert(stored.end(), output.stages.begin(), output.stages.end());
  while (!stored.empty()) {
    const StageId s = stored.back();
    stored.pop_back();
    ir::Stage& stage = graph.stage(s);
    if (!is_float(stage.type) || !seen.insert(s).second) continue;
    for (const ir::Piece& piece : stage.pieces)
      if (piece.stage) stored.push_back(*piece.stage);
    if (stage.kind != ir::StageKind::point || surely_number(graph, stage.body)) continue;
    if (stage.note > 0 && !contraction_of(graph, stage)) continue;
    const ExprId body = unified(graph, stage.body);
    graph.stage(s).body = body;
  }
}

}  // namespace tessera::rewrite
