// See strips.hpp.
#include "plan/strips.hpp"

#include <algorithm>
#include <map>

namespace tessera::plan {

using ir::StageId;

namespace {

constexpr i64 columns = 2;
constexpr i64 beside = 24 + 3 * columns;  // addresses, counters, what a row of columns takes on the way

struct Rows {
  i64 lag = 0, oldest = INT64_MAX;  // of what is read, from the row that a step computes
  i64 left = 0, right = 0;          // columns beyond the thread's own
};

// Rows and columns around its own that a consumer reads, where both have the same extents.
bool in_step(const ir::Graph& graph, const Edge& edge) {
  if (edge.broadcast || edge.dims.size() != 2) return false;
  for (const EdgeDimension& d : edge.dims)
    if (d.mul != 1 || d.div != 1 || d.whole) return false;
  return graph.stage(edge.consumer).kind == ir::StageKind::point;
}

}  // namespace

int strip_registers(const ir::Graph& graph, const std::vector<Edge>& edges,
                    const std::vector<std::vector<std::size_t>>& reads, const std::vector<StageId>& set,
                    const std::function<int(StageId)>& bytes) {
  std::map<StageId, Rows> rings;
  for (const StageId s : set)
    if (graph.stage(s).domain != graph.stage(set.back()).domain) return 0;
  for (std::size_t k = set.size(); k-- > 0;) {
    const Rows reader = rings[set[k]];
    for (const std::size_t e : reads[set[k]]) {
      const Edge& edge = edges[e];
      if (!in_step(graph, edge)) return 0;
      Rows& ring = rings[edge.producer];
      const EdgeDimension &row = edge.dims[0], &column = edge.dims[1];
      ring.lag = std::max(ring.lag, reader.lag + row.hi);
      ring.oldest = std::min(ring.oldest, reader.lag + row.lo);
      ring.left = std::max({ring.left, reader.left - column.lo, i64{0}});
      ring.right = std::max({ring.right, reader.right + column.hi, i64{0}});
    }
  }
  i64 registers = beside;
  for (const auto& [stage, ring] : rings) {
    const bool own = std::binary_search(set.begin(), set.end(), stage);
    const i64 ahead = own ? 0 : 1;  // rows in memory are loaded before they are read
    const i64 depth = ring.oldest == INT64_MAX ? 1 : ring.lag + ahead - ring.oldest + 1;
    if (own && depth == 1 && ring.left + ring.right == 0) continue;
    registers += depth * (columns + ring.left + ring.right) * std::max(1, bytes(stage) / 4);
  }
  return static_cast<int>(std::min<i64>(registers, 1 << 20));
}

}  // namespace tessera::plan
