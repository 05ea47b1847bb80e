// A graph cut at its loops: what comes before, the body, what comes after. Every section is a graph of its own without
// loops, so that everything that plans, lowers, prints and runs a graph takes it. The images between sections lie in
// places.
//
//   level 0    what depends on no loop
//   loops of level n   read places of levels up to n only, and so may run once section n has run
//   level n+1  what depends on the end of a loop of level n
//
// What a body reads but does not change is computed once, before. Parameters and tables are those of the whole graph,
// and so are the numbers of extents that it has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir {

// An image between sections.
struct Place {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<SizeId> extents;
};

struct Section {
  struct Value {
    bool place = false;     // else an argument or an output of the whole
    std::size_t index = 0;  // of it
    auto operator<=>(const Value&) const = default;
  };
  // A carried image: an input of the section, which holds what `inputs` says in the first iteration.
  struct Carried {
    std::size_t input = 0;
    std::optional<std::size_t> output;  // that it becomes; nothing: it becomes the carried image before it
    bool spent = false;                 // what it begins with lies in a place that nothing else reads
  };
  Graph graph;
  std::vector<Value> inputs;   // of every argument of the graph
  std::vector<Value> outputs;  // of every output
  // Of a loop; nothing is carried by other sections.
  std::uint32_t loop = 0;  // of the whole graph
  i64 most = 1;
  std::size_t test = 0;  // an output
  std::vector<Carried> carried;
  bool repeats() const { return !carried.empty(); }
};

struct Sections {
  std::vector<Section> sections;  // in the order in which they run
  std::vector<Place> places;      // extents of the whole graph; all but those of carried images are written once
};

// Of a well-formed graph that has loops.
Sections sections(const Graph&);

}  // namespace tessera::ir
