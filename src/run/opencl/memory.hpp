// Blocks of the device's memory, kept for the next that asks: a block of 256 MiB costs a driver milliseconds to make.
//
// Sizes are rounded up to one of eight classes an octave (12 % are lost at most), so that images of nearly one size
// share blocks. What nobody uses is bounded by a quarter of the memory and by a number of blocks; the longest unused
// goes first.
//
// OpenCL makes a block when it is first used, and would then fail in the middle of some launch. So a new block is moved
// to the device at once, and the sum of all blocks is held below what the device has: processors would promise
// anything.
#pragma once

#include <deque>
#include <memory>

#include "base/process/fork.hpp"
#include "run/opencl/core.hpp"

namespace tessera::run::opencl {

class Pool;

// Commands that are under way hold their blocks by shared_from_this().
class Buffer final : public gpu::Memory, public std::enable_shared_from_this<Buffer> {
 public:
  Buffer(std::shared_ptr<Pool> pool, Handle<cl::Mem> mem, i64 bytes, i64 capacity)
      : Memory(bytes), pool_(std::move(pool)), mem_(std::move(mem)), capacity_(capacity) {}
  ~Buffer() override;
  cl::Mem mem() const { return mem_.get(); }
  const Pool* pool() const { return pool_.get(); }

 private:
  std::shared_ptr<Pool> pool_;
  Handle<cl::Mem> mem_;
  i64 capacity_;
};

// Thread-safe.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  explicit Pool(std::shared_ptr<Core>);
  std::shared_ptr<Buffer> take(i64 bytes);
  void give(Handle<cl::Mem>, i64 capacity) noexcept;
  i64 unused_bytes() const;
  i64 used_bytes() const;

 private:
  struct Unused {
    Handle<cl::Mem> mem;
    i64 capacity;
  };
  Handle<cl::Mem> make(i64 capacity, cl::Int& code);
  void drop_oldest();
  [[noreturn]] void fail(i64 bytes, cl::Int code) const;

  std::shared_ptr<Core> core_;
  mutable base::Mutex mutex_;
  Handle<cl::Queue> queue_;  // moves new blocks to the device
  std::deque<Unused> unused_;
  i64 unused_bytes_ = 0, used_bytes_ = 0;
};

// The size of the block that serves so many bytes.
i64 capacity_for(i64 bytes, i64 largest);

}  // namespace tessera::run::opencl
