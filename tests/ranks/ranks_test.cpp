// Ranks speak to each other, agree on errors, share pieces; libraries that are none of Open MPI are refused.
#include "ranks/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "conversation.hpp"
#include "pieces/shares.hpp"
#include "ranks/agreement.hpp"
#include "tessera/error.hpp"
#include "thread_ranks.hpp"

namespace tessera::ranks {
namespace {

using testing::HasSubstr;

TEST(Ranks, SpeakToEachOther) {
  expect_gathering(*alone());
  EXPECT_FALSE(alone()->take(5));
  for (const int count : {1, 2, 3, 5}) on_threads(count, expect_all);
}

TEST(Ranks, ThatWaitAreInterrupted) {
  std::atomic<bool> cancel = false;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel = true;
  });
  on_threads(
      2,
      [](Ranks& ranks) {
        std::byte byte{};
        Request never = ranks.receive(std::span(&byte, 1), 1 - ranks.rank(), 9);
        try {
          ranks.wait(never);
          ADD_FAILURE();
        } catch (const Error& e) {
          EXPECT_EQ(e.error_class(), ErrorClass::cancelled);
        }
      },
      &cancel);
  later.join();
}

// MPI reads and fills them when it likes.
TEST(Requests, ThatAreGivenUpKeepTheirBytes) {
  struct Never : Request::Operation {
    bool done() override { return false; }
  };
  struct Now : Request::Operation {
    bool done() override { return true; }
  };
  std::weak_ptr<Bytes> given_up, ended;
  {
    const auto bytes = std::make_shared<Bytes>(3), others = std::make_shared<Bytes>(3);
    given_up = bytes, ended = others;
    Request never(std::make_unique<Never>()), now(std::make_unique<Now>());
    never.keep(bytes), now.keep(others);
    EXPECT_FALSE(never.done());
    EXPECT_TRUE(now.done());
    const Request moved = std::move(never);
  }
  EXPECT_FALSE(given_up.expired());
  EXPECT_TRUE(ended.expired());
}

std::string refusal(const char* library) {
  ::setenv("TESSERA_MPI", library, 1);
  try {
    start_mpi();
  } catch (const Error& e) {
    ::unsetenv("TESSERA_MPI");
    EXPECT_EQ(e.error_class(), ErrorClass::device);
    return e.what();
  }
  ADD_FAILURE() << library;
  return "";
}

TEST(Libraries, ThatAreNoneOfOpenMpiAreRefused) {
  EXPECT_THAT(refusal("/nowhere/libmpi.so.40"),
              testing::AllOf(HasSubstr("--mpi needs the library of Open MPI, libmpi.so.40, which is not here"),
                             HasSubstr("note: tried /nowhere/libmpi.so.40"), HasSubstr("package openmpi-bin")));
  EXPECT_THAT(refusal(FAKE_MPICH), testing::AllOf(HasSubstr("needs Open MPI, version 4 or 5, but "),
                                                  HasSubstr(" is MPICH Version:      4.0.2\n"),
                                                  HasSubstr("note: it has no ompi_mpi_comm_world")));
  EXPECT_THAT(refusal("libm.so.6"), HasSubstr("'libm.so.6' is another library"));
}

TEST(Environments, SayWhichRankAProcessIs) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) continue;
    ::setenv(name, "3", 1);
    EXPECT_EQ(rank_in_environment(), 3) << name;
    ::unsetenv(name);
  }
}

TEST(Agreements, SayWhatAllHave) {
  for (const int count : {1, 2, 5})
    on_threads(count, [&](Ranks& ranks) {
      Agreement agreement(ranks);
      const int own = ranks.rank();
      const std::vector<std::string> names = agreement.all_gather("rank " + std::to_string(own));
      ASSERT_EQ(names.size(), static_cast<std::size_t>(count));
      for (int r = 0; r < count; ++r) EXPECT_EQ(names[static_cast<std::size_t>(r)], "rank " + std::to_string(r));
      const std::vector<std::int64_t> numbers = {-7, std::int64_t{1} << 40};
      EXPECT_EQ(agreement.broadcast(own == 0 ? numbers : std::vector<std::int64_t>{5}), numbers);
      EXPECT_EQ(agreement.broadcast({}), std::vector<std::int64_t>());
      EXPECT_EQ(agreement.least(100 - own), 101 - count);
    });
}

std::string failed(Ranks& ranks, const std::function<void(Agreement&)>& work) {
  Agreement agreement(ranks);
  try {
    work(agreement);
    return "";
  } catch (const Error& e) {
    return agreement.failed(e).what();
  }
}

