// Programs with Fourier transforms as C files (ir/host/program.hpp): every part as the file of a program, its names its
// own, one text that transforms any extents, and the entry point, which calls them in order.
//
// The transforms of emitted files are plain C for any size, not the passes that a run compiles for the machine
// (docs/design/transforms.md): a file needs no tables that depend on extents, which it is told when it is called.
#pragma once

#include <string>
#include <vector>

#include "emit/c/c.hpp"
#include "ir/host/program.hpp"

namespace tessera::emit {

// `parts`: the variants of every part. As print_c_file.
std::string print_c_parts(const ir::host::Program&, const ir::Graph&, const std::vector<std::vector<Variant>>& parts,
                          const EntryOptions&);

}  // namespace tessera::emit
