// What the parts of one CUDA device share: its context, whether it is closed, and its memory.
//
// The context is the device's primary one, which other libraries of the process use as well. Every public call makes it
// current for the calling thread and puts back what was current before.
//
// Memory is handed out and taken back by the host's order alone: what comes back is used by no work of the device any
// more (queues hold what their work uses; queue.hpp). So a pool needs no knowledge of queues. With the driver's own
// pool, allocations and frees go to a stream of their own; where there is none, freed blocks are kept in a list. When
// memory runs out, the queues are asked to let go of what their finished work held, the pool gives back what it keeps,
// and the allocation is tried once more.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/fork.hpp"
#include "run/cuda/driver.hpp"
#include "run/gpu/device.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cuda {

// Something that holds blocks and modules for work that may have finished.
class Holder {
 public:
  virtual ~Holder() = default;
  virtual std::uint64_t issued() = 0;  // a number of the last work handed to the device
  // What only this one holds any more, when work up to that number is finished.
  virtual std::vector<std::shared_ptr<const void>> let_go(std::uint64_t finished) = 0;
};

// Lives until the process ends. Thread-safe.
class Core {
 public:
  // Throws Error(device) when the device cannot be used.
  Core(const Driver&, const gpu::Limits&);

  const Driver& driver;
  const int index;
  const std::string label;    // for messages
  bool early_blocks = false;  // kernels may be launched while the one before them ends

  // Passes on success. Else throws: OutOfMemory never, Error(device) "<doing> failed on ...", closing the device first
  // when the error is one that stays.
  void check(Status, std::string_view doing, const std::vector<std::string>& notes = {});
  // Closes the device when the error is one that stays; never throws, for destructors.
  void note(Status, std::string_view doing) noexcept;
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire) || process_ != base::forks(); }
  Context context() const { return context_; }
  bool reaches(Core& other);  // gpu::Device::reaches
  void require_open() const;  // throws Error(device) when it is closed
  int attribute(int, int otherwise = 0) const;

  Address allocate(i64 bytes);  // throws OutOfMemory
  void release(Address, i64 bytes) noexcept;
  // What the driver says to a call that needs memory: once more, where there was too little, when all that is kept back
  // has been given up.
  template <class Call>
  Status with_memory(Call call) {
    const Status status = call();
    if (status != error_out_of_memory) return status;
    collect();
    return call();
  }
  void add(Holder*);
  void remove(Holder*) noexcept;

 private:
  friend class Current;
  Status try_allocate(i64 bytes, Address&);
  void collect();  // from the holders, and what the pool keeps
  i64 free_bytes() const;
  void close(Status, std::string_view doing) noexcept;

  Ordinal ordinal_ = 0;
  Context context_ = nullptr;
  const unsigned process_ = base::forks();  // a context is of no use in a child
  std::atomic<bool> closed_{false};
  mutable base::Mutex reason_mutex_;
  std::string reason_;

  Stream stream_ = nullptr;  // of allocations
  Pool pool_ = nullptr;      // null: the list below
  base::Mutex memory_mutex_;
  std::multimap<i64, Address> kept_;
  base::Mutex peers_mutex_;
  std::map<const Core*, bool> peers_;
  base::Mutex holders_mutex_;
  std::vector<Holder*> holders_;
};

// Makes the device's context current while it lives.
class Current {
 public:
  explicit Current(Core&) noexcept;
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Driver& driver_;
  Context before_ = nullptr;
  bool changed_ = false;
};

}  // namespace tessera::run::cuda
