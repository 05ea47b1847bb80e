// See device.hpp.
#include "engine/fft/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emit/device/kernels.hpp"
#include "emit/device/transforms.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

fft::DeviceOptions fft_options(const run::gpu::Limits& limits, fft::DeviceOptions options) {
  // (OpenCL says nothing of blocks that wait for each other; on NVIDIA's GPUs they do as in CUDA.)
  options.pairs = limits.target == "cuda" || limits.shuffles;
  options.multiprocessors = limits.multiprocessors;
  return options;
}

FftOnDevice::FftOnDevice(const fft::Problem& problem, std::shared_ptr<run::gpu::Device> device,
                         fft::DeviceOptions options)
    : device_(std::move(device)) {
  const run::gpu::Limits& limits = device_->limits();
  const bool cuda = limits.target == "cuda";
  made_.plan = fft::plan_on_device(problem, fft_options(limits, options));
  size_ = made_.plan.problem.type == ElementType::f32 ? 4 : 8;
  if (size_ == 8 && !limits.doubles)
    throw Error(ErrorClass::device,
                fmt::format("a transform of double numbers was asked for, which {} does not have", label_of(limits)));
  made_ = lower::lower_transform(std::move(made_.plan), "tsr_fft_");
  const auto dialect = cuda ? emit::DeviceDialect::cuda : emit::DeviceDialect::opencl;
  // Of one size there is one text, and no part of a spectrum is computed alone: what the compiler contracts is the same
  // in all runs.
  source_ = emit::print_device(made_.program, dialect, {.contracts = true});
  if (made_.waits) source_.insert(0, emit::waiting_text(dialect));
  module_ = device_->load(source_, run::gpu::Arithmetic::contracted);
  const std::unique_ptr<run::gpu::Queue> queue = device_->queue();
  for (const lower::TransformKernel& k : made_.kernels) tables_.push_back(table(*queue, k.tables));
}

std::shared_ptr<run::gpu::Memory> FftOnDevice::table(run::gpu::Queue& queue, const std::vector<double>& numbers) const {
  std::vector<float> singles;
  if (size_ == 4) singles.assign(numbers.begin(), numbers.end());
  const i64 bytes = static_cast<i64>(numbers.size()) * size_;
  std::shared_ptr<run::gpu::Memory> memory = device_->allocate(bytes);
  const void* from = size_ == 4 ? static_cast<const void*>(singles.data()) : numbers.data();
  queue.upload(*memory, 0, static_cast<const std::byte*>(from), {1, bytes, bytes, bytes});
  queue.wait();
  return memory;
}

std::vector<run::gpu::Module::Usage> FftOnDevice::usage() const {
  std::vector<run::gpu::Module::Usage> all;
  for (const lower::TransformKernel& k : made_.kernels) all.push_back(usage_of(k.step));
  return all;
}

run::gpu::Module::Usage FftOnDevice::usage_of(const fft::DeviceStep& step) const {
  const lower::TransformKernel& kernel = made_.kernel_of(step);
  return module_->usage(kernel.name, static_cast<int>(kernel.threads), 0);
}

