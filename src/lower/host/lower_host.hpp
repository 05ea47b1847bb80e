// From a graph to the host's part of its runs: the graph is cut at its loops into sections (ir/sections.hpp), sections
// at their Fourier transforms into parts (rewrite/parts.hpp), and what they hand on to each other gets memory for as
// long as it is needed.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "ir/host/program.hpp"
#include "ir/sections.hpp"
#include "rewrite/parts.hpp"

namespace tessera::lower {

// A section as it was cut; a graph without loops is one.
struct HostSection {
  ir::Section section;  // its graph is here where it has transforms, else it is that of its part
  // Of one with transforms; the graphs of parts are those of the program.
  std::optional<rewrite::Parts> parts;
  // Of every step, or of the section: an index into the program's parts, or into its transforms.
  std::vector<std::size_t> steps;
};

struct HostLowered {
  std::vector<HostSection> sections;
  ir::host::Program program;
};

// Does a graph have loops or transforms? Others are one part, which needs no program around it.
bool needs_host_program(const ir::Graph&);

HostLowered lower_host(const ir::Graph&);

}  // namespace tessera::lower
