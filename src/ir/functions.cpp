// The functions for the interpreter.
#include "ir/functions.hpp"

#include <cmath>

namespace tessera::ir {
namespace {

template <class T>
T call(Op op, T a, T b) {
  switch (op) {
    case Op::sqrt:
      return std::sqrt(a);
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tan:
      return std::tan(a);
    case Op::asin:
      return std::asin(a);
    case Op::acos:
      return std::acos(a);
    case Op::atan:
      return std::atan(a);
    case Op::sinh:
      return std::sinh(a);
    case Op::cosh:
      return std::cosh(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::exp2:
      return std::exp2(a);
    case Op::log2:
      return std::log2(a);
    case Op::log10:
      return std::log10(a);
    case Op::cbrt:
      return std::cbrt(a);
    case Op::floor:
      return std::floor(a);
    case Op::ceil:
      return std::ceil(a);
    case Op::round:
      return std::round(a);
    case Op::trunc:
      return std::trunc(a);
    case Op::pow:
      return std::pow(a, b);
    case Op::atan2:
      return std::atan2(a, b);
    case Op::hypot:
      return std::hypot(a, b);
    case Op::fmod:
      return std::fmod(a, b);
    default:
      throw Error(ErrorClass::internal, "'" + std::string(name_of(op)) + "' is not a function of floats");
  }
}

}  // namespace

float call_function(Op op, float a, float b) {
  return call(op, a, b);
}
double call_function(Op op, double a, double b) {
  return call(op, a, b);
}

}  // namespace tessera::ir
