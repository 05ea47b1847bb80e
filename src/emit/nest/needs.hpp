// What text needs before it: collected by printing, read by what prints a dialect's prelude (c/prelude.cpp,
// device/prelude.cpp).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ir/functions/functions.hpp"
#include "ir/nest/library.hpp"
#include "ir/nest/nest.hpp"

namespace tessera::emit {

struct Needs {
  using Type = ir::nest::Type;

  std::set<Type> types;                                         // of values, and what pointers point to
  std::set<Type> selects, magnitudes, fused;                    // of vectors
  std::set<Type> streams;                                       // of vectors that are stored past the caches
  std::set<Type> extremes, open_extremes;                       // of vectors and floats; of which NaNs say nothing
  std::set<std::pair<Type, Type>> gathers;                      // result, index vector
  std::set<ir::FunctionUse> functions;                          // sqrt, exp ...
  std::map<ir::nest::Support, std::set<std::string>> routines;  // run-time functions that are called

  void use(const Type&);
  void call(std::string_view name);  // of any function: those whose row in the table asks for text are kept
  void add(const Needs&);

  bool has(ir::nest::Lane) const;
  const std::set<std::string>& called(ir::nest::Support) const;
  std::set<Type> types_called(ir::nest::Support) const;  // those that the names end with: "tsr_load_words_u8x16"
};

// The type that the name of a run-time function ends with.
ir::nest::Type type_of_name(std::string_view name);

}  // namespace tessera::emit
