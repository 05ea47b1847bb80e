// Edges of the stage graph as the planner sees them: who reads whom, how far, and with which borders.
#pragma once

#include <vector>

#include "analyze/footprint.hpp"
#include "ir/graph.hpp"

namespace tessera::plan {

struct EdgeDimension {
  // A consumer range [a, b) needs [(mul * a + lo) / div, (mul * (b - 1) + hi) / div + 1) of the producer, floor
  // division, borders included: reflections and clamps are folded into lo and hi, so that clipping to the domain is all
  // that is left.
  i64 mul = 1, div = 1;
  i64 lo = 0, hi = 0;
  i64 raw_lo = 0, raw_hi = 0;  // offsets as written, for padding
  bool whole = false;          // unknown: any index
  bool own = true;             // offset 0, scale 1
  bool wraps = false;
  bool other_border = false;  // reads outside with a mode that is not wrap
};

struct Edge {
  ir::StageId producer = 0, consumer = 0;
  std::vector<EdgeDimension> dims;   // of the producer
  bool broadcast = false;            // the producer has lower rank
  bool column_border_clash = false;  // reads beyond its columns with two different borders
  Border column_border;              // the one border of reads beyond columns
  double loads = 0;                  // vector loads a point, without sharing
};

// What any piece of the composed stage needs, so that all of them advance together.
EdgeDimension any_phase(EdgeDimension);

// All edges, ordered by consumer.
std::vector<Edge> edges_of(const ir::Graph&);
std::vector<Edge> edges_of(const ir::Graph&, const std::vector<ir::StageId>& consumers);  // ascending

}  // namespace tessera::plan
