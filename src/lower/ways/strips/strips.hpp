// Groups that march down their rows with everything in registers: one strip of columns a thread.
//
// A thread owns V neighbouring columns and a strip of rows. Every step it loads the next row of what the group reads,
// its columns and the halo beside them, and computes the next row of every stage from the last rows of those before it,
// which it keeps in registers: rings that move up by one place a step; unrolled, they move by renaming. Halo columns of
// stages in between are computed by both neighbours; nothing is exchanged, nobody waits. Stages of other sizes have
// other rates, rows a step and columns a thread; see plan/passes/strips.hpp.
//
// Each kernel has two texts of a step: one for rows and columns whose reads all lie inside, without a test, and one
// that finds the row and column that a border maps to among the rows and columns at hand.
#pragma once

#include <string>

#include "lower/way.hpp"

namespace tessera::lower {

// Whether a group can run so, and if not, why.
struct StripFit {
  bool fits = false;
  std::string why;
  int columns = 4;         // V, of the coarsest rate
  int values = 1;          // in a register: 2 where a column shares it with its twin; see plan/passes/twins.cpp
  i64 height = 0;          // of a register tile; 0: a strip, as high as the host says
  bool exchanges = false;  // a tile whose threads take halo columns from their neighbours in the warp
  int registers = 0;       // estimate, of a thread
  double price = 0;        // of a tile: instructions for a point
};
extern const DeviceWay strips;

}  // namespace tessera::lower
