// Which stages are computed through Fourier transforms of tiles, and what may be computed while these are loaded; see
// tiles.hpp.
#include <algorithm>

#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

bool plain(const ir::Index& index) {
  return index.offset == 0 && index.scale == 1 && index.shift == ir::SizeId{} && index.vars.empty();
}

bool has_margins(const Stage& stage) {
  const auto some = [](i64 n) { return n > 0; };
  return std::any_of(stage.margin_lo.begin(), stage.margin_lo.end(), some) ||
         std::any_of(stage.margin_hi.begin(), stage.margin_hi.end(), some);
}

}  // namespace

bool is_prologue(const ir::Graph& graph, const Stage& stage) {
  if (stage.kind != StageKind::point || stage.note > 0 || has_margins(stage)) return false;
  for (const ExprId e : ir::postorder(graph, {stage.body})) {
    const ExprNode& node = graph.node(e);
    if (node.op == Op::coord || node.op == Op::extent || node.op == Op::gather || is_reduction(node.op)) return false;
    if (is_whole(node.op) || is_lanes(node.op)) return false;
    if (node.op != Op::access) continue;
    const Stage& source = graph.stage(node.stage);
    const std::size_t lead = stage.domain.size() - node.index.size();
    for (std::size_t d = 0; d < node.index.size(); ++d)
      if (!plain(node.index[d]) || source.domain[d] != stage.domain[d + lead]) return false;
  }
  return true;
}

bool is_signal_tile(const ir::Graph& graph, const Stage& stage, const Tiling& tiling) {
  return tiling.rows == 1 && stage.domain.size() == 2 && graph.constant(stage.domain[0]) == 1;
}

std::optional<StageId> first_with_tiles(const ir::Graph& graph, const std::vector<StageId>& stages) {
  const auto it = std::find_if(stages.begin(), stages.end(), [&](StageId s) { return graph.stage(s).note > 0; });
  return it == stages.end() ? std::nullopt : std::optional(*it);
}

}  // namespace tessera::rewrite
