// A program compiled for a device with a memory of its own. Immutable; runs from several threads at once.
//
// A run takes arrays of the host up, launches every kernel in order, and takes the results down; arrays on the device
// are used where they lie. What does not fit the device's memory runs in slabs (slabs.hpp), one after the other; so
// does what takes long to copy, several at once, each with a queue and a thread of its own: one copies while another
// computes. The slabs of a run may be shared among several devices (run_slabs.cpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process/fork.hpp"
#include "engine/device/array.hpp"
#include "engine/device/launch_plan.hpp"
#include "engine/device/slabs.hpp"
#include "lower/device.hpp"
#include "plan/plan.hpp"
#include "run/gpu/device.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// The device that options name, opened. Throws Error(argument) for a target that is none, Error(device) where it is
// missing.
std::shared_ptr<run::gpu::Device> open_device(const RunOptions&);

// The array of the caller's that takes the place of an array of the interface, or null where the run allocates one.
const Array* given(const lower::ArrayRef&, const std::vector<Array>& inputs, const std::vector<Array>& outputs);

// What runs on such a device; of a class of sizes, size_class.hpp.
DeviceCode code_for(const ir::Graph&, const RunOptions&, const run::gpu::Limits&, const std::vector<i64>& of_class = {},
                    bool narrow = false);

class DeviceExecutable {
 public:
  DeviceExecutable(const ir::Graph&, const RunOptions&, std::shared_ptr<run::gpu::Device>, DeviceCode);

  const plan::Plan& plan() const { return plan_; }
  const lower::DeviceProgram& program() const { return program_; }
  const std::string& source() const { return source_; }

  const run::gpu::Limits& limits() const { return device_->limits(); }
  // Of a kernel of program(): as compiled, and as it is launched.
  run::gpu::Module::Usage usage_of(const lower::DeviceKernel&) const;
  KernelLaunch launch_of(const lower::DeviceKernel&, const std::vector<i64>& parameters,
                         std::optional<RowRange> rows = {},
                         const std::function<const Placement&(std::size_t)>& lying = {}) const;
  // Are the extents large enough for every kernel? run() takes any: images smaller than their halo run untiled.
  bool takes(const std::vector<i64>& parameters) const;
  // This program, or one for images that are small, which lives as long: what bind() and run() launch.
  const DeviceExecutable& serving(const std::vector<i64>& parameters, const RunOptions&) const;
  // One program on the devices that share a run, one at least.
  using Team = std::vector<std::shared_ptr<const DeviceExecutable>>;
  // As Executable::run. Of a team of one, arrays may lie on its device, and with a stream in the options it does not
  // wait.
  static void run(const Team&, const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                  const std::vector<Array>& outputs, const RunOptions&);
  struct Copies {
    i64 up = 0, down = 0;  // bytes that go over the bus
  };
  // How slabs of arrays of the host would be shared among so many devices.
  struct Split {
    int devices = 1;  // that are worth it
    i64 parts = 1;    // slabs
    int lanes = 1;    // of a device, at once
  };
  Split split(const std::vector<i64>& parameters, Copies, int devices) const;

  // Arrays on the device, bound to kernels: what a run does between taking up and taking down, again and again.
  class Bound {
   public:
    // All rows or those of a slab. `inputs` and `outputs` that lie on the device are used where they lie, as far as
    // their rows allow; the others have to be taken up and down.
    Bound(const DeviceExecutable&, const std::vector<i64>& parameters, run::gpu::Queue&, const Slab&,
          const std::vector<Array>& inputs = {}, const std::vector<Array>& outputs = {});
    // The padding of structs stays as it was in `outputs`, where they are given.
    void upload(const std::vector<Array>& inputs, const std::vector<Array>& outputs = {});
    void launch(const RunOptions&);
    void download(const std::vector<Array>& outputs);  // does not wait
    // What launch() hands over, in order; integers as DeviceKernel::integers says.
    struct Ready {
      std::size_t kernel = 0;  // of program().kernels
      run::gpu::Launch launch;
      std::vector<std::shared_ptr<run::gpu::Memory>> blocks;
      std::vector<i64> integers;
    };
    const std::vector<Ready>& launches() const { return launches_; }
    i64 uploaded() const { return uploaded_; }  // bytes so far
    i64 downloaded() const { return downloaded_; }
    run::gpu::Queue& queue() { return queue_; }  // no error shows before wait() or a time is asked for

   private:
    struct Place : Placement {
      std::shared_ptr<const DeviceMemory> memory;
      Shape inner;         // extents of every dimension but the first
      bool given = false;  // the caller's array
    };
    // Rows of what lies at a place, and of an array of the caller's as the interface has it.
    Array lying(std::size_t array, RowRange) const;
    Array rows_of(std::size_t array, const Array&, RowRange) const;
    void order();
    Ready ready(std::size_t kernel, const std::vector<i64>& parameters) const;
    void lie_in_whole(std::size_t array);  // of which it is a part

    const DeviceExecutable& program_;
    run::gpu::Queue& queue_;
    Slab slab_;
    std::vector<Place> places_;
    std::vector<Ready> launches_;
    i64 uploaded_ = 0, downloaded_ = 0;
  };

  // All rows of this program, or of the one for images that are small. Not thread-safe; ends before this and the queue.
  std::unique_ptr<Bound> bind(const std::vector<i64>& parameters, run::gpu::Queue&, const RunOptions& = {}) const;
  std::unique_ptr<run::gpu::Queue> queue() const { return device_->queue(); }

 private:
  struct Job {
    const std::vector<i64>& parameters;
    const std::vector<Array>&inputs, &outputs;
    const RunOptions& options;
  };
  class SharedRun;
  Split fitting(const Job&, Split) const;  // what options allow of the device's memory
  i64 bytes_of(const Job&, const Split&) const;
  std::shared_ptr<const DeviceMemory> memory_of(run::gpu::Queue&, const lower::DeviceTable&) const;
  std::shared_ptr<const DeviceExecutable> small(const RunOptions&) const;

  const ir::Graph& graph_;  // the program's, which outlives this
  plan::Plan plan_;
  lower::DeviceProgram program_;
  std::string source_;
  std::shared_ptr<run::gpu::Device> device_;
  std::shared_ptr<run::gpu::Module> module_;
  std::vector<std::shared_ptr<const DeviceMemory>> tables_;  // of the program, there as long as it is
  mutable base::Mutex mutex_;
  mutable std::shared_ptr<const DeviceExecutable> small_;
};

}  // namespace tessera::engine
