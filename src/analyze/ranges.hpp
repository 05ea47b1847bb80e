// Value ranges of integer expressions and stages: which integers can occur.
//
// Intervals are computed in the semantics of the graph (32-bit wrap-around): an operation whose mathematical result
// could leave its type gets the full range of the type. Ranges choose the narrowest lanes that compute the same
// integers: an 8-bit 3x3 filter runs in 16-bit lanes.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::analyze {

struct Range {
  double lo = 0, hi = 0;  // integers; exact, since 32-bit integers fit a double
  bool operator==(const Range&) const = default;
};

Range full_range(ElementType);  // of an integer or boolean type
bool contains(Range outer, Range inner);

class Ranges {
 public:
  explicit Ranges(const ir::Graph& graph);
  // Of expressions alone, while a graph is made: a stage has the range of its type. `around`: variables of reductions
  // that the expressions are going to stand in.
  Ranges(const ir::Graph& graph, const std::vector<ir::Var>& around);
  // Of an integer or boolean expression; full range for unknown. Floats have no range.
  Range of(ir::ExprId e);
  Range of_stage(ir::StageId s) const { return stages_[s]; }
  Range of_rows(ir::StageId s) const { return rows_[s]; }  // with the constants by which readers continue them

 private:
  Range compute(const ir::ExprNode&);
  Range read(ir::StageId) const;
  void see(const ir::Var&);
  void see_variables(const std::vector<ir::ExprId>&);
  Range continued(Range, const ir::ExprNode& access) const;
  const ir::Graph& graph_;
  std::vector<Range> stages_, rows_;  // of none of them while a graph is made
  std::unordered_map<std::uint32_t, Range> known_;
  std::unordered_map<std::uint32_t, Range> variables_;
};

}  // namespace tessera::analyze
