// What planning knows of a graph before any of its stages stand together: computed once, and never changed.
//
// Whether sets of stages may be groups (layout.hpp), what they cost (prices.hpp) and which of them are taken
// (groups.hpp) follows from these facts and from the sets alone.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/groups/edges.hpp"
#include "plan/passes/strips.hpp"
#include "plan/plan.hpp"

namespace tessera::plan {

using Set = std::vector<ir::StageId>;  // ascending

struct StageFacts {
  std::vector<std::size_t> reads, read_by;  // edges
  bool is_output = false;
  bool is_field = false;  // of a struct that is an output: it leaves as rows that are spread over the elements
  bool fillable = false;  // a composed stage that its pieces can be computed right into
  ir::nest::Lane lane = ir::nest::Lane::f32;  // as it is stored
  double points = 1;
  double stored = 1;        // elements of its array, where it has one
  double operations = 1;    // a point, neighbouring rows of a block sharing what they have in common
  double alone = 1;         // a point, without that
  double instructions = 0;  // a point, of a thread; where strips are planned
  int work_bytes = 1;       // of the widest lane that the stage computes in
  bool pairs = false;       // see analyze/pairs.hpp
  struct ByteProducts {     // see rewrite/sums/bytes.hpp
    int chains = 0;         // of totals; 0: none
    double products = 0;
  };
  ByteProducts quads;
  StripReads strip_reads;  // where strips are planned
};

struct GraphFacts {
  const Plan& plan;  // of which the graph, the options and the machine are read alone
  ir::Graph& graph;  // (sizes of its extents are put together to compare them; its stages stay)
  const Options& options;
  const machine::Machine& machine;
  std::vector<Edge> edges;
  std::vector<StageFacts> stages;  // by stage
  bool plans_strips = false;       // groups keep their rows in registers: strips.hpp
  bool sums_planes = false;        // some stage sums over planes of a volume: volumes.hpp

  const StageFacts& of(ir::StageId s) const { return stages[s]; }
  double extent(ir::StageId, std::size_t dim) const;
  double element_bytes(ir::StageId) const;  // as it is stored
  // What one element of an array brings in that is read: of structs a field's share of all bytes.
  double loaded_bytes(ir::StageId array) const;
};

inline bool contains(const Set& set, ir::StageId s) {
  return std::binary_search(set.begin(), set.end(), s);
}
inline std::size_t place_in(const Set& set, ir::StageId s) {
  return static_cast<std::size_t>(std::lower_bound(set.begin(), set.end(), s) - set.begin());
}

// The plan has to outlive them. Its graph gets bodies that are shifted, to count what rows of a block share.
GraphFacts facts_of(Plan&);

}  // namespace tessera::plan
