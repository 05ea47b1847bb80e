// A program compiled for a device with a memory of its own. Immutable; runs from several threads at once.
//
// A run takes arrays of the host up row by row, packed, launches every kernel in order, and takes the results down.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/launch_plan.hpp"
#include "lower/device.hpp"
#include "plan/plan.hpp"
#include "run/gpu/device.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// The device that options name, opened. Throws Error(argument) for a target that is none, Error(device) where it is
// missing.
std::shared_ptr<run::gpu::Device> open_device(const RunOptions&);

class DeviceExecutable {
 public:
  DeviceExecutable(const ir::Graph&, const RunOptions&, std::shared_ptr<run::gpu::Device>);

  const plan::Plan& plan() const { return plan_; }
  const lower::DeviceProgram& program() const { return program_; }
  const std::string& source() const { return source_; }

  const run::gpu::Limits& limits() const { return device_->limits(); }
  // Of a kernel of program(): as compiled, and as it is launched.
  run::gpu::Module::Usage usage_of(const lower::DeviceKernel&) const;
  KernelLaunch launch_of(const lower::DeviceKernel&, const std::vector<i64>& parameters) const;
  // Are the extents large enough for every kernel? run() takes any: images smaller than their halo run untiled.
  bool takes(const std::vector<i64>& parameters) const;
  // This program, or the one for images that are small, which lives as long: what bind() and run() launch.
  const DeviceExecutable& serving(const std::vector<i64>& parameters, const RunOptions&) const;
  // As Executable::run.
  void run(const std::vector<i64>& parameters, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
           const RunOptions&) const;

  // Arrays on the device, bound to kernels: what a run does between taking up and taking down, again and again.
  class Bound {
   public:
    Bound(const DeviceExecutable&, const std::vector<i64>& parameters);
    // The padding of structs stays as it was in `outputs`, where they are given.
    void upload(const std::vector<Array>& inputs, const std::vector<Array>& outputs = {});
    void launch(const RunOptions&);
    void download(const std::vector<Array>& outputs);
    // What launch() hands over, in order; integers as DeviceKernel::integers says.
    struct Ready {
      run::gpu::Launch launch;
      std::vector<std::shared_ptr<run::gpu::Memory>> blocks;
      std::vector<i64> integers;
    };
    const std::vector<Ready>& launches() const { return launches_; }
    run::gpu::Queue& queue() { return *queue_; }  // no error shows before wait() or a time is asked for

   private:
    struct Place {
      std::shared_ptr<run::gpu::Memory> memory;
      std::vector<i64> strides;  // bytes, of every dimension of the interface's array but the last
    };
    template <class Copy>
    void each_row_block(const Array&, const Place&, Copy copy) const;
    Ready ready(const lower::DeviceKernel&, const std::vector<i64>& parameters) const;

    const DeviceExecutable& program_;
    std::vector<Place> places_;
    std::vector<Ready> launches_;
    std::unique_ptr<run::gpu::Queue> queue_;
  };

  // This program, or the one for images that are small, with arrays on the device. Not thread-safe; ends before this.
  std::unique_ptr<Bound> bind(const std::vector<i64>& parameters, const RunOptions& = {}) const;

 private:
  std::shared_ptr<const DeviceExecutable> small(const RunOptions&) const;

  const ir::Graph& graph_;  // the program's, which outlives this
  plan::Plan plan_;
  lower::DeviceProgram program_;
  std::string source_;
  std::shared_ptr<run::gpu::Device> device_;
  std::shared_ptr<run::gpu::Module> module_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const DeviceExecutable> small_;
};

}  // namespace tessera::engine
