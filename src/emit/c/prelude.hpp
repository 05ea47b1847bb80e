// The fixed C text that emitted modules stand on, and the vector types and helpers that they use.
#pragma once

#include <string>

#include "emit/nest/needs.hpp"
#include "ir/nest/nest.hpp"

namespace tessera::emit {

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
