// A group that runs on CPU cores, and what can be asked about it before a line of its function is written: immutable.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lower/way.hpp"
#include "plan/groups/edges.hpp"
#include "plan/plan.hpp"

namespace tessera::lower {

class StreamGroup {
 public:
  StreamGroup(const WayQuestion&, std::string name);

  const plan::Plan& plan;
  const Interface& interface;
  analyze::Ranges& ranges;
  ir::Graph& graph;  // bodies that are shifted along rows join its expressions
  const plan::Options& options;
  const machine::Machine& machine;
  const plan::Group& planned;
  const std::size_t number, rank;
  const std::vector<plan::Edge> edges;   // of its stages
  const std::vector<ir::StageId> tiled;  // stages that are computed through Fourier transforms

  const ir::Stage& stage(ir::StageId s) const { return graph.stage(s); }
  const plan::StagePlan& plan_of(ir::StageId s) const { return plan.stages[s]; }
  const std::vector<plan::Pass>& passes() const { return planned.passes; }
  const plan::Pass& pass(std::size_t p) const { return planned.passes[p]; }
  const std::string& name() const { return name_; }

  bool contains(ir::StageId s) const { return plan_of(s).group == static_cast<int>(number); }
  std::size_t pass_of(ir::StageId) const;
  bool is_tiled(std::size_t pass) const;  // its stage is computed through transforms, not by a loop
  bool transformed() const { return !tiled.empty(); }
  // With stages that are computed while tiles are loaded, or on their results: tiles.cpp.
  bool fused() const { return transformed() && planned.stages.size() > 1; }
  bool direct_result(ir::StageId s) const { return plan_of(s).home == plan::Home::array; }
  bool in_ring(ir::StageId s) const { return plan_of(s).home == plan::Home::ring; }
  bool has_margins(ir::StageId) const;
  // Whose rows hold its values: itself, or what it is a piece of.
  ir::StageId written(ir::StageId) const;
  // What pieces may write outside the region of what they fill.
  i64 slack(ir::StageId, std::size_t dim) const;

  // How values lie in memory.
  std::optional<ArrayPlace> place(ir::StageId s) const { return place_of(plan, interface, s); }
  ir::nest::Lane memory_lane(ir::StageId s) const { return plan_of(s).lane; }
  i64 bytes(ir::StageId s) const { return ir::nest::size_of(memory_lane(s)); }  // of an element
  i64 element_step(ir::StageId) const;  // elements between neighbours of a row in memory
  i64 element_offset(ir::StageId) const;
  ir::nest::Value typed(ir::StageId, const ir::nest::Value& pointer) const;  // u8* as a pointer to the stage's elements
  // Bytes of structs, read as lanes of 32 bits (fields.hpp), and columns behind the last one that a vector reads into.
  bool reads_words(std::size_t pass, ir::StageId) const;
  i64 beyond(std::size_t pass, ir::StageId) const;
  // All fields of an output, in order, where one pass computes them as rows of numbers that lie beside each other in
  // its elements; else none. They are put together by one pass over their rows.
  std::vector<ir::StageId> leaving_with(ir::StageId) const;

  i64 border_bits(const Border&, ir::StageId) const;
  // Elements that go one way at the ends of a row: fields of one point, where the border asks for a point of the image.
  i64 bordered(BorderMode) const;

 private:
  const std::string name_;  // what names of its functions begin with
};

inline bool is_one(const plan::StagePlan::Rate& r) {
  return r.num == 1 && r.den == 1;
}

}  // namespace tessera::lower
