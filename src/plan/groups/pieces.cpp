// See pieces.hpp; who is put together is in moves.cpp.
#include "plan/groups/pieces.hpp"

#include <algorithm>
#include <utility>

#include "ir/build.hpp"
#include "ir/reductions.hpp"

namespace tessera::plan {

using ir::ExprNode;
using ir::Op;
using ir::Stage;
using ir::StageId;

namespace {

bool has_lanes(const ir::Graph& graph, StageId s) {
  const Stage& stage = graph.stage(s);
  return stage.kind == ir::StageKind::point && is_lanes(graph.node(stage.body).op);
}

bool is_one(const ir::Graph& graph, ir::SizeId extent) {
  return graph.constant(extent) == 1;
}

// Rows of one element, or of as many as there are pieces.
bool stands_at_its_own(const ir::Graph& graph, const Stage& reader, const Stage& lanes, const ExprNode& gather) {
  for (std::size_t d = 0; d + 1 < reader.domain.size(); ++d)
    if (!is_one(graph, reader.domain[d])) return false;
  if (reader.domain.empty() || reader.domain.back() != lanes.domain.front() || gather.args.size() != 2) return false;
  const ExprNode& row = graph.node(gather.args.front());
  if (is_one(graph, lanes.domain.front())) return row.op == Op::constant || row.op == Op::coord;
  return row.op == Op::coord && row.ivalue + 1 == static_cast<i64>(reader.domain.size());
}

StageId image_of(const ir::Graph& graph, StageId lanes) {
  return graph.node(graph.stage(lanes).body).stage;
}

std::optional<StageId> lanes_of_total(const ir::Graph& graph, StageId total) {
  const Stage& stage = graph.stage(total);
  if (stage.kind != ir::StageKind::point || has_lanes(graph, total)) return {};
  std::optional<StageId> lanes;
  for (const ir::ExprId e : ir::postorder(graph, {stage.body})) {
    const ExprNode& node = graph.node(e);
    if (node.op == Op::access || node.op == Op::value) return {};
    if (node.op != Op::gather) continue;
    if (lanes || !has_lanes(graph, node.stage)) return {};
    if (!stands_at_its_own(graph, stage, graph.stage(node.stage), node)) return {};
    lanes = node.stage;
  }
  return lanes;
}

}  // namespace

std::optional<StageId> lanes_of_total(const GraphFacts& facts, StageId total) {
  const std::optional<StageId> lanes = lanes_of_total(facts.graph, total);
  if (!lanes || facts.of(*lanes).is_output) return {};
  const auto reads_it = [&](std::size_t k) { return facts.edges[k].consumer == total; };
  const auto& readers = facts.of(*lanes).read_by;
  return std::all_of(readers.begin(), readers.end(), reads_it) ? lanes : std::nullopt;
}

std::optional<StageId> image_in_pieces(const ir::Graph& graph, StageId lanes) {
  return is_one(graph, graph.stage(lanes).domain.front()) ? std::nullopt : std::optional(image_of(graph, lanes));
}

std::vector<ReductionPair> reduction_pairs(const ir::Graph& graph, const Set& set) {
  std::vector<ReductionPair> pairs;
  for (const StageId s : set) {
    if (has_lanes(graph, s)) continue;
    const std::optional<StageId> lanes = lanes_of_total(graph, s);
    if (!lanes || !contains(set, *lanes) || contains(set, image_of(graph, *lanes))) return {};
    if (!pairs.empty() && image_in_pieces(graph, pairs.front().lanes) != image_in_pieces(graph, *lanes)) return {};
    pairs.push_back({*lanes, s});
  }
  if (set.size() != 2 * pairs.size()) return {};
  return pairs;
}

Layout layout_of_pieces(const GraphFacts& facts, const Set& set, std::vector<bool> leaves) {
  Layout result;
  result.leaves = std::move(leaves);
  for (std::size_t i = 0; i < set.size(); ++i) {
    const std::size_t rank = facts.graph.stage(set[i]).domain.size();
    StagePlan p;
    p.lane = facts.of(set[i]).lane;
    p.rate.assign(rank, {});
    p.periodic.assign(rank, false);
    p.home = has_lanes(facts.graph, set[i]) ? Home::ring : Home::array;
    if (p.home == Home::array) result.anchor = set[i];
    result.stages.push_back(std::move(p));
  }
  result.legal = true;
  result.step = 1;
  return result;
}

}  // namespace tessera::plan
