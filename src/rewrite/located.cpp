// See located.hpp.
#include "rewrite/located.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/build.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::SizeId;
using ir::StageId;
using ir::StageKind;

namespace {

bool asks(Op op) {
  return op == Op::coord || op == Op::extent || op == Op::parameter || op == Op::size;
}

// Numbers that are given, each once.
class Given {
 public:
  Given(Graph& graph, const std::string& name, std::vector<SizeId>& extents)
      : graph_(graph), name_(name), extents_(extents) {}

  ExprId of(SizeId extent) {
    const auto found = std::find(extents_.begin(), extents_.end(), extent);
    if (found != extents_.end()) return scalar(static_cast<std::size_t>(found - extents_.begin()));
    extents_.push_back(extent);
    at_.push_back(graph_.arguments.size());
    ir::Argument argument;
    argument.name = name_ + std::to_string(extents_.size());
    argument.is_array = false;
    argument.format = Format(ElementType::i32);
    graph_.arguments.push_back(std::move(argument));
    return scalar(extents_.size() - 1);
  }

 private:
  ExprId scalar(std::size_t k) const {
    ExprNode node;
    node.op = Op::scalar;
    node.type = ElementType::i32;
    node.ivalue = static_cast<i64>(at_[k]);
    return graph_.expr(std::move(node));
  }

  Graph& graph_;
  const std::string name_;
  std::vector<SizeId>& extents_;
  std::vector<std::size_t> at_;
};

}  // namespace

std::optional<Located> located(const Graph& program) {
  bool any = false;
  for (StageId s = 0; s < program.stage_count() && !any; ++s)
    if (program.stage(s).kind == StageKind::point)
      for (const ExprId e : ir::postorder(program, {program.stage(s).body})) any = any || asks(program.node(e).op);
  if (!any) return {};
  Located made{program, {}, {}};
  Graph& graph = made.graph;
  // The numbers of wholes stand behind those of origins: they are found first.
  for (const bool of_wholes : {false, true}) {
    Given given(graph, of_wholes ? "whole_" : "origin_", of_wholes ? made.wholes : made.origins);
    for (StageId s = 0; s < graph.stage_count(); ++s) {
      if (graph.stage(s).kind != StageKind::point) continue;
      const std::vector<SizeId> domain = graph.stage(s).domain;
      graph.stage(s).body = ir::rewrite(graph, graph.stage(s).body, [&](ExprId old, const ExprNode& node) {
        if (!of_wholes) {
          if (node.op != Op::coord) return ExprId{};
          return ir::binary(graph, Op::add, old, given.of(domain[static_cast<std::size_t>(node.ivalue)]));
        }
        if (node.op == Op::extent) return given.of(domain[static_cast<std::size_t>(node.ivalue)]);
        if (node.op == Op::parameter) return given.of(graph.size_parameter(static_cast<std::uint32_t>(node.ivalue)));
        if (node.op == Op::size)
          return ir::convert(graph, node.type, given.of(SizeId{static_cast<std::uint32_t>(node.ivalue)}));
        return ExprId{};
      });
    }
  }
  return made;
}

}  // namespace tessera::rewrite
