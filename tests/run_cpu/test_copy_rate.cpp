// Rates of copies: bounded, plausible, kept, and forgotten when what was kept is no longer what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "environment.hpp"
#include "run/cpu/copy_rate.hpp"
#include "run/cpu/machine.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

double seconds_of(const auto& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(CopyRate, IsMeasuredOnceAndKept) {
  const Traffic traffic{1, 3 << 20, 1 << 20};
  EXPECT_FALSE(known_copy_rate(traffic));
  const CopyRate first = copy_rate(traffic);
  EXPECT_GT(first.rate, 0.05);
  EXPECT_LT(first.rate, 5000);
  EXPECT_EQ(first.bytes, traffic.bytes());
  const auto known = known_copy_rate(traffic);
  ASSERT_TRUE(known);
  EXPECT_NEAR(known->rate, first.rate, 1e-5 * first.rate);
  EXPECT_EQ(known->bytes, first.bytes);
  EXPECT_EQ(copy_rate(traffic).rate, known->rate);
  EXPECT_FALSE(known_copy_rate({1, 3 << 20, 2 << 20})) << "of another traffic";
  EXPECT_FALSE(known_copy_rate({2, 3 << 20, 1 << 20})) << "of more threads";
  EXPECT_GE(measure_copy_rate(traffic).rate, known->rate) << "the better one stays";
}

TEST(CopyRate, IsForgottenWhereTheFileIsDamaged) {
  const Traffic traffic{1, 1 << 19, 1 << 19};
  copy_rate(traffic);
  ASSERT_TRUE(known_copy_rate(traffic));
  for (const auto& entry : std::filesystem::directory_iterator(test_cache_folder())) {
    if (entry.path().extension() != ".blob") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.put('9');  // ten times as fast as it is
    file.put('9');
  }
  EXPECT_FALSE(known_copy_rate(traffic));
}

TEST(CopyRate, TakesWithinItsBounds) {
  for (const int threads : {1, 2}) {
    const Traffic whole = whole_copy(threads);
    EXPECT_LE(whole.bytes(), most_copied);
    CopyRate found;
    // A quiet machine takes less than half a second; others share this one with tests.
    EXPECT_LT(seconds_of([&] { found = measure_copy_rate(whole); }), 10);
    EXPECT_GT(found.rate, 0.05);
    EXPECT_LE(found.bytes, whole.bytes());
    EXPECT_GE(found.bytes, std::min(whole.bytes(), 2 * machine().l3) / 2) << "memory and not the cache";
    EXPECT_LT(seconds_of([&] { copy_rate(whole); }), 0.1);
  }
}

TEST(CopyRate, SamplesLargeTrafficInItsProportions) {
  const i64 most = whole_copy(1).bytes();
  EXPECT_EQ(sample_of({1, 1000, 50}), (Traffic{1, 1000, 50}));
  EXPECT_EQ(sample_of({2, 8 * most, 8 * most}), whole_copy(2));
  const Traffic reading = sample_of({1, i64{1} << 40, 0}), writing = sample_of({1, 3 * most, 9 * most});
  EXPECT_EQ(reading.written, 0);
  EXPECT_EQ(reading.bytes(), most);
  EXPECT_EQ(writing.read, most / 4);
  EXPECT_EQ(writing.bytes(), most);
  EXPECT_TRUE(fits_cache({1, 1000, 50}));
  EXPECT_FALSE(fits_cache({1, i64{1} << 40, 50}));
}

// Ends of blocks, pages and lines, with nothing on one side: what is touched outside would stop the process.
TEST(CopyRate, MovesEveryTraffic) {
  for (const int threads : {1, 3})
    for (const i64 read : {0, 1, 63, 64, 4097, 1 << 20, (2 << 20) + 77})
      for (const i64 written : {0, 1, 255, 4096, (1 << 20) + 1}) {
        if (read + written == 0) continue;
        const CopyRate found = measure_copy_rate({threads, read, written});
        EXPECT_EQ(found.bytes, read + written);
        EXPECT_GT(found.rate, 0);
      }
}

TEST(CopyRate, RefusesWhatIsNoTraffic) {
  for (const Traffic& wrong :
       {Traffic{1, 0, 0}, Traffic{0, 1, 1}, Traffic{1, -1, 4}, Traffic{1, 4, -1}, Traffic{1, INT64_MAX, INT64_MAX}})
    EXPECT_THROW(copy_rate(wrong), Error);
}

}  // namespace
}  // namespace tessera::run::cpu
