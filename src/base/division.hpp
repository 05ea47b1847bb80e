// Quotients of indices, which may be negative: C++ rounds them towards zero, footprints need them rounded down or up.
#pragma once

#include <cstdint>

namespace tessera::base {

// b > 0; right for every a.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}
// The first multiple of b that is no less.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_divide(a, b) * b;
}

}  // namespace tessera::base
