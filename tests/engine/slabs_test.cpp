// Which rows a slab holds: against all indices, mapped one by one.
#include "engine/device/slabs.hpp"

#include <gtest/gtest.h>

#include "data/border.hpp"

namespace tessera::engine {
namespace {

TEST(Slabs, MappedRowsHoldEveryIndex) {
  for (i64 n = 1; n < 8; ++n)
    for (i64 lo = -20; lo < 20; ++lo)
      for (i64 hi = lo; hi < 20; ++hi)
        for (const BorderMode mode : {BorderMode::clamp, BorderMode::mirror, BorderMode::symmetric, BorderMode::wrap}) {
          const bool reflects = mode == BorderMode::mirror || mode == BorderMode::symmetric;
          const RowRange rows = mapped_rows(lo, hi, n, reflects, mode == BorderMode::wrap);
          ASSERT_GE(rows.first, 0);
          ASSERT_LE(rows.last, n);
          for (i64 i = lo; i <= hi; ++i) {
            const i64 m = map_index(mode, i, n);
            ASSERT_TRUE(m >= rows.first && m < rows.last) << n << " " << lo << " " << hi << " " << i << " " << m;
          }
        }
}

TEST(Slabs, MappedRowsAreNoMoreThanThereAre) {
  EXPECT_EQ(mapped_rows(3, 7, 100, true, true), (RowRange{3, 8}));
  EXPECT_EQ(mapped_rows(-2, 7, 100, false, false), (RowRange{0, 8}));
  EXPECT_EQ(mapped_rows(95, 103, 100, true, false), (RowRange{95, 100}));
  EXPECT_EQ(mapped_rows(98, 103, 100, true, false), (RowRange{95, 100}));
  EXPECT_EQ(mapped_rows(-1, 3, 100, false, true), (RowRange{0, 100}));
}

}  // namespace
}  // namespace tessera::engine
