// Reductions as trees of their terms, medians as networks.
#include "hardware/windows.hpp"

#include <fmt/format.h>

#include "analyze/expressions.hpp"
#include "hardware/grids.hpp"
#include "ir/build.hpp"
#include "rewrite/median.hpp"

namespace tessera::hardware {

namespace {

constexpr i64 most_terms = 4096;

std::vector<ir::ExprId> terms_of(ir::Graph& graph, const ir::ExprNode& reduction) {
  std::vector<ir::ExprId> terms;
  std::vector<std::pair<std::uint32_t, i64>> at;
  for (const ir::Var& v : reduction.vars) at.push_back({v.id, v.lo});
  for (;;) {
    terms.push_back(ir::substitute(graph, reduction.args[0], at));
    std::size_t d = at.size();
    while (d-- > 0 && ++at[d].second > reduction.vars[d].hi) at[d].second = reduction.vars[d].lo;
    if (d == static_cast<std::size_t>(-1)) return terms;
  }
}

}  // namespace

void write_windows_out(ir::Graph& graph) {
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    if (graph.stage(s).kind != ir::StageKind::point) continue;
    const std::size_t rank = graph.stage(s).domain.size();
    const ir::ExprId body = ir::rewrite(graph, graph.stage(s).body, [&](ir::ExprId, const ir::ExprNode& node) {
      if (!ir::is_reduction(node.op)) return ir::fold(graph, node);
      if (ir::runs_over_extents(node))
        refuse(graph.stage(s), "it reduces over an extent that is known at run time alone", "give the extent a value");
      if (analyze::term_count(node) > most_terms)
        refuse(graph.stage(s),
               fmt::format("a window of {} terms; expected {} at most", analyze::term_count(node), most_terms));
      const ir::ExprNode reduction = node;
      if (reduction.op == ir::Op::reduce_median)
        return rewrite::median_network(graph, reduction.type, rank, terms_of(graph, reduction));
      const ir::ExprId kept = graph.expr(reduction);
      return ir::unroll(graph, kept, most_terms).value_or(kept);
    });
    graph.stage(s).body = body;
  }
}

}  // namespace tessera::hardware
