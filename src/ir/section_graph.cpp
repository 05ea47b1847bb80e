// See section_graph.hpp.
#include "ir/section_graph.hpp"

#include <utility>

namespace tessera::ir {

SectionGraph::SectionGraph(const Graph& whole, const std::map<StageId, std::size_t>& places)
    : whole_(whole), places_(places) {
  graph_ = whole;
  graph_.take_stages();
  graph_.arguments.clear();
  graph_.outputs.clear();
  graph_.loops.clear();
}

void SectionGraph::input(StageId s) {
  if (map_.contains(s)) return;
  const Stage& stage = whole_.stage(s);
  if (stage.kind == StageKind::input) {
    Stage copy = stage;
    copy.argument = argument(stage.argument);
    map_[s] = graph_.add(std::move(copy));
  } else {
    map_[s] = image(s, {true, places_.at(s)});
  }
}

std::size_t SectionGraph::carried(StageId s, Section::Value first) {
  map_[s] = image(s, first);
  return section.inputs.size() - 1;
}

void SectionGraph::compute(StageId s) {
  Stage stage = whole_.stage(s);
  if (stage.body.valid())
    stage.body = rewrite(graph_, stage.body, [&](ExprId, const ExprNode& node) { return moved(node); }, memo_);
  for (Piece& piece : stage.pieces)
    if (piece.stage) piece.stage = map_.at(*piece.stage);
  if (stage.kind == StageKind::fourier) {
    stage.fourier.re = map_.at(stage.fourier.re);
    if (stage.fourier.im) stage.fourier.im = map_.at(*stage.fourier.im);
  }
  map_[s] = graph_.add(std::move(stage));
}

std::size_t SectionGraph::output(std::string name, Format format, const std::vector<StageId>& stages,
                                 Section::Value to) {
  while (!names_.insert(name).second) name += "'";
  Output o{std::move(name), std::move(format), {}};
  for (const StageId s : stages) o.stages.push_back(map_.at(s));
  graph_.outputs.push_back(std::move(o));
  section.outputs.push_back(to);
  return section.outputs.size() - 1;
}

Section SectionGraph::finish() {
  section.graph = std::move(graph_);
  return std::move(section);
}

std::uint32_t SectionGraph::argument(std::size_t of_whole) {
  const auto [known, fresh] = arguments_.try_emplace(of_whole, static_cast<std::uint32_t>(graph_.arguments.size()));
  if (fresh) {
    graph_.arguments.push_back(whole_.arguments[of_whole]);
    section.inputs.push_back({false, of_whole});
  }
  return known->second;
}

StageId SectionGraph::image(StageId s, Section::Value from) {
  const Stage& stage = whole_.stage(s);
  Argument a;
  a.name = stage.name;
  a.format = stage.type;
  a.extents = stage.domain;
  a.span = stage.span;
  Stage input = stage_like(stage, StageKind::input);
  input.argument = static_cast<std::uint32_t>(graph_.arguments.size());
  graph_.arguments.push_back(std::move(a));
  section.inputs.push_back(from);
  return graph_.add(std::move(input));
}

ExprId SectionGraph::moved(const ExprNode& node) {
  if (node.op != Op::scalar && !reads_stage(node.op)) return {};
  ExprNode copy = node;
  if (node.op == Op::scalar)
    copy.ivalue = argument(static_cast<std::size_t>(node.ivalue));
  else
    copy.stage = map_.at(node.stage);
  return graph_.expr(std::move(copy));
}

}  // namespace tessera::ir
