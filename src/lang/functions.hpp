// The words that the language knows by themselves: element types, functions of values, window reductions, boundary
// modes. One table each; the parser, the checker and the suggestions of diagnostics read the same tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/border.hpp"
#include "ir/graph.hpp"

namespace tessera::lang {

// "float", "int8" (another word for uint8), ... ; nothing when it is no basic type.
std::optional<ElementType> find_type(std::string_view);
std::vector<std::string> type_words();

struct Builtin {
  std::string_view name;
  ir::Op op;
  int arity;  // of the operation; min and max take more and fold from the left
  bool integer_only = false;
};
// "sqrt", "sqrtf", "fabs", ...; null when there is none.
const Builtin* find_builtin(std::string_view);
std::vector<std::string> builtin_words();

// Of integers; of a narrow type both of a pair have, the result has it, too. `arity` 1: an int.
struct IntegerFunction {
  enum Kind { popcount, clz, mulhi, hadd, rhadd };
  std::string_view name;
  Kind kind;
  int arity;
};
const IntegerFunction* find_integer_function(std::string_view);

struct Reduction {
  std::string_view name;
  ir::Op op;
  bool ranked = false;  // a rank stands before the indices: rank(k; i = lo..hi)
};
const Reduction* find_reduction(std::string_view);

// "mirror", "extend", ... (constant takes its value beside).
std::optional<BorderMode> find_mode(std::string_view);
std::vector<std::string> mode_words();
// What another library calls a mode ("replicate"), in our word; "" when unknown.
std::string_view mode_synonym(std::string_view);

}  // namespace tessera::lang
