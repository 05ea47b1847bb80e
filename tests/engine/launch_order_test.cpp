// Which kernels may run beside each other, against every order that they could then run in.
#include "engine/device/launch_order.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera::engine {
namespace {

Touched at(std::uintptr_t begin, std::uintptr_t end) {
  return {begin, end};
}

TEST(LaunchOrder, CopiesOfALevelRunBesideEachOther) {
  // Three colours down two levels: arrays 0, 1, 2 to 10, 11, 12 to 20, 21, 22.
  std::vector<Touching> kernels;
  for (std::uintptr_t level = 0; level < 2; ++level)
    for (std::uintptr_t c = 0; c < 3; ++c) {
      const std::uintptr_t from = 10 * level + c;
      kernels.push_back({{at(from, from + 1)}, {at(from + 10, from + 11)}, true});
    }
  using enum LaunchOrder;
  EXPECT_EQ(launch_orders(kernels), (std::vector{leading, beside, beside, leading, beside, beside}));
}

TEST(LaunchOrder, AChainRunsInOrder) {
  std::vector<Touching> kernels;
  for (std::uintptr_t k = 0; k < 4; ++k) kernels.push_back({{at(k, k + 1)}, {at(k + 1, k + 2)}, true});
  EXPECT_EQ(launch_orders(kernels), std::vector(4, LaunchOrder::after));
}

TEST(LaunchOrder, NobodyOverwritesWhatIsRead) {
  EXPECT_EQ(launch_orders({{{at(0, 4)}, {at(8, 9)}, true}, {{at(5, 6)}, {at(3, 4)}, true}}),
            std::vector(2, LaunchOrder::after));
  EXPECT_EQ(launch_orders({{{at(0, 4)}, {at(8, 9)}, true}, {{at(5, 6)}, {at(8, 9)}, true}}),
            std::vector(2, LaunchOrder::after));
  using enum LaunchOrder;
  EXPECT_EQ(launch_orders({{{at(0, 4)}, {at(8, 9)}, true}, {{at(0, 4)}, {at(4, 8)}, true}}),
            (std::vector{leading, beside}));
}

TEST(LaunchOrder, PartsOfAWholeShareNothing) {
  using enum LaunchOrder;
  const Touched red{0, 99, 7, 1}, green{0, 99, 7, 2}, whole{0, 99};
  EXPECT_EQ(launch_orders({{{}, {red}, true}, {{}, {green}, true}, {{whole}, {at(100, 101)}, true}}),
            (std::vector{leading, beside, after}));
  EXPECT_EQ(launch_orders({{{}, {red}, true}, {{red}, {at(100, 101)}, true}}), std::vector(2, after));
}

TEST(LaunchOrder, KernelsThatDoNotKnowAreWaitedFor) {
  using enum LaunchOrder;
  const auto kernel = [](std::uintptr_t k, bool early) { return Touching{{}, {at(k, k + 1)}, early}; };
  EXPECT_EQ(launch_orders({kernel(0, true), kernel(1, false), kernel(2, true), kernel(3, true)}),
            (std::vector{after, after, leading, beside}));
}

// The rules of the device, spelled out: a kernel may begin once the one before it has said so, and has to come after
// everything that it depends on.
TEST(LaunchOrder, NothingBeginsBeforeWhatItNeeds) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Touching> kernels(2 + random() % 8);
    const auto some = [&] {
      const std::uintptr_t begin = random() % 12;
      return Touched{begin, begin + 1 + random() % 2, 0, 0};
    };
    for (Touching& k : kernels) {
      k.early = random() % 8 > 0;
      for (auto n = random() % 3; n > 0; --n) k.reads.push_back(some());
      k.writes.push_back(some());
    }
    const std::vector<LaunchOrder> orders = launch_orders(kernels);
    // ended[k]: the kernels that have certainly ended when k reads and writes; `there`: when it may be launched.
    const std::size_t n = kernels.size();
    std::vector<std::vector<bool>> ended(n, std::vector<bool>(n)), said(n, std::vector<bool>(n));
    for (std::size_t k = 0; k < n; ++k) {
      std::vector<bool> launched(n), all_before(n);
      for (std::size_t j = 0; j < k; ++j) all_before[j] = true;
      if (k > 0) launched = said[k - 1];
      const bool waits = !kernels[k].early || orders[k] != LaunchOrder::beside;
      // The end of the one before is that of all, if it waits for them somewhere: every kernel does.
      ended[k] = waits ? all_before : launched;
      said[k] = !kernels[k].early ? all_before : orders[k] == LaunchOrder::leading ? ended[k] : launched;
      if (!kernels[k].early) said[k][k] = true;
      for (std::size_t j = 0; j < k; ++j) {
        if (ended[k][j]) continue;
        const auto meet = [](const std::vector<Touched>& a, const std::vector<Touched>& b) {
          for (const Touched& x : a)
            for (const Touched& y : b)
              if (x.begin < y.end && y.begin < x.end) return true;
          return false;
        };
        ASSERT_FALSE(meet(kernels[j].writes, kernels[k].reads) || meet(kernels[j].reads, kernels[k].writes) ||
                     meet(kernels[j].writes, kernels[k].writes))
            << "round " << round << ": " << k << " does not wait for " << j;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::engine
