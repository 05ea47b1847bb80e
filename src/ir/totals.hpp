// A graph without loops, cut at its reductions of whole images, and at images that are to be stored: what is reduced is
// an output of one section, and the number that comes of it an input of those after it. So every section's outputs have
// windows, where nothing else is in their way.
//
//   level 0    what depends on no reduction and on nothing stored
//   level n+1  what depends on a reduction of an image of level n, or on a stored one
//
// Nothing else goes from section to section: what several sections need of other images, each computes for itself.
#pragma once

#include <vector>

#include "ir/sections.hpp"

namespace tessera::ir {

struct Reduction {
  std::size_t output = 0;  // of its section
  Op op = Op::whole_sum;   // one of whole_*
  std::size_t place = 0;   // where the number lies
};

struct ReducedSection {
  Section section;
  // Outputs that are reduced are wanted by nobody else; their values are the places of their first numbers.
  std::vector<Reduction> reductions;
};

struct Totals {
  std::vector<ReducedSection> sections;  // in the order in which they run; outputs of one have the same extents
  std::vector<Place> places;             // numbers, of one element, and stored images
};

enum class OutputsAre { early, last };  // in the first section that can have them, or all in the last ones

Totals totals(const Graph&, OutputsAre, const std::vector<StageId>& stored = {});

// Images to store, so that the graph falls into so many parts of about as many stages, or fewer: behind each, at most
// four images are read of what lies before. A long row of steps falls into shorter ones.
std::vector<StageId> stored_for(const Graph&, std::size_t parts);

}  // namespace tessera::ir
