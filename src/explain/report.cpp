// From a plan to facts: what is where, how large, and what the cost model says about it.
//
// Everything here is read off the plan by the same functions that lowering and the cost model use (edges, tile shapes,
// prices); nothing is decided.
#include "explain/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/expressions.hpp"
#include "base/text.hpp"
#include "plan/groups/edges.hpp"

namespace tessera::explain {

using ir::Graph;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

// "3x3", "5x5 step 2", "3x any": one number per dimension, short where they are alike.
std::string per_dimension(const std::vector<std::string>& parts) {
  bool alike = std::all_of(parts.begin(), parts.end(), [&](const std::string& p) { return p == parts.front(); });
  return alike ? parts.front() : base::join(parts, "x");
}

std::string window_of(const plan::Edge& edge, bool compose) {
  bool whole = true, own = true, strided = false, spread = false;
  std::vector<std::string> sizes, steps, spreads;
  for (const plan::EdgeDimension& d : edge.dims) {
    whole &= d.whole;
    own &= d.own && !d.whole;
    strided |= !d.whole && d.mul != 1;
    spread |= d.div != 1;
    sizes.push_back(d.whole ? "any" : std::to_string(d.raw_hi - d.raw_lo + 1));
    steps.push_back(std::to_string(d.mul));
    spreads.push_back(std::to_string(d.div));
  }
  if (compose) return spread ? "piece, every " + per_dimension(spreads) : "piece";
  if (whole) return "anywhere";
  if (own) return edge.broadcast ? "point, broadcast" : "point";
  std::string text = base::join(sizes, "x");
  if (strided) text += " step " + per_dimension(steps);
  return edge.broadcast ? text + ", broadcast" : text;
}

// The modes in which a stage reads a producer off its own index.
std::map<StageId, std::string> borders_of(const Graph& graph, StageId consumer) {
  std::map<StageId, std::set<std::string>> found;
  for (ir::ExprId e : ir::accesses(graph, graph.stage(consumer).body)) {
    const ir::ExprNode& node = graph.node(e);
    for (std::size_t d = 0; d < node.index.size(); ++d) {
      if (node.index[d] == ir::Index{} || node.border[d].mode == BorderMode::none) continue;
      found[node.stage].insert(node.border[d].mode == BorderMode::constant
                                   ? fmt::format("constant {:g}", node.border[d].value)
                                   : std::string(name_of(node.border[d].mode)));
    }
  }
  std::map<StageId, std::string> text;
  for (const auto& [producer, modes] : found) text[producer] = base::list_of({modes.begin(), modes.end()}, "and");
  return text;
}

class Reporter {
 public:
  Reporter(plan::Plan plan, const std::vector<i64>& parameters, const RunOptions& options)
      : plan_(std::move(plan)), options_(options), edges_(plan::edges_of(plan_.graph)) {
    bool priced = plan_.options.schedule == Schedule::automatic;  // the others ask for no price
    if (priced && plan_.options.parameters != parameters) result_.assumed = plan_.options.parameters;
    plan::predict(plan_, parameters);
  }

  Report run() {
    constexpr const char* schedules[] = {"automatic", "untiled", "tiled", "stream"};
    result_.device = plan_.device.name;
    result_.schedule = schedules[static_cast<std::size_t>(plan_.options.schedule)];
    result_.numbers = plan_.options.numbers == Numbers::exact ? "exact" : "fast";
    result_.threads = options_.threads;
    for (std::size_t k = 0; k < graph().parameters.size(); ++k)
      result_.parameters.push_back({graph().parameters[k], parameters()[k]});
    result_.remarks = plan_.remarks;
    result_.sums = plan_.sums;
    result_.prices_measured = plan_.device.prices.measured;
    result_.minimum_bytes = plan_.minimum_bytes;
    for (const ir::Output& output : graph().outputs) {
      for (std::size_t f = 0; f < output.stages.size(); ++f) {
        std::string& name = outputs_[output.stages[f]];
        if (name.empty()) name = name_of_result(output, f);
      }
      result_.outputs.push_back(output.stages);
    }
    for (StageId s = 0; s < graph().stage_count(); ++s) stage(s);
    for (const plan::Edge& edge : edges_) read(edge);
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) group(static_cast<int>(g));
    return std::move(result_);
  }

 private:
  const Graph& graph() const { return plan_.graph; }
  const std::vector<i64>& parameters() const { return plan_.options.parameters; }

  std::string unique_name(const Stage& stage) {
    std::string name = stage.name.empty() ? "stage" : stage.name;
    if (stage.kind == StageKind::input) {
      const ir::Argument& argument = graph().arguments[stage.argument];
      name = argument.name;
      if (argument.format.is_struct()) name += "." + argument.format.fields[stage.field].name;
    }
    std::string candidate = name;
    for (int& k = uses_[name]; !names_.insert(candidate).second;) candidate = name + "#" + std::to_string(++k + 1);
    return candidate;
  }

  std::string home_of(StageId s) const {
    if (graph().stage(s).kind == StageKind::input) return "argument";
    std::string array = outputs_.contains(s) ? "output" : "array";
    const plan::StagePlan& p = plan_.stages[s];
    if (p.home == plan::Home::inside) return "rows of the whole";
    if (p.home != plan::Home::ring) return array;
    return p.also_array ? "ring and " + array : "ring";
  }

