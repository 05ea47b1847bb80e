// The languages of the C family as tables: what one printer of loop nests (printer.hpp) needs to know of each.
//
// A dialect is a value: c/dialect.cpp, device/cuda/dialect.cpp and device/opencl/dialect.cpp hold one each. What all
// spell alike stands in the printer; what they spell differently is a field here; run-time functions that nests call
// are rows of one table (ir/nest/library.cpp), defined by the text of the dialect's prelude.
//
// Patterns are text with named holes, as fmt has them:
//   {a} {b} {c} {m}  operands
//   {op}             an operator: +, <
//   {type}           the type of the result, or of what is declared: f32x8, u8*
//   {unsigned}       the same without a sign
//   {lane}           the type of its elements: f32
//   {product}        what keeps a product out of sums (ir::product_name)
//   {word}           min, max
// and those that the comment of a field names.
//
// HLS is none of them: a circuit is a netlist, whose signals have exact widths, and neither loads nor loops nor calls
// (hls/values.cpp). It shares the operators.
#pragma once

#include <string>
#include <string_view>

#include "ir/functions/functions.hpp"
#include "ir/nest/nest.hpp"

namespace tessera::emit {

struct Access;

using Pattern = std::string_view;

// Of f32 and f64.
struct OfReals {
  Pattern f32 = {}, f64 = {};
  Pattern of(ir::nest::Lane lane) const { return lane == ir::nest::Lane::f64 ? f64 : f32; }
};

// Operations of one class of types.
struct Arithmetic {
  Pattern neg = "(-{a})";
  Pattern bit_not = "(~{a})";
  Pattern sum = "({a} {op} {b})";  // and difference
  Pattern mul = "({a} {op} {b})";
  Pattern shl = "({a} {op} {b})";
  Pattern infix = "({a} {op} {b})";  // the others
};

// What kernels have beside statements.
struct KernelWords {
  // Up to the parameters: {linkage} {name}; {threads} of a block, {x} {y} {z} along its dimensions; {at_once}: ", 3"
  // blocks of a multiprocessor, or nothing.
  Pattern head = {};
  Pattern restricted = {};               // behind the star of a pointer
  Pattern begin = {};                    // first in kernels that may overlap with others: {order}
  Pattern shared = {};                   // declares {bytes} of shared memory
  Pattern contraction = {};              // first of all: a product and a sum stay two operations
  OfReals to_bits = {}, from_bits = {};  // functions between floats and integers
  // Text before kernels, and before those with doubles.
  const std::string_view *prelude = nullptr, *doubles = nullptr;
  std::string (*access)(const Access&) = nullptr;  // the helper of neighbours in memory (device/access.hpp)
};

struct Dialect {
  // Types
  bool vectors = false;              // those of GCC and Clang; else a value has one lane
  bool halves_are_bits = false;      // f16 is an integer, which tsr_from_half and tsr_half_f32 convert
  std::string_view pointed_to = {};  // before the type that a pointer points to: an address space

  // Numbers
  std::string_view long_suffix = "LL";
  bool hexadecimal = false;      // floats; else in decimal, with the digits that tell one from its neighbours
  bool negatives_apart = false;  // in parentheses, but for i64
  OfReals nan = {}, infinity = {};

  // Tables of constants: {type} {name}. Where the names of NaN and infinity are no constants, a table with such is one
  // of integers, {name}_bits, and `table_of_bits` says that {name} is these as {type}.
  Pattern table = {}, table_of_bits = {};

  // Expressions
  Pattern pointer_of_pointer = "(({type}){a})", pointer_of_integer = "(({type}){a})";
  Pattern flag = "({a} {op} {b})";  // a comparison of scalars
  Pattern choice_of_reals = "({m} ? {a} : {b})";
  Pattern fused = {};  // of scalars
  // The lesser or the greater of two scalar floats where it is open what comes of NaNs. `open_is_instruction`: one that
  // gives the number beside a NaN, and either of two zeros; else a comparison, which gives {b} for a NaN and for its
  // equal.
  OfReals open_extreme = {};
  bool open_is_instruction = false;
  Arithmetic reals = {};
  Arithmetic halves = {};
  Arithmetic longs = {};
  Arithmetic wrapping = {};  // i32, and vectors of signed integers
  Arithmetic shorts = {};    // the other integers of 32 bits and less

  // Statements
  Pattern scalar_stream = {};  // a store past the caches: {to} {index} {a}; empty: as any other

  ir::FunctionDialect functions = ir::FunctionDialect::c;  // of mathematics
  KernelWords kernel = {};
};

extern const Dialect c_dialect, cuda_dialect, opencl_dialect;

std::string spell(const ir::nest::Type&);      // "f32x16", "u8*"; "const ..." is the caller's
std::string_view infix(ir::Op);                // "+" ... "!="; "" of operations that are no infix
bool compares(ir::Op);                         // lt le eq ne
ir::nest::Lane unsigned_lane(ir::nest::Lane);  // of the same width

}  // namespace tessera::emit
