// A queue of commands in order. Every command leaves an event, for two reasons: clFinish() succeeds although commands
// have failed, so their events are what tells; and a block goes back to the pool only after the last command that uses
// it.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "run/opencl/memory.hpp"
#include "run/opencl/program.hpp"

namespace tessera::run::opencl {

class CommandQueue final : public gpu::Queue {
 public:
  CommandQueue(std::shared_ptr<Core> core, std::shared_ptr<Pool> pool);
  ~CommandQueue() override;
  void upload(gpu::Memory& to, i64 offset, const std::byte* from, const gpu::Rows&) override;
  void download(std::byte* to, const gpu::Memory& from, i64 offset, const gpu::Rows&) override;
  void copy(gpu::Memory& to, i64 to_offset, const gpu::Memory& from, i64 from_offset, const gpu::Rows&) override;
  void fill(gpu::Memory&, i64 offset, i64 bytes, unsigned char value) override;
  void keep(std::shared_ptr<const void>) override;
  void launch(gpu::Module&, const gpu::Launch&, std::span<const std::shared_ptr<gpu::Memory>> blocks,
              std::span<const i64> integers) override;
  void wait() override;
  void mark(int number) override;
  double milliseconds(int from, int to) override;

 private:
  using Held = std::vector<std::shared_ptr<const void>>;
  struct Command {
    Handle<cl::Event> event;
    std::string doing;  // "start ...", for errors
    Held held;
  };
  const Buffer& own(const gpu::Memory&) const;
  void set_arguments(const Program::Lease&, const gpu::Launch&, std::span<const std::shared_ptr<gpu::Memory>> blocks,
                     std::span<const i64> integers, Held&);
  void added(cl::Event, std::string doing, Held);
  cl::Int status_of(const Command&) const;
  void retire();

  std::shared_ptr<Core> core_;
  std::shared_ptr<Pool> pool_;
  Handle<cl::Queue> queue_;
  std::deque<Command> commands_;  // under way
  std::array<Handle<cl::Event>, 64> marks_;
};

}  // namespace tessera::run::opencl
