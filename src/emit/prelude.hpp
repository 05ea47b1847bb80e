// The fixed C text that emitted modules stand on, and the vector types and helpers that they use.
#pragma once

#include <set>
#include <string>

#include "ir/nest.hpp"

namespace tessera::emit {

// What a module needs beyond scalars; collected by walking it.
struct Needs {
  std::set<ir::nest::Type> vectors;
  std::set<ir::nest::Type> selects, extremes, magnitudes;          // of vectors
  std::set<std::pair<ir::nest::Type, ir::nest::Type>> gathers;      // result, index vector
  std::set<std::pair<ir::Op, ir::nest::Type>> functions;            // sqrt, exp ... on vectors or scalars
};

std::string spell(const ir::nest::Type&);             // "f32x16", "const ..." is the caller's
std::string prelude(const Needs&, bool internal);

}  // namespace tessera::emit