TEST(Agreements, EndWithOneError) {
  on_threads(4, [](Ranks& ranks) {
    EXPECT_EQ(failed(ranks, [](Agreement& a) { a.step(); }), "");
    // Where all fail alike, it is that error.
    EXPECT_EQ(failed(ranks, [](Agreement&) { throw Error(ErrorClass::io, "no file", {}, "make one"); }),
              "no file\nhelp: make one");
    // Of one, or of several, at different steps: the first rank's.
    EXPECT_EQ(failed(ranks,
                     [&](Agreement& a) {
                       a.step();
                       if (ranks.rank() >= 2) throw Error(ErrorClass::io, "no file " + std::to_string(ranks.rank()));
                       a.step();
                     }),
              "rank 2: no file 2");
    EXPECT_EQ(failed(ranks,
                     [&](Agreement& a) {
                       if (ranks.rank() == 0) throw Error(ErrorClass::argument, "bad");
                       a.step();
                     }),
              "rank 0: bad");
    // Whatever the others ask each other meanwhile.
    for (const int asked : {0, 1, 2, 3})
      EXPECT_EQ(failed(ranks,
                       [&](Agreement& a) {
                         if (ranks.rank() == 3) throw Error(ErrorClass::io, "no file\nhelp: make one");
                         if (asked == 0) a.broadcast({3, 4});
                         if (asked == 1) a.least(7);
                         if (asked == 2) a.part();
                         a.meet();
                       }),
                "rank 3: no file\nhelp: make one");
  });
}

TEST(Agreements, MeetAgain) {
  on_threads(3, [](Ranks& ranks) {
    Agreement agreement(ranks);
    EXPECT_TRUE(agreement.in_step());
    agreement.part();
    EXPECT_FALSE(agreement.in_step());
    agreement.meet();
    EXPECT_TRUE(agreement.in_step());
    EXPECT_EQ(agreement.least(ranks.rank()), 0);
  });
}

TEST(Agreements, TellRankZeroOfAFailureWhileItWorks) {
  std::atomic<int> told = 0;
  on_threads(3, [&](Ranks& ranks) {
    Agreement agreement(ranks);
    agreement.part();
    if (ranks.rank() == 2) {
      agreement.report(Error(ErrorClass::io, "the disk is full"));
      EXPECT_EQ(told, 1);  // it waited for that
    }
    if (ranks.rank() != 0) return;
    try {
      ranks.wait_until([&] {
        agreement.listen();
        return false;
      });
    } catch (const RankError& e) {
      EXPECT_STREQ(e.what(), "rank 2: the disk is full");
      EXPECT_EQ(e.error_class(), ErrorClass::io);
      ++told;
    }
  });
  EXPECT_EQ(told, 1);
}

TEST(Agreements, AreNotWaitedForWhereNobodyListens) {
  const auto began = std::chrono::steady_clock::now();
  on_threads(2, [&](Ranks& ranks) {
    Agreement agreement(ranks);
    if (ranks.rank() == 1) agreement.report(Error(ErrorClass::io, "the disk is full"));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

}  // namespace
}  // namespace tessera::ranks

namespace tessera::pieces {
namespace {

TEST(Shares, AreBalancedNeighbours) {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 17U, 1000U})
    for (const int ranks : {1, 2, 4, 7}) {
      std::vector<i64> left(count), joined;
      std::iota(left.begin(), left.end(), 5);
      for (int r = 0; r < ranks; ++r) {
        const std::vector<i64> share = share_of(left, r, ranks);
        EXPECT_GE(share.size(), count / static_cast<std::size_t>(ranks));
        EXPECT_LE(share.size(), count / static_cast<std::size_t>(ranks) + 1);
        joined.insert(joined.end(), share.begin(), share.end());
      }
      EXPECT_EQ(joined, left);
    }
}

// Every piece is named by rank 0 once, whoever wrote it, and counts are added up.
TEST(Shares, AreToldToRankZero) {
  for (const int count : {1, 2, 4}) {
    std::vector<i64> named;
    std::mutex mutex;
    ranks::on_threads(count, [&](ranks::Ranks& ranks) {
      ranks::Agreement agreement(ranks);
      agreement.part();
      std::vector<i64> left(50);
      std::iota(left.begin(), left.end(), 0);
      Shares shares(agreement, [&](const std::vector<i64>& pieces) {
        EXPECT_EQ(ranks.rank(), 0);
        const std::lock_guard lock(mutex);
        named.insert(named.end(), pieces.begin(), pieces.end());
      });
      i64 most = 0;
      shares.progress = [&] {
        EXPECT_GE(shares.computed_by_all(), most);
        most = shares.computed_by_all();
      };
      const std::vector<i64> own = share_of(left, ranks.rank(), ranks.size());
      // As the conveyor does: pieces are written by another thread.
      std::thread writer([&] {
        for (const i64 k : own) shares.on_disk({k});
      });
      for (std::size_t k = 0; k < own.size(); ++k) shares.computed(static_cast<i64>(k) + 1);
      writer.join();
      const std::vector<i64> counts = shares.end({1, ranks.rank()});
      if (ranks.rank() != 0) return;
      EXPECT_EQ(most, 50);
      EXPECT_EQ(counts, (std::vector<i64>{ranks.size(), ranks.size() * (ranks.size() - 1) / 2}));
      std::sort(named.begin(), named.end());
      EXPECT_EQ(named, left);
    });
  }
}

}  // namespace
}  // namespace tessera::pieces
