// Index maps against their definition: walk outward one step at a time and write the pattern down.
#include "data/border.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

std::string pattern(BorderMode mode, i64 n, i64 from, i64 to) {
  std::string out;
  for (i64 i = from; i < to; ++i) {
    const i64 k = map_index(mode, i, n);
    out += k < 0 ? '.' : static_cast<char>('a' + k);
  }
  return out;
}

TEST(Border, follows_the_patterns) {
  EXPECT_EQ(pattern(BorderMode::clamp, 8, -3, 11), "aaaabcdefghhhh");
  EXPECT_EQ(pattern(BorderMode::mirror, 8, -3, 11), "dcbabcdefghgfe");
  EXPECT_EQ(pattern(BorderMode::symmetric, 8, -3, 11), "cbaabcdefghhgf");
  EXPECT_EQ(pattern(BorderMode::wrap, 8, -3, 11), "fghabcdefghabc");
  EXPECT_EQ(pattern(BorderMode::constant, 8, -3, 11), "...abcdefgh...");
  EXPECT_EQ(pattern(BorderMode::none, 3, -1, 4), ".abc.");
}

TEST(Border, reflects_more_than_once) {
  EXPECT_EQ(pattern(BorderMode::mirror, 3, -7, 10), "bcbabcbabcbabcbab");
  EXPECT_EQ(pattern(BorderMode::symmetric, 2, -5, 8), "aabbaabbaabba");
  EXPECT_EQ(pattern(BorderMode::mirror, 2, -4, 6), "ababababab");
}

TEST(Border, has_one_answer_for_one_element) {
  for (const BorderMode mode : {BorderMode::clamp, BorderMode::mirror, BorderMode::symmetric, BorderMode::wrap}) {
    for (const i64 i : {i64{-5}, i64{-1}, i64{0}, i64{1}, i64{7}, INT64_MIN, INT64_MAX}) {
      EXPECT_EQ(map_index(mode, i, 1), 0) << name_of(mode) << " " << i;
    }
  }
}

// Far outside, every map is periodic: adding whole periods changes nothing.
TEST(Border, is_periodic_at_any_distance) {
  for (i64 n = 2; n < 20; ++n) {
    for (i64 i = -50; i < 50; ++i) {
      for (const i64 turns : {i64{1}, i64{1000003}, i64{1} << 50}) {
        EXPECT_EQ(map_index(BorderMode::wrap, i, n), map_index(BorderMode::wrap, i + turns * n, n));
        EXPECT_EQ(map_index(BorderMode::symmetric, i, n), map_index(BorderMode::symmetric, i - turns * 2 * n, n));
        EXPECT_EQ(map_index(BorderMode::mirror, i, n), map_index(BorderMode::mirror, i + turns * 2 * (n - 1), n));
      }
    }
  }
}

TEST(Border, stays_inside_everywhere) {
  for (const BorderMode mode : {BorderMode::clamp, BorderMode::mirror, BorderMode::symmetric, BorderMode::wrap}) {
    for (const i64 n : {i64{1}, i64{2}, i64{3}, i64{1000}, i64{1} << 40}) {
      for (const i64 i : {INT64_MIN, INT64_MIN + 1, i64{-1}, n, n + 1, INT64_MAX - 1, INT64_MAX}) {
        const i64 k = map_index(mode, i, n);
        EXPECT_GE(k, 0);
        EXPECT_LT(k, n);
      }
    }
  }
}

TEST(Border, has_the_names_of_the_language) {
  EXPECT_EQ(name_of(BorderMode::clamp), "clamped");
  EXPECT_EQ(name_of(BorderMode::mirror), "mirror");
  EXPECT_EQ(name_of(BorderMode::constant), "constant");
}

}  // namespace
}  // namespace tessera
