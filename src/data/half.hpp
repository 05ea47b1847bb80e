// IEEE 754 binary16 by its bits, for hosts and compilers without a half type. Both directions are exact in the sense of
// the standard: float -> half rounds to nearest, ties to even; NaN stays NaN, overflow gives infinity.
#pragma once

#include <bit>
#include <cstdint>

namespace tessera {

inline float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fu;
  const std::uint32_t fraction = h & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

inline std::uint16_t float_to_half(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds past the largest half
  if (magnitude < 0x38800000u) {                                                    // below 2^-14: subnormal or zero
    if (magnitude < 0x33000000u) return sign;                                       // below 2^-25: rounds to zero
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t shift = 126 - (magnitude >> 23);  // 14 to 24: so that the unit is 2^-24
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    return static_cast<std::uint16_t>(sign | (kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0)));
  }
  const std::uint32_t rebased = magnitude - (112u << 23);
  const std::uint32_t rounded = rebased + 0xfffu + ((rebased >> 13) & 1);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

// double -> half without rounding twice: the float in between is rounded to odd, which keeps every tie visible.
inline std::uint16_t double_to_half(double d) {
  const auto f = static_cast<float>(d);
  auto bits = std::bit_cast<std::uint32_t>(f);
  if (static_cast<double>(f) != d && d == d && (bits & 0x7fffffffu) < 0x7f800000u) {
    const double a = d < 0 ? -d : d;
    const double b = f < 0 ? -static_cast<double>(f) : static_cast<double>(f);
    if (b > a) --bits;  // toward zero ...
    bits |= 1;          // ... then odd
  }
  return float_to_half(std::bit_cast<float>(bits));
}

}  // namespace tessera
