// Programs with Fourier transforms as C files (rewrite/parts.hpp): every part as the file of a program, its names its
// own, one text that transforms any extents, and the entry point, which calls them in order.
//
// The transforms of emitted files are plain C for any size, not the passes that a run compiles for the machine
// (docs/design/transforms.md): a file needs no tables that depend on extents, which it is told when it is called.
#pragma once

#include <string>
#include <vector>

#include "emit/c/c.hpp"
#include "rewrite/parts.hpp"

namespace tessera::emit {

// `variants`: of every step, none of transforms. As print_c_file.
std::string print_c_parts(const ir::Graph&, const rewrite::Parts&, const std::vector<std::vector<Variant>>& variants,
                          const EntryOptions&);

// A section of a program with loops. `parts`: null without transforms, and the variants are those of all of it.
struct CSection {
  const ir::Graph* graph;
  const rewrite::Parts* parts;
  std::vector<std::vector<Variant>> variants;
};

// Of a program with loops and transforms: sections as functions, and what repeats them.
std::string print_c_parts(const SectionList&, const std::vector<CSection>&, const EntryOptions&);

}  // namespace tessera::emit