// As much memory as the result has, from its first number to its last.
FftOnDevice::Place FftOnDevice::spare() const {
  const fft::Problem& p = made_.plan.problem;
  i64 lowest = 0, highest = fft::row_of_to(p);
  for (std::size_t d = 0; d < p.to_strides.size(); ++d) {
    const i64 extent = d < p.batch.size() ? p.batch[d] : p.extents[d - p.batch.size()];
    const i64 reach = p.to_strides[d] * (extent - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  return {device_->allocate((highest - lowest) * 2 * size_), -lowest * 2 * size_};
}

void FftOnDevice::run(run::gpu::Queue& queue, const Place& from, const Place& to) const {
  using Buffer = fft::DeviceStep::Buffer;
  for (const i64 n : made_.plan.problem.batch)
    if (n == 0) return;
  Buffers buffers(fft::DeviceStep::buffers);
  const auto at = [&](Buffer which) -> Place& { return buffers[static_cast<std::size_t>(which)]; };
  at(Buffer::input) = from;
  at(Buffer::output) = to;
  bool other = false;
  for (const fft::DevicePhase& phase : made_.plan.phases) other = other || phase.steps.size() > 2;
  if (made_.plan.half > 0) at(Buffer::half).memory = device_->allocate(made_.plan.half * size_);
  if (made_.plan.whole > 0) at(Buffer::whole).memory = device_->allocate(made_.plan.whole * size_);
  if (made_.plan.chunk > 0) at(Buffer::chunk).memory = device_->allocate(made_.plan.chunk * size_);
  if (other) at(Buffer::other_chunk).memory = device_->allocate(made_.plan.chunk * size_);

  // What changes places cannot do so where it lies: then the first pass writes elsewhere, and the second one comes
  // back.
  const bool moved =
      made_.plan.permutes && made_.plan.whole == 0 && from.memory == to.memory && from.offset == to.offset;
  const Place elsewhere = moved ? spare() : Place{};
  for (std::size_t k = 0; k < made_.plan.phases.size(); ++k) {
    Buffers sources = buffers, targets = buffers;
    if (moved && k == 0) targets[static_cast<std::size_t>(Buffer::output)] = elsewhere;
    if (moved && k == 1) sources[static_cast<std::size_t>(Buffer::output)] = elsewhere;
    run_phase(queue, made_.plan.phases[k], sources, targets);
  }
}

void FftOnDevice::run_phase(run::gpu::Queue& queue, const fft::DevicePhase& phase, const Buffers& sources,
                            const Buffers& targets) const {
  i64 turns = 1;
  for (const fft::DevicePhase::Loop& loop : phase.loops) turns *= loop.extent;
  for (i64 turn = 0; turn < turns; ++turn) {
    i64 rest = turn, from = 0, to = 0;  // numbers from the begin of the arrays
    for (const fft::DevicePhase::Loop& loop : phase.loops) {
      from += rest % loop.extent * loop.from;
      to += rest % loop.extent * loop.to;
      rest /= loop.extent;
    }
    for (i64 first = 0; first < phase.counted.extent; first += phase.chunk) {
      for (std::size_t k = 0; k < phase.steps.size(); ++k) {
        const fft::DeviceStep& step = phase.steps[k];
        const bool last = k + 1 == phase.steps.size();
        Place source = sources[static_cast<std::size_t>(step.from)];
        Place target = (last ? targets : sources)[static_cast<std::size_t>(step.to)];
        if (k == 0) source.offset += (from + first * phase.counted.from) * size_;
        if (last) target.offset += (to + first * phase.counted.to) * size_;
        run_step(queue, step, source, target, std::min(phase.chunk, phase.counted.extent - first));
      }
    }
  }
}

void FftOnDevice::run_step(run::gpu::Queue& queue, const fft::DeviceStep& step, const Place& from, const Place& to,
                           i64 count) const {
  const std::size_t index = made_.index_of(step);
  const lower::TransformKernel& kernel = made_.kernels[index];
  std::vector<std::shared_ptr<run::gpu::Memory>> blocks = {from.memory, to.memory, tables_[index]};
  if (step.second) {
    const i64 bytes = step.order.counters() * static_cast<i64>(sizeof(std::uint32_t));
    blocks.push_back(device_->allocate(bytes));
    queue.fill(*blocks.back(), 0, bytes, 0);
  }
  run::gpu::Launch launch;
  launch.kernel = kernel.name;
  launch.grid = {fft::blocks_of(step, count), 1, 1};
  launch.block = {static_cast<int>(kernel.threads), 1, 1};
  const i64 integers[lower::integers_of_transform] = {from.offset, to.offset, count};
  queue.launch(*module_, launch, blocks, integers);
}

}  // namespace tessera::engine
