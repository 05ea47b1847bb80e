// Loop nests as C: the dialect for CPU cores.
//
// The text includes nothing. It uses the vector extensions that GCC and Clang share; what only one of them has stands
// behind #ifdef __clang__ in the prelude. Vectors are named by lane type and count (f32x16).
#pragma once

#include <string>

#include "ir/nest.hpp"
#include "lower/interface.hpp"

namespace tessera::emit {

// The module with external group functions, for run-time compilation.
std::string print_c(const ir::nest::Module&);
// The same with internal linkage.
std::string print_c_static(const ir::nest::Module&);

struct EntryOptions {
  std::string name = "tessera_program";  // of the function
};

// A complete C file for users: the module with internal linkage and the published entry point
//   void NAME(inputs and scalars in declaration order..., run-time parameters as int..., outputs...)
// on contiguous arrays, tiles shared among threads by OpenMP.
std::string print_c_file(const plan::Plan&, const lower::Lowered&, const EntryOptions&);

// The declaration of that function, shapes in a comment, struct types included.
std::string print_c_header(const plan::Plan&, const lower::Lowered&, const EntryOptions&);

}  // namespace tessera::emit
