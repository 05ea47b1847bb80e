// The fixed C text that emitted modules stand on, and the vector types and helpers that they use.
#pragma once

#include <set>
#include <string>

#include "ir/nest/nest.hpp"

namespace tessera::emit {

// What a module needs beyond scalars; collected by walking it.
struct Needs {
  std::set<ir::nest::Type> vectors;
  std::set<ir::nest::Type> selects, magnitudes, streams, fused;  // of vectors
  std::set<ir::nest::Type> extremes, open_extremes;              // of vectors and floats; of which NaNs say nothing
  std::set<std::pair<ir::nest::Type, ir::nest::Type>> gathers;   // result, index vector
  std::set<std::pair<ir::Op, ir::nest::Type>> functions;         // sqrt, exp ... on vectors or scalars
  std::set<ir::nest::Type> products;                             // of four bytes, added
  std::set<ir::nest::Lane> ranges;                               // of tiles that are transformed: ranges.cpp
  std::set<int> fields;                                          // of structs that are copied together: 2 to 4
  bool guards = false;                                           // around blocks of scratch memory, for tests
};

std::string spell(const ir::nest::Type&);  // "f32x16", "const ..." is the caller's

// A module in parts. Functions are TSR_GROUP, a macro that the file defines: nothing or static.
struct ModuleText {
  std::string tables, functions;
  Needs needs;
};
ModuleText module_text(const ir::nest::Module&);

std::string ranges_text(ir::nest::Lane);

std::string scalar_prelude(const Needs&);  // the same for every module but the type f16
std::string vector_prelude(const Needs&);  // types and helpers as wide as the module's vectors
std::string prelude(const Needs&);         // both, group functions external

}  // namespace tessera::emit
