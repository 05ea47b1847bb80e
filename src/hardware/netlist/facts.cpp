// Counting.
#include "hardware/netlist/facts.hpp"

#include <algorithm>

namespace tessera::hardware {

namespace {

bool is_power_of_two(i64 v) {
  return v > 0 && (v & (v - 1)) == 0;
}

// A product with a power of two is wiring.
bool multiplies(const Netlist& netlist, const Node& node) {
  if (node.op != Signal::mul) return false;
  return std::none_of(node.args.begin(), node.args.end(), [&](NodeId a) {
    const Node& n = netlist.node(a);
    return n.op == Signal::constant && is_power_of_two(n.value);
  });
}

// Operations of floats, which HLS has (FloatOperation), count as those of numbers.
void count_float(Facts& facts, StageFacts* stage, const FloatOperation& operation) {
  switch (static_cast<ir::Op>(operation.op)) {
    case ir::Op::add:
    case ir::Op::sub:
      ++facts.adders;
      if (stage != nullptr) ++stage->adders;
      break;
    case ir::Op::mul:
      ++facts.multipliers;
      if (stage != nullptr) ++stage->multipliers;
      break;
    case ir::Op::div:
      ++facts.dividers;
      break;
    case ir::Op::sqrt:
      ++facts.roots;
      break;
    case ir::Op::min:
    case ir::Op::max:
    case ir::Op::least:
    case ir::Op::most:
    case ir::Op::lt:
    case ir::Op::le:
    case ir::Op::eq:
    case ir::Op::ne:
      ++facts.comparisons;
      break;
    default:
      facts.functions += ir::is_function(static_cast<ir::Op>(operation.op));
  }
}

void count_node(Facts& facts, const Netlist& netlist, const Node& node) {
  StageFacts* const stage = node.stage < facts.stages.size() ? &facts.stages[node.stage] : nullptr;
  if (node.op == Signal::add || node.op == Signal::sub) {
    ++facts.adders;
    if (stage != nullptr) ++stage->adders;
  }
  if (multiplies(netlist, node)) {
    ++facts.multipliers;
    if (stage != nullptr) ++stage->multipliers;
  }
  if (node.op == Signal::float_unary || node.op == Signal::float_binary)
    count_float(facts, stage, FloatOperation::of(node.value));
  facts.dividers += node.op == Signal::divide || node.op == Signal::remainder;
  facts.roots += node.op == Signal::root;
  facts.selections += node.op == Signal::select;
  facts.comparisons += node.op == Signal::eq || node.op == Signal::lt || node.op == Signal::le;
  if (node.op == Signal::table) {
    ++facts.tables;
    facts.table_bits +=
        static_cast<i64>(netlist.tables[static_cast<std::size_t>(node.value)].values.size()) * node.bits.width;
  }
}

// Of a frame's words of an image, from the first one on. Rows may end in empty ticks.
i64 last_tick(const Netlist& netlist, const Grid& grid) {
  const i64 rows = grid.rows.points(netlist.given.most[0]), columns = grid.columns.points(netlist.given.most[1]);
  const i64 words = (columns + netlist.lanes(grid) - 1) / netlist.lanes(grid);
  return (rows - 1) * grid.rows.rate * netlist.frame.pitch() + (words - 1) * netlist.word_step(grid);
}

StageFacts stage_facts(const Stream& stream, ir::StageId s) {
  const ir::Stage& stage = stream.graph.stage(s);
  const StreamStage& plan = stream.stages[s];
  StageFacts facts;
  facts.name = stage.name.empty() ? "result" : stage.name;
  facts.kind = stage.kind == ir::StageKind::input ? "input" : plan.stored ? "stored" : "repeated";
  for (const ir::Output& output : stream.graph.outputs)
    facts.returned |= std::find(output.stages.begin(), output.stages.end(), s) != output.stages.end();
  facts.bits = plan.bits;
  facts.fraction = plan.fraction;
  facts.error = plan.error;
  if (plan.stored)
    facts.lag = plan.lag, facts.kept = plan.kept, facts.kept_bits = plan.kept_bits, facts.turns = plan.turns;
  return facts;
}

}  // namespace

std::vector<bool> needed_nodes(const Netlist& netlist) {
  std::vector<bool> needed(netlist.size(), false);
  for (const Result& r : netlist.results)
    for (const NodeId n : r.lanes) needed[n.id] = true;
  for (std::size_t k = netlist.size(); k-- > 0;)
    if (needed[k])
      for (const NodeId a : netlist.node({static_cast<std::uint32_t>(k)}).args) needed[a.id] = true;
  return needed;
}

Facts facts_of(const Stream& stream, const Netlist& netlist, const Schedule* schedule) {
  Facts facts;
  facts.frame = netlist.frame, facts.given = netlist.given;
  facts.inputs = netlist.inputs, facts.scalars = netlist.scalars;
  const DelayLines lines = schedule != nullptr ? delay_lines(netlist, schedule->line) : delay_lines(netlist);
  facts.least_height = netlist.least_height, facts.least_width = least_width(netlist, lines);
  facts.memory_bits = lines.memory_bits, facts.shift_bits = lines.register_bits;
  for (const DelayMemory& m : lines.memories) facts.memories.push_back({netlist.ticks(m.length), m.width});
  for (const LineMemory& m :
       line_memories(netlist, schedule != nullptr ? schedule->clock : std::vector<int>(netlist.size(), 0))) {
    facts.memories.push_back({netlist.ticks(m.length) / m.step, m.width});
    facts.memory_bits += facts.memories.back().words * m.width;
  }
  for (ir::StageId s = 0; s < stream.graph.stage_count(); ++s) facts.stages.push_back(stage_facts(stream, s));
  const std::vector<bool> needed = needed_nodes(netlist);
  for (std::uint32_t k = 0; k < netlist.size(); ++k)
    if (needed[k]) count_node(facts, netlist, netlist.node({k}));
  if (schedule != nullptr) facts.waiting_bits = schedule->waiting_bits, facts.depth = schedule->depth;
  facts.decided = stream.decided;
  facts.decisions = netlist.decisions;
  facts.ticks = netlist.frame.rows() * netlist.frame.pitch();
  for (std::size_t r = 0; r < netlist.results.size(); ++r) {
    const i64 ticks = netlist.ticks(netlist.results[r].lag);
    facts.results.push_back({netlist.results[r].port, last_tick(netlist, netlist.results[r].port.grid), ticks,
                             schedule != nullptr ? ticks + schedule->result[r] + port_clocks : 0});
  }
  return facts;
}

i64 clocks_of(const Facts& facts, const ResultFacts& result, i64 frames) {
  return result.clocks + (frames - 1) * facts.ticks + result.last + 1;
}

}  // namespace tessera::hardware
