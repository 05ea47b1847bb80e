// binary16: all 65536 values there and back, and rounding at every tie between neighbours.
#include "data/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

bool is_nan(std::uint32_t h) {
  return (h & 0x7c00u) == 0x7c00u && (h & 0x3ffu) != 0;
}

TEST(Half, round_trips_every_value) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float f = half_to_float(static_cast<std::uint16_t>(h));
    if (is_nan(h)) {
      EXPECT_TRUE(std::isnan(f));
      EXPECT_TRUE(is_nan(float_to_half(f)));
    } else {
      EXPECT_EQ(float_to_half(f), h);
    }
  }
}

TEST(Half, knows_its_landmarks) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_to_half(65519.99f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(1e-30f), 0);
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
}

TEST(Half, rounds_ties_to_even) {
  for (std::uint32_t h = 0; h < 0x7bff; ++h) {
    const float a = half_to_float(static_cast<std::uint16_t>(h)), b = half_to_float(static_cast<std::uint16_t>(h + 1));
    const float middle = (a + b) / 2;  // exact in float
    EXPECT_EQ(float_to_half(middle), h + (h & 1)) << h;
    EXPECT_EQ(float_to_half(std::nextafter(middle, a)), h);
    EXPECT_EQ(float_to_half(std::nextafter(middle, b)), h + 1);
  }
}

TEST(Half, rounds_double_once) {
  for (std::uint32_t h = 0; h < 0x7bff; h += 13) {
    const double a = half_to_float(static_cast<std::uint16_t>(h)), b = half_to_float(static_cast<std::uint16_t>(h + 1));
    const double middle = (a + b) / 2;
    EXPECT_EQ(double_to_half(middle), h + (h & 1));
    // As float these are ties again; the double is not.
    EXPECT_EQ(double_to_half(std::nextafter(middle, a)), h);
    EXPECT_EQ(double_to_half(std::nextafter(middle, b)), h + 1);
    EXPECT_EQ(double_to_half(-std::nextafter(middle, b)), (h + 1) | 0x8000);
  }
  EXPECT_EQ(double_to_half(1e300), 0x7c00);
  EXPECT_EQ(double_to_half(-1e300), 0xfc00);
  EXPECT_TRUE(is_nan(double_to_half(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace tessera
