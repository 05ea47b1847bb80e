// See conveyor.hpp.
#include "pieces/conveyor.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/error.hpp"

namespace tessera::pieces {
namespace {

// A place for one piece between two stations.
class Belt {
 public:
  // Until what lay there is taken: what the next station holds and what is made for it are all there is. False when the
  // conveyor has stopped.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || !held_; });
    return !stopped_;
  }
  void put(i64 piece, Arrays arrays) {
    const std::lock_guard lock(mutex_);
    held_.emplace(piece, std::move(arrays));
    changed_.notify_all();
  }
  // Nothing more will be put.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  // Nothing when the conveyor has stopped, or nothing more comes.
  std::optional<std::pair<i64, Arrays>> take(const std::atomic<bool>* cancel) {
    std::unique_lock lock(mutex_);
    while (!stopped_ && !held_) {
      if (ended_) return {};
      changed_.wait_for(lock, patience);
      if (cancel != nullptr && cancel->load()) throw Error(ErrorClass::cancelled, "interrupted");
    }
    if (stopped_) return {};
    std::optional<std::pair<i64, Arrays>> taken = std::move(held_);
    held_.reset();
    changed_.notify_all();
    return taken;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::chrono::milliseconds patience{50};  // until the flag is looked at again
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::pair<i64, Arrays>> held_;
  bool stopped_ = false, ended_ = false;
};

// The first failure of several threads.
class Failure {
 public:
  void keep(std::exception_ptr e) {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = std::move(e);
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace

void convey(const std::vector<i64>& pieces, const Stations& stations, const std::atomic<bool>* cancel) {
  Belt in, out;
  Failure failure;
  const auto guarded = [&](const auto& work) {
    try {
      work();
    } catch (...) {
      failure.keep(std::current_exception());
      in.stop();
      out.stop();
    }
  };
  std::thread reader([&] {
    guarded([&] {
      for (const i64 k : pieces) {
        if (!in.wait_for_room()) return;
        in.put(k, stations.read(k));
      }
    });
  });
  std::vector<std::thread> writers;
  const auto write = [&] {
    guarded([&] {
      while (auto computed = out.take(nullptr)) stations.write(computed->first, std::move(computed->second));
    });
  };
  guarded([&] {
    for (int k = 0; k < stations.writers; ++k) writers.emplace_back(write);
  });
  guarded([&] {
    i64 done = 0;
    for (const i64 k : pieces) {
      auto read = in.take(cancel);
      if (!read || !out.wait_for_room()) return;
      out.put(k, stations.compute(k, std::move(read->second)));
      if (stations.done) stations.done(++done);
    }
  });
  out.end();
  reader.join();
  for (std::thread& writer : writers) writer.join();
  failure.rethrow();
}

struct Buffers::Kept {
  struct Block {
    std::size_t bytes = 0;
    void* memory = nullptr;
  };
  ~Kept() {
    for (const Block& block : free) std::free(block.memory);
  }
  std::mutex mutex;
  std::vector<Block> free;
};

Buffers::Buffers() : kept_(std::make_shared<Kept>()) {}

Array Buffers::take(const Format& format, const Shape& shape) {
  constexpr std::size_t page = 4096;
  const std::size_t bytes =
      (static_cast<std::size_t>(element_count(shape)) * format.size() + page - 1) / page * page + page;
  Kept::Block block;
  {
    const std::lock_guard lock(kept_->mutex);
    // The least that holds it; one that is too small makes room.
    auto found = kept_->free.end();
    for (auto b = kept_->free.begin(); b != kept_->free.end(); ++b)
      if (b->bytes >= bytes && (found == kept_->free.end() || b->bytes < found->bytes)) found = b;
    if (found != kept_->free.end()) {
      block = *found;
      kept_->free.erase(found);
    } else if (!kept_->free.empty()) {
      std::free(kept_->free.back().memory);
      kept_->free.pop_back();
    }
  }
  if (block.memory == nullptr) {
    block = {bytes, std::aligned_alloc(page, bytes)};
    if (block.memory == nullptr) throw std::bad_alloc();
  }
  const std::shared_ptr<void> owner(block.memory, [kept = kept_, block](void*) {
    const std::lock_guard lock(kept->mutex);
    kept->free.push_back(block);
  });
  return Array::share(owner, block.memory, format, shape);
}

}  // namespace tessera::pieces
