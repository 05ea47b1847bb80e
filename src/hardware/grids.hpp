// Grids: where the points of each image lie among those of a frame.
//
// A stage that reads every second row of another has a point for two of its rows; one that is put together from pieces
// two rows apart has two rows for each of theirs. So stages have *rates*: along a dimension, the points of a stage
// stand as many points of the finest image apart. All stages share the ticks of the finest one (a *frame*), and a point
// of a coarser one belongs to the tick at which its place is reached.
//
// Extents are formulas in the extents that frames are given with, those of the first input, found by evaluating the
// program's own for many of them.
#pragma once

#include <array>
#include <vector>

#include "hardware/netlist/netlist.hpp"
#include "ir/graph.hpp"

namespace tessera::hardware {

struct StreamOptions;

// Extents of all stages, for one extent of frames.
struct GridSample {
  i64 given = 0;
  std::vector<i64> parameters, points;  // the latter by stage
};

struct Grids {
  std::vector<Grid> stages;
  Frame frame;
  Given given;
  std::array<std::vector<GridSample>, 2> samples;  // by dimension: those looked at, ascending; the last is the largest

  const Extent& extent(ir::StageId s, int dimension) const {
    return dimension == 0 ? stages[s].rows : stages[s].columns;
  }
  // At most.
  i64 points(ir::StageId s, int dimension) const {
    return samples[static_cast<std::size_t>(dimension)].back().points[s];
  }
  // The least extent given, from which on a stage has so many points.
  i64 least_given(ir::StageId s, int dimension, i64 points) const;
};

// The stages have two dimensions. Throws Error(argument) for stages whose rates contradict each other and for extents
// that the program does not have.
Grids make_grids(const ir::Graph&, const StreamOptions&);

[[noreturn]] void refuse(const ir::Stage&, const std::string& why, const std::string& help = "");

}  // namespace tessera::hardware
