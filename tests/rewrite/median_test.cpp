// What medians become. Their values are for the differential tests.
#include <gtest/gtest.h>

#include "support/programs.hpp"

namespace tessera {
namespace {

plan::Plan median(const std::string& type, int rows, int columns) {
  std::string text = "stencil f(vector#2 " + type + " X) { return median(i = 1.." + std::to_string(rows) + ", j = 1.." +
                     std::to_string(columns) + ") (X@[i,j]); } parameter M, N; vector#2 " + type +
                     " a[M,N]; return f(a:clamped);";
  return planned({"median", text, {{2160, 3840}}}, {}).plan;
}

double operations(const std::string& type, int rows, int columns) {
  double n = 0;
  for (const plan::Group& g : median(type, rows, columns).groups) n += g.operations;
  return n;
}

TEST(Median, RowsShareWhatTheySort) {
  // 12 minima and maxima a point, 6 for each of 6 rows that a block of 4 sees, and half for each of their 18 loads;
  // floats have their NaNs looked for besides.
  EXPECT_DOUBLE_EQ(operations("int32", 3, 3), 12 + 6 * 6 / 4.0 + 0.5 * 18 / 4.0);
  EXPECT_LT(operations("float", 3, 3), 1.5 * operations("int32", 3, 3));
  EXPECT_LT(operations("int32", 5, 5), 160);
  EXPECT_LT(operations("float", 5, 5), 1.15 * operations("int32", 5, 5));
  EXPECT_LT(operations("uint8", 7, 7), 700);
  EXPECT_LT(operations("int32", 2, 3), 15);
}

TEST(Median, LargeWindowsAreSearched) {
  auto searched = [](const std::string& type, int n) {
    for (const std::string& remark : median(type, n, n).remarks)
      if (remark.find("bit by bit") != std::string::npos) return true;
    return false;
  };
  EXPECT_FALSE(searched("uint8", 11));
  EXPECT_TRUE(searched("uint8", 13));
  EXPECT_FALSE(searched("float", 15));
  EXPECT_TRUE(searched("float", 90));
}

}  // namespace
}  // namespace tessera
