// Locks that a thread holds while the process is forked.
#include "base/process/fork.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "base/process/sanitizer.hpp"

namespace tessera::base {
namespace {

// ThreadSanitizer lets a child start no threads where the process had several.
constexpr bool children_have_threads = !under_thread_sanitizer;

// What a child that runs the function ends with; a signal where it hangs.
template <class F>
int status_of_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(f() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Fork, LocksOfThreadsThatAreGoneAreMadeAnew) {
  Mutex mutex;
  std::map<int, int> known{{1, 1}};
  std::atomic<bool> held{false}, go{false};
  std::thread other([&] {
    const Lock lock(mutex, known);
    held = true;
    while (!go) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  const int status = status_of_child([&] {
    const unsigned before = forks();
    {
      const Lock lock(mutex, known);
      if (!known.empty() || before == 0) return false;
      known[2] = 2;
    }
    std::atomic<int> seen{0};
    const auto see = [&] {
      const Lock lock(mutex, known);
      seen += static_cast<int>(known.size());
    };
    std::vector<std::jthread> threads;
    for (int k = 0; k < 4; ++k)
      if (children_have_threads)
        threads.emplace_back(see);
      else
        see();
    threads.clear();
    if (seen != 4) return false;
    return WEXITSTATUS(status_of_child([&] {
             const Lock lock(mutex, known);
             return known.size() == 1;
           })) == 0;
  });
  go = true;
  other.join();
  EXPECT_EQ(status, 0);
  const Lock lock(mutex, known);
  EXPECT_EQ(known.size(), 1U);
  EXPECT_EQ(known[1], 1);
}

TEST(Fork, WhatAThreadWasMakingIsMadeAgain) {
  static constinit Once<std::vector<int>> once;
  std::atomic<bool> making{false}, go{false};
  const auto make = [&] {
    making = true;
    while (!go) std::this_thread::yield();
    return std::vector<int>{1, 2};
  };
  std::thread other([&] { once.get(make); });
  while (!making) std::this_thread::yield();
  const int status = status_of_child([&] { return once.get([] { return std::vector<int>{3}; }).front() == 3; });
  go = true;
  other.join();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(once.get(make).size(), 2U);
}

TEST(Fork, LocksThatNobodyHoldsStayAsTheyAre) {
  Mutex mutex;
  std::vector<int> known{1, 2, 3};
  {
    const Lock lock(mutex, known);
  }
  EXPECT_EQ(status_of_child([&] {
              std::atomic<int> seen{0};
              std::vector<std::jthread> threads;
              for (int k = 0; k < 8; ++k)
                threads.emplace_back([&] {
                  const Lock lock(mutex, known);
                  seen += static_cast<int>(known.size());
                });
              threads.clear();
              return seen == 24;
            }),
            0);
  EXPECT_EQ(forks(), 0U);
}

}  // namespace
}  // namespace tessera::base
