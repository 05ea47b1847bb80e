// See facts.hpp.
#include "plan/groups/facts.hpp"

#include <algorithm>

#include "analyze/expressions.hpp"
#include "analyze/pairs.hpp"
#include "analyze/ranges.hpp"
#include "ir/keyed.hpp"
#include "plan/groups/volumes.hpp"
#include "plan/passes/lanes.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/sums/bytes.hpp"

namespace tessera::plan {

using ir::ExprId;
using ir::Graph;
using ir::Stage;
using ir::StageId;
using ir::StageKind;
using ir::nest::Lane;

namespace {

// Of sums of bytes (rewrite/sums/bytes.hpp), for 16 results: a product of four is a cycle; and what becomes of the
// totals. Calibrated on the benchmark's jobs, in operations of which two start in a cycle.
constexpr double products_as_operations = 2, other_operations = 6;
// Counting what rows share takes time: left out where next to nothing is computed, or too much for a block. Chosen.
constexpr double least_shared = 4, most_shared = 400;

// Bytes of the widest lane type that an expression is computed in.
int widest_lane(const Graph& graph, analyze::Ranges& ranges, ExprId body) {
  int widest = 1;
  LowBits low(graph, {body});
  for (ExprId e : ir::postorder(graph, {body})) {
    const ir::ExprNode& node = graph.node(e);
    if (node.type == ElementType::boolean || node.op == ir::Op::coord || node.op == ir::Op::extent) continue;
    if (node.op == ir::Op::constant || node.op == ir::Op::var) continue;
    bool works = !is_float(node.type) && !node.args.empty() && node.op != ir::Op::gather && node.op != ir::Op::lookup &&
                 node.op != ir::Op::convert;
    if (works) widest = std::max(widest, ir::nest::size_of(working_lane(graph, ranges, low, e)));
    if (low.contains(e)) continue;
    widest = std::max(widest, ir::nest::size_of(lane_of(graph, ranges, e)));
  }
  return widest;
}

Lane stored_lane(const Stage& stage, bool is_output, analyze::Ranges& ranges, StageId s) {
  const bool fixed = stage.kind == StageKind::input || is_output || is_float(stage.type);
  const Lane lane = fixed ? ir::nest::lane_of(stage.type) : narrowest(ranges.of_rows(s));
  return stage.type == ElementType::boolean ? Lane::u8 : lane;
}

void add_edges(GraphFacts& facts) {
  for (std::size_t k = 0; k < facts.edges.size(); ++k) {
    facts.stages[facts.edges[k].consumer].reads.push_back(k);
    facts.stages[facts.edges[k].producer].read_by.push_back(k);
  }
  for (const ir::Output& output : facts.graph.outputs)
    for (StageId s : output.stages) {
      facts.stages[s].is_output = true;
      facts.stages[s].is_field |= output.format.is_struct();
    }
}

// What a stage is stored in and computed in.
void add_lanes(GraphFacts& facts, analyze::Ranges& ranges, StageId s) {
  const Stage& stage = facts.graph.stage(s);
  StageFacts& own = facts.stages[s];
  own.lane = stored_lane(stage, own.is_output, ranges, s);
  own.work_bytes = ir::nest::size_of(own.lane);
  if (stage.kind == StageKind::point)
    own.work_bytes = std::max(own.work_bytes, widest_lane(facts.graph, ranges, stage.body));
  const int widest = own.work_bytes;
  if (facts.machine.byte_products)
    for (const rewrite::ByteSum& sum :
         rewrite::works_in_quads(facts.graph, s).value_or(std::vector<rewrite::ByteSum>{})) {
      own.quads.chains += static_cast<int>(sum.chains());
      own.quads.products += static_cast<double>(sum.quads());
    }
  if (own.quads.chains > 0) own.work_bytes = 4;
  own.pairs = widest == 2 && facts.machine.vector_bytes >= 32 && own.quads.chains == 0 &&
              analyze::works_in_pairs(facts.graph, s);
}

// What a point costs when the rows of a block are computed together: common subexpressions of neighbouring rows once.
void share_rows(Graph& graph, StageFacts& own, StageId s) {
  constexpr int rows = 4;
  const Stage& stage = graph.stage(s);
  if (stage.kind != StageKind::point || own.operations < least_shared || own.operations > most_shared) return;
  std::vector<ExprId> block;
  for (int r = 0; r < rows; ++r) block.push_back(analyze::shift_rows(graph, stage.body, stage.domain.size(), r));
  own.operations = std::min(own.operations, analyze::operation_count(graph, block) / rows);
  if (!own.pairs) return;
  for (int r = 0; r < rows; ++r)
    block.push_back(analyze::shift_columns(graph, block[static_cast<std::size_t>(r)], stage.domain.size(), 1));
  own.operations = std::min(own.operations, analyze::operation_count(graph, block) / (2 * rows));
}

}  // namespace

double GraphFacts::extent(StageId s, std::size_t dim) const {
  return static_cast<double>(std::max<i64>(1, graph.evaluate(graph.stage(s).domain[dim], options.parameters)));
}

double GraphFacts::element_bytes(StageId s) const {
  return ir::nest::size_of(stages[s].lane);
}

double GraphFacts::loaded_bytes(StageId array) const {
  const Stage& stage = graph.stage(array);
  if (stage.kind != StageKind::input || !graph.arguments[stage.argument].format.is_struct())
    return element_bytes(array);
  const Format& format = graph.arguments[stage.argument].format;
  return static_cast<double>(format.size()) / static_cast<double>(format.fields.size());
}

GraphFacts facts_of(Plan& plan) {
  Graph& graph = plan.graph;
  const std::size_t count = graph.stage_count();
  GraphFacts facts{plan,  graph, plan.options, plan.device, edges_of(graph), std::vector<StageFacts>(count),
                   false, false};
  facts.plans_strips = plan.device.strip_registers > 0 && plan.options.schedule == Schedule::automatic;
  add_edges(facts);
  for (StageId s = 0; s < count; ++s) {
    const Stage& stage = graph.stage(s);
    StageFacts& own = facts.stages[s];
    if (stage.kind == StageKind::point) own.operations = analyze::operation_count(graph, {stage.body});
    own.alone = own.operations;
    for (std::size_t d = 0; d < stage.domain.size(); ++d) own.points *= facts.extent(s, d);
    own.stored = own.points;
    if (const auto keyed = ir::keyed_of(graph, stage)) {
      own.stored = 1;
      for (const ir::SizeId n : ir::partial_extents(graph, *keyed))
        own.stored *= static_cast<double>(std::max<i64>(1, graph.evaluate(n, plan.options.parameters)));
    }
  }
  const std::vector<bool> fillable = rewrite::fillable_by_pieces(graph);
  analyze::Ranges ranges(graph);
  for (StageId s = 0; s < count; ++s) {
    facts.stages[s].fillable = fillable[s];
    add_lanes(facts, ranges, s);
  }
  for (StageId s = 0; s < count && facts.plans_strips; ++s) {
    const Stage& stage = graph.stage(s);
    if (stage.kind != StageKind::input) facts.stages[s].strip_reads = strip_reads(graph, s);
    if (stage.kind == StageKind::point)
      facts.stages[s].instructions =
          analyze::instruction_count(graph, {stage.body}, plan.options.numbers == Numbers::fast);
  }
  for (StageId s = 0; s < count; ++s) share_rows(graph, facts.stages[s], s);
  for (StageFacts& own : facts.stages)
    if (own.quads.chains > 0) own.operations = products_as_operations * own.quads.products + other_operations;
  for (StageId s = 0; s < count; ++s) facts.sums_planes |= sums_planes(facts, s);
  return facts;
}

}  // namespace tessera::plan
