// Loop nests as C: the dialect for CPU cores.
//
// The text includes nothing. It uses the vector extensions that GCC and Clang share; what only one of them has stands
// behind #ifdef __clang__ in the prelude. Vectors are named by lane type and count (f32x16).
#pragma once

#include <string>
#include <vector>

#include "base/constant_table.hpp"
#include "fft/cpu/plan_cores.hpp"
#include "ir/host/program.hpp"
#include "ir/nest/nest.hpp"
#include "lower/interface.hpp"

namespace tessera::emit {

// The module with external group functions, for run-time compilation.
std::string print_c(const ir::nest::Module&);

// The same, but that long tables and opaque ones are only declared, `extern`, and handed over as bytes: a compiler
// takes a second for some hundred thousand numbers, and the text is the same whatever they are. The others stay, as
// their values are used in the code. Tables that no function reads are left out.
struct TextApart {
  std::string text;
  std::vector<base::ConstantTable> tables;
};
TextApart print_c_apart(const ir::nest::Module&);

// A transform of a host program whose extents are known, between arrays without gaps: a plan for each width of vectors
// that the file is for, in bytes, ascending; the first one is for any machine.
struct SizedOnCores {
  std::size_t transform = 0;
  std::vector<i64> extents;
  std::vector<fft::CorePlan> plans;
};

struct EntryOptions {
  std::string name = "tessera_program";  // of the function
  i64 tile_rows = 0, tile_columns = 0;   // 0: what the plan says
  int vector_bits = 0;                   // of transforms: 128, 256 or 512, 0: all
  std::vector<SizedOnCores> sized = {};  // transforms
};

// A program lowered for the vectors of one kind of machine.
struct Variant {
  plan::Plan plan;
  lower::Lowered lowered;
  // What the machine must have beyond the target's least, as GCC and Clang name it: {"avx2"}. Empty: any machine.
  std::vector<std::string> features = {};
};

// A complete C file for users: the variants with internal linkage and the published entry point
//   void NAME(inputs and scalars in declaration order..., run-time parameters as int..., outputs...)
// on contiguous arrays, tiles shared among threads by OpenMP where it is enabled. The first variant needs no features,
// or is the only one; each later one includes the features of those before it. The entry point takes the best that the
// machine has. Throws Error(argument) when the name is not an identifier that C and C++ leave to their users.
std::string print_c_file(const std::vector<Variant>&, const EntryOptions&);

// The same of a host program without transforms: the variants of every part.
std::string print_c_file(const ir::host::Program&, const ir::Graph&, const std::vector<std::vector<Variant>>& parts,
                         const EntryOptions&);

// What runs a part of a program: static i32 NAME(void* const* given, const i64* sizes, tessera_call*), in a frame of
// its own (frame.hpp).
std::string print_c_part(const std::vector<Variant>&, const EntryOptions&);

// The declaration of that function, shapes in a comment, struct types included.
std::string print_c_header(const plan::Plan&, const EntryOptions&);
std::string print_c_header(const ir::Graph&, const EntryOptions&);

}  // namespace tessera::emit
