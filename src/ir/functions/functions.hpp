// The mathematical functions: their values, and the C text that defines them.
//
// exp, sin, pow and their like are defined once, to the bit, by the text of functions_f32.c.inc and
// functions_f64.c.inc. The text is compiled here as scalar C++ for the interpreter, and printed into emitted code for
// scalars and vectors, so that `exact` gives the same bits on every device. Emitted code has to be compiled without
// contraction for that
// (-ffp-contract=off, --fmad=false, FP_CONTRACT OFF) and without reassociation: emitted files see to that themselves
// (emit/c/frame.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir {

// The value of a function (is_function); `b` is the second operand of pow, atan2, hypot and fmod.
float call_function(Op, float a, float b);
double call_function(Op, double a, double b);

// One section of the text: a function, or a few that belong together, with the comment above it.
struct FunctionSection {
  std::string_view name;
  std::string_view text;
  std::vector<std::string_view> needs;  // sections that it calls
};

// The whole text for f32 or f64, with the list of macros that it needs on top.
std::string_view functions_text(ElementType);
// The sections that `op` needs, callees first, its own last.
std::vector<FunctionSection> sections_for(Op, ElementType);

enum class FunctionDialect : std::uint8_t { c, cuda, opencl };

struct FunctionUse {
  Op op;
  ElementType type;  // f32 or f64
  int lanes = 1;     // more than 1: a vector of vector_size(lanes * size), dialect c alone (GCC and Clang)
  auto operator<=>(const FunctionUse&) const = default;
};

// "tsr_exp_f32", "tsr_exp_f32x8".
std::string function_name(Op, ElementType, int lanes = 1);
// In dialect c, what a product of floats stands in: a macro that is nothing, or holds it in a register (of a scalar, or
// of so many bytes) or in memory to keep it out of sums. Who defines tsr_product_1 before the text defines all of them.
std::string product_name(int bytes, int lanes);
// The definitions of these functions and of all that they call, each once: complete text that includes nothing and
// leaves no macro defined. Vector parameters are of types  float __attribute__((vector_size(4 * lanes)))  and the like.
// `fuses`: products that sums take are rounded once, by what stands before: tsr_fused_f32x8 in C (not under TSR_EXACT),
// fma in CUDA, tsr_fused in OpenCL.
std::string functions_source(FunctionDialect, std::vector<FunctionUse>, bool fuses = false);

}  // namespace tessera::ir
