// The functions for the interpreter: the text compiled as scalar C++, without contraction.
#include "ir/functions/functions.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera::ir {
namespace {

#define FN [[maybe_unused]] inline
#define K(c) (static_cast<F>(c))
#define KI(c) (static_cast<I>(c))
#define BITS(x) (std::bit_cast<I>(x))
#define FLOAT(i) (std::bit_cast<F>(i))
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define SELECTI(m, a, b) ((m) ? (a) : (b))
#define SQRT(x) (std::sqrt(x))
#define MULADD(a, b, c) ((a) * (b) + (c))
#define TO_FLOAT(i) (static_cast<F>(i))
#define ANY(m) (m)
#define NAME(x) text_##x

namespace single {
using F = float;
using I = std::int32_t;
#include "ir/functions/functions_f32.c.inc"
}  // namespace single

namespace twofold {
using F = double;
using I = std::int64_t;
#include "ir/functions/functions_f64.c.inc"
}  // namespace twofold

// X(function, operands)
// clang-format off
#define TSR_FUNCTIONS(X)                                                                                              \
  X(sqrt, (a)) X(exp, (a)) X(log, (a)) X(sin, (a)) X(cos, (a)) X(tan, (a)) X(asin, (a)) X(acos, (a)) X(atan, (a))     \
  X(sinh, (a)) X(cosh, (a)) X(tanh, (a)) X(fast_exp, (a)) X(exp2, (a)) X(log2, (a)) X(log10, (a)) X(cbrt, (a)) X(floor, (a))           \
  X(ceil, (a)) X(round, (a)) X(trunc, (a)) X(pow, (a, b)) X(atan2, (a, b)) X(hypot, (a, b)) X(fmod, (a, b))
// clang-format on

[[noreturn]] void no_function(Op op) {
  throw Error(ErrorClass::internal, "'" + std::string(name_of(op)) + "' is not a function of floats");
}

}  // namespace

float call_function(Op op, float a, float b) {
  switch (op) {
#define X(name, operands) \
  case Op::name:          \
    return single::text_##name operands;
    TSR_FUNCTIONS(X)
#undef X
    default:
      no_function(op);
  }
}

double call_function(Op op, double a, double b) {
  switch (op) {
#define X(name, operands) \
  case Op::name:          \
    return twofold::text_##name operands;
    TSR_FUNCTIONS(X)
#undef X
    default:
      no_function(op);
  }
}

}  // namespace tessera::ir
