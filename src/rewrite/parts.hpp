// Programs with Fourier transforms, cut where these are: a transform wants the whole of what it reads, and gives the
// whole of what others read, so it ends every group before it and begins none.
//
// What lies between transforms is a *part*: a graph of its own without a transform, which is planned, lowered, run and
// explained like any program. Its arguments are those of the program that it reads and arrays that steps before it
// wrote; its outputs are arrays that later steps read, and outputs of the program. Steps run in order: all that the
// next transforms need, these, and so on. A stage is computed as late as possible, so that a filter made of coordinates
// is folded into what it multiplies and not stored; what several parts read is stored once.
//
// The two parts of a transform's result are one array of pairs. An inverse whose imaginary part nobody reads gives its
// real part alone, for half of the work.
#pragma once

#include <vector>

#include "ir/graph.hpp"
#include "ir/host/program.hpp"

namespace tessera::rewrite {

// Where an array of a program in parts lies.
struct Place {
  enum class Kind { argument, output, between } kind = Kind::argument;
  std::size_t index = 0;  // of Graph::arguments, Graph::outputs, Parts::between
  auto operator<=>(const Place&) const = default;
};

// An array between steps.
struct Between {
  std::string name;
  Format format;
  std::vector<ir::SizeId> domain;
  std::vector<ir::StageId> stages;  // of the program, one per field
  std::size_t last = 0;             // the last step that reads it
};

struct Step {
  std::vector<Place> inputs, outputs;  // of a part: one per argument and output; of a transform: one of each
  bool is_part() const { return stages.empty(); }

  ir::Graph part;
  // A transform: of the two parts of its result, those that are read, stages of the program.
  std::vector<ir::StageId> stages;
  ir::host::Transform transform;
};

struct Parts {
  std::vector<Between> between;
  std::vector<Step> steps;
};

bool has_transforms(const ir::Graph&);

// For a graph that has some.
Parts cut(const ir::Graph&);

}  // namespace tessera::rewrite
