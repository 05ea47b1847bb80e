#include "base/division.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::base {
namespace {

TEST(Division, rounds_down_and_up) {
  for (int a = -40; a <= 40; ++a)
    for (int b = 1; b <= 9; ++b) {
      EXPECT_EQ(floor_divide(a, b), std::floor(static_cast<double>(a) / b)) << a << " " << b;
      EXPECT_EQ(ceil_divide(a, b), std::ceil(static_cast<double>(a) / b)) << a << " " << b;
    }
  EXPECT_EQ(floor_divide(INT64_MIN, 2), INT64_MIN / 2);
  EXPECT_EQ(ceil_divide(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

}  // namespace
}  // namespace tessera::base
