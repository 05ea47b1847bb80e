// Rows that ranks give each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/execute/exchange.hpp"
#include "data/regions.hpp"
#include "io/regions/scratch.hpp"
#include "ranks/thread_ranks.hpp"

namespace tessera::cli {
namespace {

Region between(const Shape& shape, i64 begin, i64 end) {
  Region rows{std::vector<i64>(shape.size()), shape};
  rows.begin[0] = std::clamp<i64>(begin, 0, shape[0]);
  rows.end[0] = std::clamp<i64>(end, 0, shape[0]);
  return rows;
}

// Every rank has its share of the numbers 0, 1, ...; afterwards it has what it reads, and nothing else was sent.
void expect_rows(const Shape& shape, int count, const std::vector<Region>& reads) {
  const std::string beside = (std::filesystem::temp_directory_path() / "tessera-exchange").string();
  const Format format(ElementType::f64);
  const i64 row = element_count(shape) / shape[0];
  ranks::on_threads(count, [&](ranks::Ranks& ranks) {
    const auto kept = std::make_shared<io::Scratch>(beside, format, shape);
    io::Scratch& image = *kept;
    const Region own = rows_of(shape, ranks.rank(), count);
    const auto filled = [&](const Region& rows) {
      Array array(format, data::shape_of(rows));
      for (i64 k = 0; k < array.count(); ++k) array.as<double>()[k] = static_cast<double>(rows.begin[0] * row + k + 1);
      return array;
    };
    if (own.begin[0] < own.end[0]) image.write(own, filled(own));
    Exchange(ranks, {{kept, format, reads}, {kept, format, reads}}).finish();  // twice: the second one changes nothing
    const Region& read = reads[static_cast<std::size_t>(ranks.rank())];
    if (!read.begin.empty() && read.begin[0] < read.end[0]) {
      const Array expected = filled(read), found(format, data::shape_of(read));
      image.read(read, found);
      EXPECT_TRUE(std::equal(expected.as<double>(), expected.as<double>() + expected.count(), found.as<double>()))
          << ranks.rank();
    }
    const Array all(format, shape);
    image.read(between(shape, 0, shape[0]), all);
    for (i64 k = 0; k < all.count(); k += std::max<i64>(row / 3, 1)) {
      const i64 at = k / row;
      const bool has =
          (at >= own.begin[0] && at < own.end[0]) || (!read.begin.empty() && at >= read.begin[0] && at < read.end[0]);
      EXPECT_EQ(all.as<double>()[k], has ? static_cast<double>(k + 1) : 0) << ranks.rank() << " " << k;
    }
  });
}

TEST(Exchange, BringsTheRowsThatAreRead) {
  for (const Shape& shape : {Shape{17, 5}, Shape{11}, Shape{9, 3, 4}})
    for (const int count : {1, 2, 3, 5})
      for (const i64 around : {0, 1, 4, 100}) {
        std::vector<Region> reads;
        for (int r = 0; r < count; ++r) {
          const Region own = rows_of(shape, r, count);
          reads.push_back(between(shape, own.begin[0] - around, own.end[0] + around));
        }
        expect_rows(shape, count, reads);
      }
}

TEST(Exchange, TakesRanksWithoutRowsAndRanksThatReadNothing) {
  const Shape shape = {3, 4};  // of five ranks two have no row
  expect_rows(shape, 5, std::vector<Region>(5));
  expect_rows(shape, 5, std::vector<Region>(5, between(shape, 0, 3)));
  std::vector<Region> reads(5);
  reads[0] = between(shape, 2, 3);
  reads[3] = between(shape, 0, 2);
  expect_rows(shape, 5, reads);
}

// A row that is larger than a message goes in several.
TEST(Exchange, OfLargeRowsGoesInParts) {
  const Shape shape = {2, 1100, 2100};
  expect_rows(shape, 2, std::vector<Region>(2, between(shape, 0, 2)));
}

}  // namespace
}  // namespace tessera::cli
