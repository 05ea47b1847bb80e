// Reductions as trees of their terms, medians and ranks as networks, choices as selections.
#include "hardware/windows.hpp"

#include <fmt/format.h>

#include "analyze/expressions.hpp"
#include "hardware/grids.hpp"
#include "ir/build.hpp"
#include "rewrite/median.hpp"

namespace tessera::hardware {

namespace {

constexpr i64 most_terms = 4096;

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
      if (reduction.op == ir::Op::reduce_median || reduction.op == ir::Op::reduce_rank) {
        const rewrite::RankTerms list = rewrite::rank_terms(graph, reduction);
        if (list.rank)
          return rewrite::rank_network(graph, reduction.type, rank, list.terms, static_cast<std::size_t>(*list.rank));
        return rewrite::rank_choice(graph, reduction.type, rank, list.terms, reduction.args[1]);
      }
      const ir::ExprId kept = graph.expr(reduction);
      return ir::unroll(graph, kept, most_terms).value_or(kept);
    });
    graph.stage(s).body = body;
  }
}

}  // namespace tessera::hardware
