// Tiles on cores, and the scratch memory that they use.
//
// Tiles are handed out in order, many at a time while many are left and one by one at the end: neighbours share their
// halo in the cache, and no core waits long for the last. The caller works from the first moment while helpers wake up,
// so that a run of a few tiles pays nothing for threads that come too late. One thread, or one tile, is a plain loop
// that never touches the scheduler.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/options.hpp"

namespace tessera::run::cpu {

namespace detail {
// A borrowed callable: two words, no allocation.
struct TileFunction {
  void* object;
  void (*call)(void* object, i64 tile, int slot);
};
void run_tiles(i64 count, int threads, TileFunction, const std::atomic<bool>* cancel,
               const std::function<void(const Progress&)>* progress);
}  // namespace detail

// Threads that a run with this option uses: all cores for 0. Throws Error(argument) when negative or above 4096.
int thread_count(int requested);

// Of the cores so many are this process's from now on: others have the rest.
void use_cores(int count);

// Calls fn(tile, slot) for every tile of [0, count), slot in [0, max(1, threads)); no two calls with one slot overlap.
// threads as in RunOptions (0: all cores). Throws what fn throws, after every running tile has ended; the first one
// wins. When *cancel becomes true no further tile starts and Error(cancelled) is thrown. `progress` is called from one
// thread at a time with a growing count, at last with all tiles done. Safe to call from several threads at once.
template <class F>
void parallel_tiles(i64 count, int threads, F&& fn, const std::atomic<bool>* cancel = nullptr,
                    const std::function<void(const Progress&)>& progress = {}) {
  using Callable = std::remove_reference_t<F>;
  const detail::TileFunction f{const_cast<void*>(static_cast<const void*>(std::addressof(fn))),
                               [](void* o, i64 tile, int slot) { (*static_cast<Callable*>(o))(tile, slot); }};
  detail::run_tiles(count, threads, f, cancel, progress ? &progress : nullptr);
}

// A block of memory, 64-byte aligned, contents undefined; goes back to the pool at its end.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(Scratch&& o) noexcept : data_(o.data_), capacity_(o.capacity_) { o.data_ = nullptr; }
  Scratch& operator=(Scratch&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(capacity_, o.capacity_);
    return *this;
  }
  std::byte* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  friend Scratch acquire_scratch(std::size_t);
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
};

// At least `bytes` bytes, reused between runs where possible; large ones ask for huge pages. What is given back beyond
// the pool's limit returns to the system. Thread-safe. Throws Error(device) when memory cannot be had.
Scratch acquire_scratch(std::size_t bytes);
// Bytes that wait in the pool now.
std::size_t pooled_scratch();
// How many may wait there from now on (256 MiB at first).
void limit_pooled_scratch(std::size_t bytes);
// Gives all of them back to the system.
void release_scratch();

// One block per slot, taken by the thread that first asks for its slot (so that its pages are near).
class SlotScratch {
 public:
  SlotScratch(int slots, std::size_t bytes) : bytes_(bytes), blocks_(static_cast<std::size_t>(slots)) {}
  std::byte* get(int slot) {
    Scratch& block = blocks_[static_cast<std::size_t>(slot)];
    if (block.data() == nullptr) block = acquire_scratch(bytes_);
    return block.data();
  }

 private:
  std::size_t bytes_;
  std::vector<Scratch> blocks_;
};

}  // namespace tessera::run::cpu
