// The functions of the run-time library that loop nests call: a row for each one, with the types that it takes and
// gives and the dialects that have it. What nests call is one of these or a function of their module.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/nest/nest.hpp"

namespace tessera::ir::nest {

enum class Dialect : std::uint8_t { c = 1, cuda = 2, opencl = 4 };

// What the text of a module needs beside the text that all modules have.
enum class Support : std::uint8_t {
  none,
  products,  // of bytes, of the vectors that are given
  words,     // printed in place: the bytes of one field
  fields,    // copies of the fields of structs
  ranges,    // of tiles that are transformed
  guards,    // around blocks of scratch memory
  vectors,   // between memory and scalars, of the name's type and count
  matrices,  // of matrix units
};

struct Routine {
  // "<T>" stands for a lane type, "<R>" for f32 or f64, "<N>" and "<K>" for a number.
  std::string_view name;
  // "i64(i64, u8*)". A lane type, with * a pointer to such, with xN a vector of so many lanes; T, R: those of the name;
  // W: the integer of the width of R; S: any type, the same one everywhere; any: any scalar, any*: any pointer. [8]
  // behind a type: 8 such, [N]: as many as the name says, [W]: as many as words of four bytes hold N of T.
  std::string_view signature;
  int dialects;  // of Dialect
  Support support = Support::none;

  bool in(Dialect d) const { return (dialects & static_cast<int>(d)) != 0; }
};

std::span<const Routine> library();
const Routine* routine(std::string_view name);  // null: none of that name
Support support_of(std::string_view name);      // none where there is no row

// Why a call with these types is none of the routine; missing where it is one. `result` is missing for statements.
std::optional<std::string> mismatch(const Routine&, std::string_view name, const std::optional<Type>& result,
                                    const std::vector<Value>& args);

}  // namespace tessera::ir::nest
