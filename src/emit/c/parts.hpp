// Programs with Fourier transforms as C files (ir/host/program.hpp): every part as the file of a program, its names its
// own, one text that transforms any extents, and the entry point, which calls them in order.
//
// A file that is made for extents holds the passes, the tables and the text of a run's transforms (sized.hpp). For all
// others it has plain C for any size, which makes its tables when it is called.
#pragma once

#include <string>
#include <vector>

#include "emit/c/c.hpp"
#include "ir/host/program.hpp"

namespace tessera::emit {

// `parts`: the variants of every part. As print_c_file.
std::string print_c_parts(const ir::host::Program&, const ir::Graph&, const std::vector<std::vector<Variant>>& parts,
                          const EntryOptions&);

// Of text that several widths of vectors have, on x86-64: up to "#endif".
std::string machine_begin();
// Compiled for machines with vectors of so many bytes, 32 or 64.
std::string for_machine(int vector, const std::string& text);
// With contraction, as the passes of a run are compiled.
std::string contracted(const std::string& text);

}  // namespace tessera::emit