  void stage(StageId s) {
    const Stage& stage = graph().stage(s);
    StageReport r;
    r.id = s;
    r.name = unique_name(stage);
    r.type = std::string(name_of(stage.type));
    r.lane = std::string(ir::nest::name_of(plan_.stages[s].lane));
    r.kind = stage.kind == StageKind::input ? "input" : stage.kind == StageKind::compose ? "compose" : "point";
    r.home = home_of(s);
    if (const auto output = outputs_.find(s); output != outputs_.end() && output->second != stage.name)
      r.output = output->second;
    r.argument = stage.argument, r.field = stage.field;
    for (ir::SizeId d : stage.domain) {
      r.extents += (r.extents.empty() ? "" : " x ") + graph().to_string(d);
      r.shape.push_back(graph().evaluate(d, parameters()));
    }
    r.group = plan_.stages[s].group;
    if (stage.kind == StageKind::point) r.operations = analyze::operation_count(graph(), {stage.body});
    result_.stages.push_back(std::move(r));
  }

  void read(const plan::Edge& edge) {
    StageReport& consumer = result_.stages[edge.consumer];
    bool compose = consumer.kind == "compose";
    if (consumer.reads.empty())
      borders_ = compose ? std::map<StageId, std::string>{} : borders_of(graph(), edge.consumer);
    ReadReport r;
    r.producer = edge.producer;
    r.window = window_of(edge, compose);
    if (auto border = borders_.find(edge.producer); border != borders_.end()) r.border = border->second;
    consumer.reads.push_back(std::move(r));
  }

  double points(StageId s) const {
    double n = 1;
    for (i64 e : result_.stages[s].shape) n *= static_cast<double>(e);
    return n;
  }

  double bytes_of(StageId s) const { return array_bytes(plan_, s, parameters()); }

  void group(int number) {
    const plan::Group& from = plan_.groups[static_cast<std::size_t>(number)];
    GroupReport g;
    g.anchor = from.anchor;
    g.stages = from.stages;
    g.writes = from.results;
    g.tile = plan::tile_shape(plan_, from, parameters(), options_.threads, options_.tile_rows, options_.tile_columns);
    g.step = plan_.options.schedule == Schedule::tiled ? 0 : from.step;
    g.halo_rows = from.halo_rows;
    g.halo_columns = from.halo_columns;
    g.operations = from.operations;
    g.milliseconds = from.nanoseconds * 1e-6;
    g.memory_milliseconds = from.memory_nanoseconds * 1e-6;
    g.compute_milliseconds = from.compute_nanoseconds * 1e-6;
    g.bound_by_memory = from.memory_nanoseconds >= from.compute_nanoseconds;
    g.way = from.way;
    for (const plan::Decision& d : from.reasons)
      g.reasons.push_back(fmt::format("{}: '{}' with '{}': {}", d.fused ? "fused" : "kept apart",
                                      result_.stages[d.a].name, result_.stages[d.b].name, d.why));
    for (std::size_t p = 0; p < from.passes.size(); ++p) {
      const plan::Pass& pass = from.passes[p];
      const rewrite::Tiling& tile = plan_.tiling(pass.stages.front());
      g.passes.push_back(
          {pass.form, pass.stages, pass.rows, pass.lanes, tile.rows, tile.columns, tile.planes, tile.contraction});
      for (StageId s : pass.stages) result_.stages[s].pass = static_cast<int>(p);
      if (tile.rows > 0) result_.stages[pass.stages.front()].operations = from.operations;
    }
    std::set<StageId> reads;
    for (StageId s : from.stages) {
      if (plan_.stages[s].home == plan::Home::ring) {
        result_.stages[s].ring = plan::ring_shape(plan_, s, g.tile);
        g.ring_bytes += result_.stages[s].ring.bytes;
      }
      for (const ReadReport& read : result_.stages[s].reads)
        if (result_.stages[read.producer].group != number) reads.insert(read.producer);
    }
    g.reads.assign(reads.begin(), reads.end());
    for (StageId s : g.reads) {
      g.bytes_read += bytes_of(s);
      if (graph().stage(s).kind == StageKind::input && fetched_.insert(s).second) g.compulsory_bytes += bytes_of(s);
    }
    for (StageId s : g.writes) {
      g.bytes_written += bytes_of(s);
      if (outputs_.contains(s)) g.compulsory_bytes += bytes_of(s);
    }
    result_.milliseconds += g.milliseconds;
    result_.bytes += g.bytes_read + g.bytes_written;
    result_.operations += g.operations * points(g.anchor);
    result_.groups.push_back(std::move(g));
  }

  plan::Plan plan_;
  RunOptions options_;
  std::vector<plan::Edge> edges_;
  Report result_;
  std::map<StageId, std::string> outputs_;  // with the name of the result
  std::set<StageId> fetched_;
  std::set<std::string> names_;
  std::map<std::string, int> uses_;
  std::map<StageId, std::string> borders_;  // of the consumer whose edges are being read
};

}  // namespace

double array_bytes(const plan::Plan& plan, StageId s, const std::vector<i64>& parameters) {
  const Stage& stage = plan.graph.stage(s);
  double bytes = ir::nest::size_of(plan.stages[s].lane);
  if (stage.kind == StageKind::input && plan.graph.arguments[stage.argument].format.is_struct()) {
    const Format& format = plan.graph.arguments[stage.argument].format;
    bytes = static_cast<double>(format.size()) / static_cast<double>(format.fields.size());
  }
  for (ir::SizeId d : plan::extents_of_array(plan, s)) bytes *= static_cast<double>(plan.graph.evaluate(d, parameters));
  return bytes;
}

std::string name_of_result(const ir::Output& output, std::size_t field) {
  if (output.name.empty() || !output.format.is_struct()) return output.name;
  return output.name + "." + output.format.fields[field].name;
}

Report report(plan::Plan plan, const std::vector<i64>& parameters, const RunOptions& options) {
  return Reporter(std::move(plan), parameters, options).run();
}

}  // namespace tessera::explain
