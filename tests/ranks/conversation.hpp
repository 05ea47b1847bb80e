// What ranks of any kind have to get right: every test of this file runs on ranks that are threads, and through MPI.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "ranks/ranks.hpp"

namespace tessera::ranks {

inline Bytes bytes_of(int rank, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t k = 0; k < count; ++k)
    bytes[k] = static_cast<std::byte>(k * 7 + static_cast<std::size_t>(rank) * 31);
  return bytes;
}

// To the next one and from the one before, all at once, of several lengths and tags.
inline void expect_messages(Ranks& ranks) {
  const int next = (ranks.rank() + 1) % ranks.size(), before = (ranks.rank() + ranks.size() - 1) % ranks.size();
  const std::vector<std::size_t> lengths = {0, 1, 1000, std::size_t{1} << 20};
  std::vector<Bytes> own, come;
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
  for (Request& request : requests) ranks.wait(request);
  for (std::size_t k = 0; k < lengths.size(); ++k) EXPECT_TRUE(come[k] == bytes_of(before, lengths[k])) << k;
}

// Messages whose lengths and senders the receiver does not know.
inline void expect_surprises(Ranks& ranks) {
  constexpr int tag = 5;
  ranks.barrier();
  EXPECT_FALSE(ranks.take(tag + 1));
  const Bytes own = bytes_of(ranks.rank(), 10 + static_cast<std::size_t>(ranks.rank()));
  Request sent = ranks.send(own, 0, tag);
  std::vector<bool> seen(static_cast<std::size_t>(ranks.size()));
  for (int k = 0; ranks.rank() == 0 && k < ranks.size(); ++k) {
    std::optional<Message> come;
    ranks.wait_until([&] { return (come = ranks.take(tag)).has_value(); });
    EXPECT_TRUE(come->bytes == bytes_of(come->from, 10 + static_cast<std::size_t>(come->from)));
    seen[static_cast<std::size_t>(come->from)] = true;
  }
  ranks.wait(sent);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), ranks.rank() == 0 ? ranks.size() : 0);
  ranks.barrier();
}

inline void expect_gathering(Ranks& ranks) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{3}, std::size_t{100000}}) {
    const std::size_t own = n * static_cast<std::size_t>(ranks.rank());  // rank 0 gives nothing
    const std::vector<Bytes> all = ranks.all_gather(bytes_of(ranks.rank(), own));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks.size()));
    for (int r = 0; r < ranks.size(); ++r)
      EXPECT_TRUE(all[static_cast<std::size_t>(r)] == bytes_of(r, n * static_cast<std::size_t>(r))) << r;
  }
}

inline void expect_all(Ranks& ranks) {
  expect_messages(ranks);
  expect_surprises(ranks);
  expect_gathering(ranks);
}

}  // namespace tessera::ranks
