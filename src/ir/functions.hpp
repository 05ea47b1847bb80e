// The mathematical functions: their values, and the C text that defines them.
//
// exp, sin, pow and their like are defined once, to the bit, by the text of functions_f32.c.inc and
// functions_f64.c.inc. The text is compiled here as scalar C++ for the interpreter, and printed into emitted code for
// scalars and vectors, so that `exact` gives the same bits on every device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir {

// The value of a function (is_function); `b` is the second operand of pow, atan2, hypot and fmod.
float call_function(Op, float a, float b);
double call_function(Op, double a, double b);

}  // namespace tessera::ir
