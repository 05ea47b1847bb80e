// A filter of bytes works in 16-bit lanes. Widening a vector and narrowing the result costs shuffles, of which a core
// does one a cycle, and more of them than the filter has operations. Read as 16-bit lanes instead, the bytes at columns
// x, x + 1, ... hold x, x + 2, ... in their low halves and x + 1, x + 3, ... in their high halves: one mask or one
// shift. The result of the even columns and that of the odd ones go together by a shift and an or. A window of n
// columns takes n + 1 such halves for both.
#include "analyze/pairs.hpp"

#include <algorithm>

namespace tessera::analyze {

bool in_struct(const ir::Graph& graph, ir::StageId s) {
  const ir::Stage& stage = graph.stage(s);
  if (stage.kind == ir::StageKind::input && graph.arguments[stage.argument].format.is_struct()) return true;
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const ir::Output& o) {
    return o.format.is_struct() && std::count(o.stages.begin(), o.stages.end(), s) > 0;
  });
}

bool works_in_pairs(const ir::Graph& graph, ir::StageId s) {
  const ir::Stage& stage = graph.stage(s);
  if (stage.kind != ir::StageKind::point || stage.type != ElementType::u8 || in_struct(graph, s)) return false;
  bool reads = false;
  for (ir::ExprId e : ir::postorder(graph, {stage.body})) {
    const ir::ExprNode& node = graph.node(e);
    if (is_reduction(node.op) || node.op == ir::Op::coord || node.op == ir::Op::gather || node.op == ir::Op::partial ||
        node.op == ir::Op::lookup)
      return false;
    if (node.op != ir::Op::access) continue;
    reads = true;
    if (graph.stage(node.stage).type != ElementType::u8 || in_struct(graph, node.stage)) return false;
    const ir::Index& column = node.index.back();
    if (column.scale != 1 || !column.vars.empty() || column.shift != ir::SizeId{}) return false;
  }
  return reads;
}

}  // namespace tessera::analyze
