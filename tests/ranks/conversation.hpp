// What ranks of any kind have to get right: every test of this file runs on ranks that are threads, and through MPI.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ranks/ranks.hpp"

namespace tessera::ranks {

inline std::vector<std::byte> bytes_of(int rank, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t k = 0; k < count; ++k)
    bytes[k] = static_cast<std::byte>(k * 7 + static_cast<std::size_t>(rank) * 31);
  return bytes;
}

// To the next one and from the one before, all at once, of several lengths and tags.
inline void expect_messages(Ranks& ranks) {
  const int next = (ranks.rank() + 1) % ranks.size(), before = (ranks.rank() + ranks.size() - 1) % ranks.size();
  const std::vector<std::size_t> lengths = {0, 1, 1000, std::size_t{1} << 20};
  std::vector<std::vector<std::byte>> own, come;
  for (const std::size_t n : lengths) {
    own.push_back(bytes_of(ranks.rank(), n));
    come.emplace_back(n);
  }
  std::vector<Request> requests;
  for (std::size_t k = 0; k < lengths.size(); ++k)
    requests.push_back(ranks.receive(come[k], before, static_cast<int>(k % 2)));
  for (std::size_t k = 0; k < lengths.size(); ++k)
    requests.push_back(k == 2 ? ranks.send_until_received(own[k], next, static_cast<int>(k % 2))
                              : ranks.send(own[k], next, static_cast<int>(k % 2)));
  ranks.wait(requests);
  for (std::size_t k = 0; k < lengths.size(); ++k) EXPECT_TRUE(come[k] == bytes_of(before, lengths[k])) << k;
}

// Messages whose lengths and senders the receiver does not know.
inline void expect_surprises(Ranks& ranks) {
  constexpr int tag = 5;
  ranks.barrier();
  EXPECT_FALSE(ranks.look(tag + 1));
  const std::vector<std::byte> own = bytes_of(ranks.rank(), 10 + static_cast<std::size_t>(ranks.rank()));
  Request sent = ranks.send(own, 0, tag);
  std::vector<bool> seen(static_cast<std::size_t>(ranks.size()));
  for (int k = 0; ranks.rank() == 0 && k < ranks.size(); ++k) {
    std::optional<Incoming> come;
    ranks.wait_until([&] { return (come = ranks.look(tag)).has_value(); });
    EXPECT_EQ(come->bytes, 10 + static_cast<std::size_t>(come->from));
    std::vector<std::byte> bytes(come->bytes);
    Request request = ranks.receive(bytes, come->from, tag);
    ranks.wait(request);
    EXPECT_TRUE(bytes == bytes_of(come->from, come->bytes));
    seen[static_cast<std::size_t>(come->from)] = true;
  }
  ranks.wait(sent);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), ranks.rank() == 0 ? ranks.size() : 0);
  ranks.barrier();
}

inline void expect_gathering(Ranks& ranks) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{3}, std::size_t{100000}}) {
    const std::size_t own = n * static_cast<std::size_t>(ranks.rank());  // rank 0 gives nothing
    const auto all = ranks.all_gather(std::span<const std::byte>(bytes_of(ranks.rank(), own)));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks.size()));
    for (int r = 0; r < ranks.size(); ++r)
      EXPECT_TRUE(all[static_cast<std::size_t>(r)] == bytes_of(r, n * static_cast<std::size_t>(r))) << r;
  }
  const std::vector<std::string> names = ranks.all_gather("rank " + std::to_string(ranks.rank()));
  for (int r = 0; r < ranks.size(); ++r) EXPECT_EQ(names[static_cast<std::size_t>(r)], "rank " + std::to_string(r));
  for (int from = 0; from < ranks.size(); ++from) {
    std::vector<std::int64_t> numbers;
    if (ranks.rank() == from) numbers = {from, -7, std::int64_t{1} << 40};
    EXPECT_EQ(ranks.broadcast(numbers, from), (std::vector<std::int64_t>{from, -7, std::int64_t{1} << 40}));
    std::vector<std::byte> bytes = ranks.rank() == from ? bytes_of(from, 70000) : std::vector<std::byte>(70000);
    ranks.broadcast(std::span(bytes), from);
    EXPECT_TRUE(bytes == bytes_of(from, 70000));
  }
}

inline void expect_reductions(Ranks& ranks) {
  const std::int64_t n = ranks.size(), r = ranks.rank();
  std::vector<std::int64_t> values = {r, 1, (std::int64_t{1} << 40) + r};
  ranks.all_reduce(values, Reduction::sum);
  EXPECT_EQ(values, (std::vector<std::int64_t>{n * (n - 1) / 2, n, n * (std::int64_t{1} << 40) + n * (n - 1) / 2}));
  values = {r, -r};
  ranks.all_reduce(values, Reduction::max);
  EXPECT_EQ(values, (std::vector<std::int64_t>{n - 1, 0}));
  std::vector<double> reals = {0.5 * static_cast<double>(r), -1e300};
  ranks.all_reduce(reals, Reduction::max);
  EXPECT_EQ(reals, (std::vector<double>{0.5 * static_cast<double>(n - 1), -1e300}));
  reals = {static_cast<double>(r) - 0.25};
  ranks.all_reduce(reals, Reduction::min);
  EXPECT_EQ(reals[0], -0.25);
  EXPECT_EQ(ranks.least(100 - r), 101 - n);
  EXPECT_ANY_THROW(ranks.all_reduce(reals, Reduction::sum));
}

inline void expect_all(Ranks& ranks) {
  expect_messages(ranks);
  expect_surprises(ranks);
  expect_gathering(ranks);
  expect_reductions(ranks);
}

}  // namespace tessera::ranks
