// See fft_device.hpp.
#include "engine/fft_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emit/device.hpp"
#include "lower/device.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

constexpr std::size_t integers_of_line = 3;

lower::DeviceKernel described(const fft::DeviceLineKernel& written, const fft::DeviceLine& line) {
  lower::DeviceKernel kernel;
  kernel.name = written.function.name;
  kernel.arrays = {0, 1, 2};
  kernel.integers.resize(integers_of_line);
  kernel.threads = {static_cast<int>(written.threads), 1, 1};
  kernel.blocks_at_once = static_cast<int>(line.blocks_at_once);
  kernel.shared_bytes = written.shared_bytes;
  kernel.strips = true;  // blocks may come before the kernel before has ended
  return kernel;
}

}  // namespace

FftOnDevice::FftOnDevice(fft::Problem problem, std::shared_ptr<run::gpu::Device> device,
                         const fft::DeviceOptions& options)
    : device_(std::move(device)), plan_(fft::plan_on_device(std::move(problem), options)) {
  size_ = plan_.problem.type == ElementType::f32 ? 4 : 8;
  if (size_ == 8 && !device_->limits().doubles)
    throw Error(ErrorClass::device, fmt::format("a transform of double numbers was asked for, which {} does not have",
                                                label_of(device_->limits())));
  lower::DeviceProgram program;
  std::vector<std::vector<double>> tables;
  for (const fft::DevicePhase& phase : plan_.phases)
    for (const fft::DeviceStep& step : phase.steps) {
      if (std::any_of(kernels_.begin(), kernels_.end(), [&](const Kernel& k) { return k.line == step.line; })) continue;
      fft::DeviceLineKernel written = fft::write_line(step.line, fmt::format("tsr_fft_{}", kernels_.size()));
      kernels_.push_back({step.line, written.function.name, written.threads, {}});
      program.kernels.push_back(described(written, step.line));
      program.module.functions.push_back(std::move(written.function));
      tables.push_back(std::move(written.tables));
    }
  const bool cuda = device_->limits().target == "cuda";
  source_ = emit::print_device(program, cuda ? emit::DeviceDialect::cuda : emit::DeviceDialect::opencl, false);
  module_ = device_->load(source_, false);
  const std::unique_ptr<run::gpu::Queue> queue = device_->queue();
  for (std::size_t k = 0; k < kernels_.size(); ++k) kernels_[k].tables = table(*queue, tables[k]);
}

std::shared_ptr<run::gpu::Memory> FftOnDevice::table(run::gpu::Queue& queue, const std::vector<double>& pairs) const {
  std::vector<double> numbers = pairs;
  if (numbers.empty()) numbers.resize(2);
  std::vector<float> singles;
  if (size_ == 4) singles.assign(numbers.begin(), numbers.end());
  const i64 bytes = static_cast<i64>(numbers.size()) * size_;
  std::shared_ptr<run::gpu::Memory> memory = device_->allocate(bytes);
  const void* from = size_ == 4 ? static_cast<const void*>(singles.data()) : numbers.data();
  queue.upload(*memory, 0, static_cast<const std::byte*>(from), {1, bytes, bytes, bytes});
  queue.wait();
  return memory;
}

std::size_t FftOnDevice::kernel_of(const fft::DeviceLine& line) const {
  return static_cast<std::size_t>(
      std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernel& k) { return k.line == line; }) -
      kernels_.begin());
}

std::vector<run::gpu::Module::Usage> FftOnDevice::usage() const {
  std::vector<run::gpu::Module::Usage> all;
  for (const Kernel& k : kernels_) all.push_back(module_->usage(k.name, static_cast<int>(k.threads), 0));
  return all;
}

void FftOnDevice::run(run::gpu::Queue& queue, const Place& from, const Place& to) const {
  for (const i64 n : plan_.problem.batch)
    if (n == 0) return;
  Buffers buffers = {from, to, {}, {}, {}};
  const auto own = [&](fft::DeviceStep::Buffer which, i64 numbers) {
    if (numbers > 0) buffers[static_cast<std::size_t>(which)].memory = device_->allocate(numbers * size_);
  };
  bool other = false;
  for (const fft::DevicePhase& phase : plan_.phases) other = other || phase.steps.size() > 2;
  own(fft::DeviceStep::Buffer::whole, plan_.whole);
  own(fft::DeviceStep::Buffer::chunk, plan_.chunk);
  if (other) own(fft::DeviceStep::Buffer::other_chunk, plan_.chunk);

  for (const fft::DevicePhase& phase : plan_.phases) {
    i64 turns = 1;
    for (const fft::DevicePhase::Loop& loop : phase.loops) turns *= loop.extent;
    for (i64 turn = 0; turn < turns; ++turn) {
      i64 rest = turn, from_at = 0, to_at = 0;
      for (const fft::DevicePhase::Loop& loop : phase.loops) {
        from_at += rest % loop.extent * loop.from;
        to_at += rest % loop.extent * loop.to;
        rest /= loop.extent;
      }
      for (i64 first = 0; first < phase.counted.extent; first += phase.chunk)
        run_chunk(queue, phase, buffers, from_at + first * phase.counted.from, to_at + first * phase.counted.to,
                  std::min(phase.chunk, phase.counted.extent - first));
    }
  }
}

// `from` and `to`: numbers from the begin of the arrays that the first step reads and the last one writes.
void FftOnDevice::run_chunk(run::gpu::Queue& queue, const fft::DevicePhase& phase, const Buffers& buffers, i64 from,
                            i64 to, i64 count) const {
  for (std::size_t k = 0; k < phase.steps.size(); ++k) {
    const fft::DeviceStep& step = phase.steps[k];
    const Kernel& kernel = kernels_[kernel_of(step.line)];
    const Place &source = buffers[static_cast<std::size_t>(step.from)],
                &target = buffers[static_cast<std::size_t>(step.to)];
    const i64 integers[integers_of_line] = {source.offset + (k == 0 ? from * size_ : 0),
                                            target.offset + (k + 1 == phase.steps.size() ? to * size_ : 0), count};
    run::gpu::Launch launch;
    launch.kernel = kernel.name;
    launch.grid = {fft::blocks_of(step.line, count), 1, 1};
    launch.block = {static_cast<int>(kernel.threads), 1, 1};
    launch.early = true;
    const std::shared_ptr<run::gpu::Memory> blocks[] = {source.memory, target.memory, kernel.tables};
    queue.launch(*module_, launch, blocks, integers);
  }
}

}  // namespace tessera::engine
