// A stream of work, and what its work uses.
//
// The caller may drop a block or a module as soon as a launch has returned, while the device has not begun. So a queue
// holds what its work uses, each thing once with the number of the last work that used it. Things that nobody else
// holds are let go when an event behind that work has happened: one event at a time, looked at whenever more work is
// handed over; nothing is recorded as long as all have other owners, which is the common case.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/process/fork.hpp"
#include "run/cuda/core.hpp"
#include "run/cuda/memory.hpp"
#include "run/gpu/device.hpp"

namespace tessera::run::cuda {

class CudaQueue : public gpu::Queue, private Holder {
 public:
  explicit CudaQueue(Core&, bool urgent = false);
  CudaQueue(Core&, Stream of_somebody_else);
  ~CudaQueue() override;

  void upload(gpu::Memory& to, i64 offset, const std::byte* from, const gpu::Rows&) override;
  void download(std::byte* to, const gpu::Memory& from, i64 offset, const gpu::Rows&) override;
  void copy(gpu::Memory& to, i64 to_offset, const gpu::Memory& from, i64 from_offset, const gpu::Rows&) override;
  void fill(gpu::Memory&, i64 offset, i64 bytes, unsigned char value) override;
  void keep(std::shared_ptr<const void> what) override { hold(std::move(what)); }
  void launch(gpu::Module&, const gpu::Launch&, std::span<const std::shared_ptr<gpu::Memory>> blocks,
              std::span<const i64> integers) override;
  void wait() override;
  std::shared_ptr<const gpu::Fence> fence() override;
  void wait_for(const gpu::Fence&) override;
  void copy_across(gpu::Memory& to, i64 to_offset, const gpu::Memory& from, i64 from_offset, i64 bytes) override;
  void mark(int number) override;
  double milliseconds(int from, int to) override;

 private:
  using Dropped = std::vector<std::shared_ptr<const void>>;
  struct Held {
    std::shared_ptr<const void> what;
    std::uint64_t last_use = 0;
  };
  std::uint64_t issued() override;
  Dropped let_go(std::uint64_t finished) override;
  void hold(std::shared_ptr<const void>);  // after the work was handed over
  void tidy();                             // lets go of what is finished, without waiting
  // Between host and device; up: to the device.
  void move(bool up, const gpu::Memory&, i64 offset, std::byte* host, const gpu::Rows&);
  bool slow_rows(const gpu::Rows&) const;
  // One copy of the driver's for all rows, with the places of both sides set in it.
  void copy_rows(Copy2D, const gpu::Rows&, std::string_view doing);
  Event& mark_at(int number);

  Core& core_;
  Stream stream_ = nullptr;
  bool own_ = true;
  std::array<Event, 64> marks_{};
  i64 most_pitch_ = 0;

  base::Mutex mutex_;  // of the rest: another thread that runs out of memory looks in
  std::vector<Held> held_;
  std::uint64_t number_ = 0;
  Event fence_ = nullptr;
  std::uint64_t fenced_ = 0;  // the work ahead of the event; 0 while none is awaited
};

}  // namespace tessera::run::cuda
