// Footprints: what a stage reads of each producer, per dimension.
//
// For the point i the stage reads, of producer p in the dimension aligned with d, the indices
//   scale * i + [lo, hi]         (point stages; compose stages read (i - start) / stride)
// before border maps. A footprint is the union over all accesses to p; everything later (halo, lag, ring depth) follows
// from footprints alone.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::analyze {

struct DimensionFootprint {
  i64 lo = 0, hi = 0;     // offsets, reduction variables included
  i64 scale = 1;          // of the consumer's index; 0: absolute indices
  bool whole = false;     // gather, symbolic shift or mixed scales: any index may be read
  bool wraps = false;     // some access wraps here
  bool reflects = false;  // some access mirrors here (mirror or symmetric)
  bool clamps = false;    // some access clamps here
  bool constant = false;  // some access has a constant border here
};

struct Footprint {
  ir::StageId producer = 0;
  std::vector<DimensionFootprint> dims;  // one per producer dimension
};

// One per producer, ascending by stage. For point stages.
std::vector<Footprint> footprints(const ir::Graph&, ir::StageId consumer);

// The offsets that one access spans in producer dimension d, reduction variables included. `ranges` maps variables of
// enclosing reductions to their bounds.
struct VarRange {
  i64 lo = 0, hi = 0;
};
// By variable id, of one body: a program has many variables, a body few.
class VarRanges {
 public:
  VarRange& operator[](std::uint32_t id) { return ranges_[id]; }
  VarRange operator[](std::uint32_t id) const {
    const auto found = ranges_.find(id);
    return found == ranges_.end() ? VarRange{} : found->second;
  }

 private:
  std::map<std::uint32_t, VarRange> ranges_;
};
VarRanges variable_ranges(const ir::Graph&, ir::ExprId body);
std::pair<i64, i64> offset_span(const ir::Index&, const VarRanges&);

}  // namespace tessera::analyze
