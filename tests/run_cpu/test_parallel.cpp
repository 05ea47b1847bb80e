// Tiles on threads: every tile once, slots exclusive, errors and cancellation, and the scratch pool's bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

TEST(Parallel, CallsEveryTileOnceWithAnExclusiveSlot) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const i64 count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      std::vector<std::atomic<int>> inside(static_cast<std::size_t>(threads));
      std::atomic<int> overlaps = 0, outside = 0;
      parallel_tiles(count, threads, [&](i64 tile, int slot) {
        if (slot < 0 || slot >= threads) {
          ++outside;
          return;
        }
        if (inside[static_cast<std::size_t>(slot)].fetch_add(1) != 0) ++overlaps;
        ++calls[static_cast<std::size_t>(tile)];
        if (count < 100) std::this_thread::sleep_for(std::chrono::microseconds(50));
        inside[static_cast<std::size_t>(slot)].fetch_sub(1);
      });
      EXPECT_EQ(overlaps, 0);
      EXPECT_EQ(outside, 0);
      for (const auto& c : calls) ASSERT_EQ(c, 1) << threads << " threads, " << count << " tiles";
    }
  }
}

TEST(Parallel, UsesMoreThanOneThread) {
  // Two tiles that wait for each other end only when two threads run them.
  if (machine().cores < 2) GTEST_SKIP() << "one core";
  std::atomic<int> arrived = 0;
  std::atomic<bool> met = true;
  parallel_tiles(2, 2, [&](i64, int) {
    ++arrived;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (arrived < 2) met = false;
  });
  EXPECT_TRUE(met);
}

TEST(Parallel, RunsFromSeveralThreadsAtOnce) {
  std::atomic<i64> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int k = 0; k < 20; ++k) parallel_tiles(50, 2, [&](i64 tile, int) { sum += tile; });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, i64{4} * 20 * (49 * 50 / 2));
}

// Else short runs would end with long ones, and hear their cancellation as late.
TEST(Parallel, WaitsForNoOtherRun) {
  std::atomic<bool> end{false};
  std::atomic<int> inside{0};
  std::thread other([&] {
    parallel_tiles(2, 2, [&](i64, int) {
      ++inside;
      while (!end) std::this_thread::yield();
    });
  });
  while (inside < std::min(2, machine().cores)) std::this_thread::yield();
  std::atomic<int> calls{0};
  std::atomic<bool> done{false};
  std::thread second([&] {
    parallel_tiles(10, 2, [&](i64, int) { ++calls; });
    done = true;
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(done);
  end = true;
  second.join();
  other.join();
  EXPECT_EQ(calls, 10);
}

TEST(Parallel, CarriesTheFirstExceptionAndStops) {
  for (const int threads : {1, 2}) {
    std::atomic<i64> calls = 0;
    try {
      parallel_tiles(100000, threads, [&](i64 tile, int) {
        ++calls;
        if (tile == 10) throw std::runtime_error("tile ten");
        std::this_thread::sleep_for(std::chrono::microseconds(10));
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "tile ten");
    }
    EXPECT_LT(calls, 50000);
  }
}

TEST(Parallel, StopsBetweenTilesWhenCancelled) {
  for (const int threads : {1, 2}) {
    std::atomic<bool> cancel = false;
    std::atomic<i64> calls = 0;
    try {
      parallel_tiles(
          100000, threads,
          [&](i64, int) {
            if (++calls == 20) cancel = true;
          },
          &cancel);
      FAIL() << "not cancelled";
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::cancelled);
      EXPECT_THAT(e.message(), testing::HasSubstr("of 100000 tiles"));
    }
    EXPECT_GE(calls, 20);
    EXPECT_LT(calls, 100);
  }
}

TEST(Parallel, ReportsGrowingProgressThatEndsComplete) {
  for (const int threads : {1, 2}) {
    std::vector<i64> seen;
    std::atomic<int> inside = 0;
    bool overlapped = false;
    parallel_tiles(
        500, threads, [](i64, int) {}, nullptr,
        [&](const Progress& p) {
          overlapped |= inside.fetch_add(1) != 0;
          EXPECT_EQ(p.total, 500);
          seen.push_back(p.done);
          inside.fetch_sub(1);
        });
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.back(), 500);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_FALSE(overlapped);
  }
}

TEST(Parallel, RefusesThreadCountsThatMakeNoSense) {
  for (const int threads : {-1, 5000}) EXPECT_THROW(parallel_tiles(10, threads, [](i64, int) {}), Error) << threads;
  EXPECT_EQ(thread_count(0), machine().cores);
}

TEST(Scratch, IsAlignedReusedAndBounded) {
  release_scratch();
  std::byte* first = nullptr;
  {
    Scratch s = acquire_scratch(100000);
    first = s.data();
    EXPECT_GE(s.capacity(), 100000u);
    EXPECT_LE(s.capacity(), 125000u + 4096u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
    EXPECT_EQ(pooled_scratch(), 0u);
  }
  EXPECT_GT(pooled_scratch(), 0u);
  EXPECT_EQ(acquire_scratch(99000).data(), first);
  {
    const Scratch big = acquire_scratch(std::size_t{3} << 20);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(big.data()) % (2u << 20), 0u);
  }
  {
    std::vector<Scratch> many;
    for (int i = 0; i < 40; ++i) many.push_back(acquire_scratch(std::size_t{16} << 20));
  }
  EXPECT_LE(pooled_scratch(), std::size_t{256} << 20);
  // Where the pool is full, what came back last stays.
  acquire_scratch(std::size_t{5} << 20);
  const std::size_t full = pooled_scratch();
  EXPECT_LE(full, std::size_t{256} << 20);
  {
    const Scratch again = acquire_scratch(std::size_t{5} << 20);
    EXPECT_EQ(pooled_scratch(), full - (std::size_t{5} << 20));
  }
  release_scratch();
  EXPECT_EQ(pooled_scratch(), 0u);
  limit_pooled_scratch(1 << 20);
  acquire_scratch(std::size_t{2} << 20);
  EXPECT_EQ(pooled_scratch(), 0u);
  limit_pooled_scratch(std::size_t{256} << 20);
  acquire_scratch(std::size_t{2} << 20);
  EXPECT_EQ(pooled_scratch(), std::size_t{2} << 20);
  release_scratch();
  EXPECT_THROW(acquire_scratch(SIZE_MAX), Error);
}

TEST(Scratch, GivesEachSlotItsOwnBlock) {
  SlotScratch scratch(4, 1000);
  parallel_tiles(64, 4, [&](i64 tile, int slot) {
    auto* values = reinterpret_cast<volatile i64*>(scratch.get(slot));
    for (int i = 0; i < 125; ++i) values[i] = tile;
    for (int i = 0; i < 125; ++i)
      if (values[i] != tile) throw std::runtime_error("shared scratch");
  });
}

TEST(Machine, IsPlausible) {
  const Machine& m = machine();
  EXPECT_FALSE(m.name.empty());
  EXPECT_FALSE(m.identity.empty());
  EXPECT_GE(m.cores, 1);
  EXPECT_GE(m.l1, 8 << 10);
  EXPECT_GE(m.l2, m.l1);
  EXPECT_THAT(m.vector_bytes, testing::AnyOf(16, 32, 64));
  EXPECT_EQ(m.page & (m.page - 1), 0);
}

}  // namespace
}  // namespace tessera::run::cpu
