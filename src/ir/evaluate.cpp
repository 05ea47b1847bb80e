// The exact meaning of every scalar operation, on values that travel as doubles: 32-bit integers, halves and floats all
// fit. f32 arithmetic is done in float, so that each operation rounds once; this file is compiled without contraction.
#include <cmath>
#include <cstdint>

#include "data/half.hpp"
#include "ir/build.hpp"
#include "ir/functions/functions.hpp"

namespace tessera::ir {

IntegerLimits integer_limits(ElementType t) {
  switch (t) {
    case ElementType::boolean:
      return {0, 1};
    case ElementType::u8:
      return {0, 255};
    case ElementType::i16:
      return {-32768, 32767};
    case ElementType::u16:
      return {0, 65535};
    case ElementType::u32:
      return {0, 4294967295.0};
    default:
      return {-2147483648.0, 2147483647.0};
  }
}

namespace {

double wrap(ElementType t, std::uint64_t v) {
  switch (t) {
    case ElementType::u8:
      return static_cast<std::uint8_t>(v);
    case ElementType::i16:
      return static_cast<std::int16_t>(v);
    case ElementType::u16:
      return static_cast<std::uint16_t>(v);
    case ElementType::u32:
      return static_cast<std::uint32_t>(v);
    default:
      return static_cast<std::int32_t>(v);
  }
}

double clamp(double v, IntegerLimits r) {
  return v < r.lo ? r.lo : v > r.hi ? r.hi : v;
}

double convert_value(ElementType to, ElementType from, double v) {
  switch (to) {
    case ElementType::boolean:
      return v != 0 ? 1 : 0;
    case ElementType::f64:
      return v;
    case ElementType::f32:
      return static_cast<float>(v);
    case ElementType::f16:
      return half_to_float(double_to_half(v));
    default:
      break;
  }
  if (is_float(from)) {
    if (std::isnan(v)) return 0;
    v = clamp(std::trunc(v), integer_limits(to == ElementType::u32 ? to : ElementType::i32));
  }
  return wrap(to, static_cast<std::uint64_t>(static_cast<i64>(v)));
}

double saturate_value(ElementType to, ElementType from, double v) {
  if (is_float(from)) {
    if (std::isnan(v)) return 0;
    v = std::nearbyint(v) + 0.0;  // integers have no -0
  }
  return clamp(v, integer_limits(to));
}

// A NaN gives way to a number, and -0 is less than 0: so the order of operands says nothing.
template <class T>
T lesser(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <class T>
double float_operation(Op op, T a, T b) {
  switch (op) {
    case Op::neg:
      return -a;
    case Op::abs:
      return std::fabs(a);
    case Op::add:
      return static_cast<T>(a + b);
    case Op::sub:
      return static_cast<T>(a - b);
    case Op::mul:
      return static_cast<T>(a * b);
    case Op::div:
      return static_cast<T>(a / b);
    case Op::min:
    case Op::least:
      return lesser(a, b);
    case Op::max:
    case Op::most:
      return -lesser(-a, -b);
    default:
      return call_function(op, a, b);
  }
}

// T is the signed or unsigned 32-bit type. Sums and products are taken in 64 bits without a sign and wrapped.
template <class T>
double integer_operation(Op op, ElementType type, double x, double y) {
  const auto a = static_cast<T>(x), b = static_cast<T>(y);
  const auto ua = static_cast<std::uint64_t>(static_cast<i64>(a)), ub = static_cast<std::uint64_t>(static_cast<i64>(b));
  const auto count = static_cast<unsigned>(ub & 31);
  switch (op) {
    case Op::neg:
      return wrap(type, 0 - ua);
    case Op::bit_not:
      return wrap(type, ~ua);
    case Op::abs:
      return wrap(type, a < 0 ? 0 - ua : ua);
    case Op::add:
      return wrap(type, ua + ub);
    case Op::sub:
      return wrap(type, ua - ub);
    case Op::mul:
      return wrap(type, ua * ub);
    case Op::div:
      return b == 0 ? 0 : wrap(type, static_cast<std::uint64_t>(static_cast<i64>(a) / static_cast<i64>(b)));
    case Op::rem:
      return b == 0 ? 0 : wrap(type, static_cast<std::uint64_t>(static_cast<i64>(a) % static_cast<i64>(b)));
    case Op::min:
      return a < b ? a : b;
    case Op::max:
      return a > b ? a : b;
    case Op::bit_and:
      return wrap(type, ua & ub);
    case Op::bit_or:
      return wrap(type, ua | ub);
    case Op::bit_xor:
      return wrap(type, ua ^ ub);
    case Op::shl:
      return wrap(type, ua << count);
    case Op::shr:
      return static_cast<T>(a >> count);
    default:
      break;
  }
  throw Error(ErrorClass::internal, "'" + std::string(name_of(op)) + "' does not apply to integers");
}

double boolean_operation(Op op, bool a, bool b) {
  switch (op) {
    case Op::bit_and:
      return a && b;
    case Op::bit_or:
      return a || b;
    case Op::bit_xor:
      return a != b;
    case Op::bit_not:
      return !a;
    default:
      break;
  }
  throw Error(ErrorClass::internal, "'" + std::string(name_of(op)) + "' does not apply to bool");
}

}  // namespace

double evaluate(Op op, ElementType type, ElementType operand_type, const double* x) {
  switch (op) {
    case Op::convert:
      return convert_value(type, operand_type, x[0]);
    case Op::saturate:
      return saturate_value(type, operand_type, x[0]);
    case Op::lt:
      return x[0] < x[1];
    case Op::le:
      return x[0] <= x[1];
    case Op::eq:
      return x[0] == x[1];
    case Op::ne:
      return x[0] != x[1];
    case Op::select:
      return x[0] != 0 ? x[1] : x[2];
    default:
      break;
  }
  const double b = arity_of(op) > 1 ? x[1] : 0;
  switch (type) {
    case ElementType::f64:
      return float_operation<double>(op, x[0], b);
    case ElementType::f32:
      return float_operation<float>(op, static_cast<float>(x[0]), static_cast<float>(b));
    case ElementType::i32:
      return integer_operation<std::int32_t>(op, type, x[0], b);
    case ElementType::u32:
      return integer_operation<std::uint32_t>(op, type, x[0], b);
    case ElementType::boolean:
      return boolean_operation(op, x[0] != 0, b != 0);
    default:
      break;
  }
  throw Error(ErrorClass::internal,
              "'" + std::string(name_of(op)) + "' does not apply to " + std::string(tessera::name_of(type)));
}

}  // namespace tessera::ir
