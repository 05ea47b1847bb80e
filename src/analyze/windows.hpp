// Windows: which part of every input a part of the outputs needs, so that the program run on these parts alone gives
// the same values there. See docs/design/windows.md.
//
//   needed   walking from the outputs back, the points of every stage that a window depends on: a box, and whether a
//            border is met on either side
//   cut      of every parameter that extents follow: the range that is kept. Extents of stages are cut with them. Where
//            a border is met, the edge of the whole is an edge of what is kept; elsewhere what lies beyond the kept
//            part is needed by nobody
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::analyze {

struct Span {
  i64 begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool operator==(const Span&) const = default;
};
using Box = std::vector<Span>;

// The first stage that makes a part of an output depend on all of an image, and how: "reduces a whole image". Nothing
// where there is none.
struct Global {
  ir::StageId stage = 0;
  std::string how;
};
std::optional<Global> global_stage(const ir::Graph&, std::size_t output);

// What is wanted of the stages of an output; nothing of outputs that are not wanted.
using Wanted = std::vector<std::optional<Box>>;

// With every `parameter` more of all parameters an extent has `points` more: 2 * (M / 3) has 2 for 3. No points:
// of a constant, and of what goes with no such step.
struct Pace {
  i64 parameter = 1, points = 1;
};
Pace pace_of(const ir::Graph&, ir::SizeId extent);
// With so many more of all parameters every stage reads as it read.
i64 pace_of_all(const ir::Graph&);

// The points of every argument that are read, in all its fields; empty boxes of what is not.
std::vector<Box> read_of_arguments(const ir::Graph&, const std::vector<i64>& parameters, const Wanted&);

// Stages of which whole tiles are computed: so many points along every dimension, from the first on.
struct Grain {
  ir::StageId stage = 0;
  std::vector<i64> points;
};

// What of every parameter is kept: [begin, end) of its value.
struct Cut {
  std::vector<i64> whole;
  std::vector<Span> kept;
  std::vector<bool> reads = {};  // of every argument: is a point of it needed, by whole tiles too
  // The parameters of what is kept.
  std::vector<i64> parameters() const;
  // Where the kept part of a dimension of that extent begins.
  i64 origin(const ir::Graph&, ir::SizeId extent) const;
  i64 extent(const ir::Graph&, ir::SizeId extent) const;
  Box box(const ir::Graph&, const std::vector<ir::SizeId>& extents) const;
};

// Extents that have no less than so many points, as far as the whole has them.
using LeastExtents = std::set<std::pair<ir::SizeId, i64>>;

// Of a graph without a global stage. `parameters`: of the whole. A dimension that cannot be cut stays whole.
Cut cut_of(const ir::Graph&, const std::vector<i64>& parameters, const Wanted&, const std::vector<Grain>& = {},
           const LeastExtents& = {});

}  // namespace tessera::analyze
