// Ranks that are threads of one process: what is built on ranks is tested where there is no MPI, and by sanitizers.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "ranks/ranks.hpp"

namespace tessera::ranks {

// What they share. What all gather goes in messages with a tag below 0.
struct Post {
  struct Letter {
    std::vector<std::byte> bytes;
    std::shared_ptr<bool> received = std::make_shared<bool>(false);
  };
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<Letter>> letters;  // by to, tag, from
};

class ThreadRanks : public Ranks {
 public:
  // All that all_gather() has at once is short, so that it goes in parts.
  ThreadRanks(Post& post, int rank, int size, const std::atomic<bool>* cancel = nullptr)
      : Ranks(cancel, 30000), post_(post), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Request send(std::span<const std::byte> bytes, int to, int tag) override {
    put(bytes, to, tag);
    return {};
  }
  Request send_until_received(std::span<const std::byte> bytes, int to, int tag) override {
    return when([this, received = put(bytes, to, tag)] {
      const std::lock_guard lock(post_.mutex);
      return *received;
    });
  }
  Request receive(std::span<std::byte> to, int from, int tag) override {
    return when([this, to, from, tag] { return fetch(to, from, tag); });
  }

 protected:
  std::optional<Incoming> look(int tag) override {
    const std::lock_guard lock(post_.mutex);
    for (int from = 0; from < size_; ++from)
      if (const auto& come = post_.letters[{rank_, tag, from}]; !come.empty())
        return Incoming{from, come.front().bytes.size()};
    return std::nullopt;
  }
  Request begin_all_gather(std::span<const std::byte> from, std::span<std::byte> to, const std::vector<int>& sizes,
                           const std::vector<int>& places) override {
    for (int r = 0; r < size_; ++r) put(from, r, -1);
    return when([this, to, sizes, places, next = 0]() mutable {
      for (; next < size_; ++next) {
        const auto r = static_cast<std::size_t>(next);
        if (!fetch(to.subspan(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(sizes[r])), next, -1))
          return false;
      }
      return true;
    });
  }

 private:
  struct When : Request::Operation {
    explicit When(std::function<bool()> f) : f_(std::move(f)) {}
    bool done() override { return f_(); }
    std::function<bool()> f_;
  };
  static Request when(std::function<bool()> f) { return Request(std::make_unique<When>(std::move(f))); }

  std::shared_ptr<bool> put(std::span<const std::byte> bytes, int to, int tag) {
    const std::lock_guard lock(post_.mutex);
    auto& letters = post_.letters[{to, tag, rank_}];
    letters.push_back({{bytes.begin(), bytes.end()}});
    return letters.back().received;
  }
  bool fetch(std::span<std::byte> to, int from, int tag) {
    const std::lock_guard lock(post_.mutex);
    auto& letters = post_.letters[{rank_, tag, from}];
    if (letters.empty()) return false;
    std::copy_n(letters.front().bytes.begin(), std::min(to.size(), letters.front().bytes.size()), to.begin());
    *letters.front().received = true;
    letters.pop_front();
    return true;
  }

  Post& post_;
  int rank_, size_;
};

// The body on so many ranks at once.
inline void on_threads(int count, const std::function<void(Ranks&)>& body, const std::atomic<bool>* cancel = nullptr) {
  Post post;
  std::vector<std::thread> threads;
  for (int r = 0; r < count; ++r)
    threads.emplace_back([&, r] {
      ThreadRanks ranks(post, r, count, cancel);
      body(ranks);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tessera::ranks
