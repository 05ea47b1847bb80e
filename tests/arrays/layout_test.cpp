#include "data/layout.hpp"

#include <gtest/gtest.h>

namespace tessera::data {
namespace {

TEST(Layout, SpansReachBackWhereStridesAreNegative) {
  std::byte memory[400];
  const auto span = [&](Shape shape, std::vector<i64> strides) {
    const Span s = span_of(Array::borrow(memory, ElementType::f32, std::move(shape), std::move(strides)));
    return std::pair{s.first, s.last};
  };
  EXPECT_EQ(span({}, {}), (std::pair<i64, i64>{0, 4}));
  EXPECT_EQ(span({3, 5}, {40, 4}), (std::pair<i64, i64>{0, 100}));
  EXPECT_EQ(span({3, 5}, {-40, 4}), (std::pair<i64, i64>{-80, 20}));
  EXPECT_EQ(span({3, 5}, {-40, -4}), (std::pair<i64, i64>{-96, 4}));
  EXPECT_EQ(span({3, 5}, {0, 4}), (std::pair<i64, i64>{0, 20}));
  EXPECT_EQ(span({3, 0}, {40, 4}), (std::pair<i64, i64>{0, 0}));
}

TEST(Layout, WalksJoinWhatBothSidesHaveWithoutAGap) {
  const Walk whole = joined({4, 1, 6}, {24, 999, 4}, {24, 7, 4});
  EXPECT_EQ(whole.extents, Shape{24});
  EXPECT_EQ(whole.to, std::vector<i64>{4});
  EXPECT_EQ(whole.from, std::vector<i64>{4});
  const Walk gap = joined({2, 4, 6}, {96, 24, 4}, {192, 32, 4});
  EXPECT_EQ(gap.extents, (Shape{2, 4, 6}));
  EXPECT_EQ(joined({2, 4, 6}, {96, 24, 4}, {128, 32, 4}).extents, (Shape{8, 6}));
  EXPECT_TRUE(joined({1, 1}, {4, 4}, {4, 4}).extents.empty());
}

}  // namespace
}  // namespace tessera::data
