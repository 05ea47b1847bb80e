// How a graph is cut: one section's graph gets the wanted stages, and inputs for what they read of other sections. It
// keeps the expressions and extents of the whole graph and has stages of its own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/sections.hpp"

namespace tessera::ir {

class SectionGraph {
 public:
  // `places`: where stages lie that sections read of each other. Both outlive this.
  SectionGraph(const Graph& whole, const std::map<StageId, std::size_t>& places);

  // What the section reads. Inputs come first, since topological order has them before their readers.
  void input(StageId);
  // A carried image, which begins as `first`: the number of the input.
  std::size_t carried(StageId, Section::Value first);
  // What it computes, in topological order.
  void compute(StageId);
  // The number of the output.
  std::size_t output(std::string name, Format, const std::vector<StageId>&, Section::Value to);
  Section finish();

  Section section;

 private:
  std::uint32_t argument(std::size_t of_whole);
  StageId image(StageId, Section::Value from);
  ExprId moved(const ExprNode&);

  const Graph& whole_;
  const std::map<StageId, std::size_t>& places_;
  Graph graph_;
  std::map<StageId, StageId> map_;
  std::map<std::size_t, std::uint32_t> arguments_;
  std::set<std::string> names_;
  RewriteMemo memo_;
};

}  // namespace tessera::ir
