// Fourier transforms on a device with a memory of its own: planned, compiled, its tables there, ready to run on arrays
// of one description.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lower/host/transform.hpp"
#include "run/gpu/device.hpp"

namespace tessera::engine {

// What plans ask of a device.
fft::DeviceOptions fft_options(const run::gpu::Limits&, fft::DeviceOptions = {});

class FftOnDevice {
 public:
  // Throws Error(argument) when the problem makes no sense, Error(device) for lines that are too long and for what
  // run::gpu::Device throws. Of the options, what the device decides is replaced.
  FftOnDevice(const fft::Problem&, std::shared_ptr<run::gpu::Device>, fft::DeviceOptions = {});

  // The element at index 0 of an array: bytes from the begin of memory, a multiple of two numbers' size.
  struct Place {
    std::shared_ptr<run::gpu::Memory> memory;
    i64 offset = 0;
  };
  // Complex numbers are pairs, real part first. Hands the work over and does not wait. Both may be one place when the
  // strides are the same in bytes, and must not overlap otherwise; the input is read only. Thread-safe.
  void run(run::gpu::Queue&, const Place& from, const Place& to) const;

  const fft::DevicePlan& plan() const { return made_.plan; }
  const std::string& description() const { return made_.plan.description; }
  const std::string& source() const { return source_; }
  // Of the kernels, in the order of their first launch.
  std::vector<run::gpu::Module::Usage> usage() const;
  run::gpu::Module::Usage usage_of(const fft::DeviceStep&) const;

 private:
  std::shared_ptr<run::gpu::Memory> table(run::gpu::Queue&, const std::vector<double>& numbers) const;
  using Buffers = std::vector<Place>;
  Place spare() const;
  void run_phase(run::gpu::Queue&, const fft::DevicePhase&, const Buffers& sources, const Buffers& targets) const;
  void run_step(run::gpu::Queue&, const fft::DeviceStep&, const Place& from, const Place& to, i64 count) const;

  std::shared_ptr<run::gpu::Device> device_;
  lower::TransformProgram made_;
  std::vector<std::shared_ptr<run::gpu::Memory>> tables_;  // of its kernels
  std::string source_;
  std::shared_ptr<run::gpu::Module> module_;
  i64 size_ = 4;  // of a number
};

}  // namespace tessera::engine
