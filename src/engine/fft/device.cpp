// See device.hpp.
#include "engine/fft/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emit/device/kernels.hpp"
#include "lower/device.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

constexpr std::size_t integers_of_line = 3;

// What blocks that wait for each other call; `fresh` loads see what other blocks have written.
constexpr std::string_view cuda_helpers = R"(
#define tsr_fft_begin() __shared__ unsigned tsr_fft_number
#define tsr_fft_ticket(counters) tsr_fft_ticket_of(counters, &tsr_fft_number)
static __device__ __forceinline__ unsigned tsr_fft_ticket_of(unsigned char* counters, unsigned* ticket) {
  if (threadIdx.x == 0) *ticket = atomicAdd((unsigned*)counters, 1u);
  __syncthreads();
  return *ticket;
}
static __device__ __forceinline__ void tsr_fft_done(unsigned char* counters, unsigned which) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd((unsigned*)counters + which, 1u);
}
static __device__ __forceinline__ void tsr_fft_await(unsigned char* counters, unsigned which, unsigned count) {
  if (threadIdx.x == 0) {
    while (*((volatile unsigned*)counters + which) < count) {
    }
    __threadfence();
  }
  __syncthreads();
}
#define tsr_fresh_f32x2(p, a, b) \
  asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "l"(p) : "memory")
#define tsr_fresh_f64x2(p, a, b) \
  asm volatile("ld.global.cg.v2.f64 {%0, %1}, [%2];" : "=d"(a), "=d"(b) : "l"(p) : "memory")
)";
// Of NVIDIA's OpenCL alone.
constexpr std::string_view opencl_helpers = R"(
#define tsr_fft_fence() asm volatile("membar.gl;" ::: "memory")
#define tsr_fft_begin() __local uint tsr_fft_number
#define tsr_fft_ticket(counters) tsr_fft_ticket_of(counters, &tsr_fft_number)
static inline uint tsr_fft_ticket_of(__global uchar* counters, __local uint* ticket) {
  if (get_local_id(0) == 0) *ticket = atomic_add((volatile __global uint*)counters, 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  return *ticket;
}
static inline void tsr_fft_done(__global uchar* counters, uint which) {
  tsr_fft_fence();
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_add((volatile __global uint*)counters + which, 1u);
}
static inline void tsr_fft_await(__global uchar* counters, uint which, uint count) {
  if (get_local_id(0) == 0) {
    while (*((volatile __global uint*)counters + which) < count) {
    }
    tsr_fft_fence();
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
#define tsr_fresh_f32x2(p, a, b) \
  asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "l"(p) : "memory")
#define tsr_fresh_f64x2(p, a, b) \
  asm volatile("ld.global.cg.v2.f64 {%0, %1}, [%2];" : "=d"(a), "=d"(b) : "l"(p) : "memory")
)";

lower::DeviceKernel described(const fft::DeviceLineKernel& written, const fft::DeviceStep& step) {
  lower::DeviceKernel kernel;
  kernel.name = written.function.name;
  kernel.arrays = {0, 1, 2};
  if (step.second) kernel.arrays.push_back(3);
  kernel.integers.resize(integers_of_line);
  kernel.threads = {static_cast<int>(written.threads), 1, 1};
  kernel.blocks_at_once = static_cast<int>(step.line.blocks_at_once);
  kernel.shared_bytes = written.shared_bytes;
  // No block comes before the kernel before it has ended. Lines change memory in place, and turns of a loop use the
  // same memory again: what a block has read of it lies in a first-level cache, and a block that came early would take
  // that for what has been written since, for arrays that a kernel only reads are loaded as constants.
  kernel.strips = false;
  return kernel;
}

}  // namespace

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
  plan_ = fft::plan_on_device(problem, fft_options(limits, options));
  size_ = plan_.problem.type == ElementType::f32 ? 4 : 8;
  if (size_ == 8 && !limits.doubles)
    throw Error(ErrorClass::device,
                fmt::format("a transform of double numbers was asked for, which {} does not have", label_of(limits)));
  lower::DeviceProgram program;
  std::vector<std::vector<double>> tables;
  bool pairs = false;
  for (const fft::DevicePhase& phase : plan_.phases)
    for (const fft::DeviceStep& step : phase.steps) {
      if (kernel_of(step) != nullptr) continue;
      const std::string name = fmt::format("tsr_fft_{}", kernels_.size());
      fft::DeviceLineKernel written = fft::written(step, name);
      pairs = pairs || step.second;
      kernels_.push_back({step, name, written.threads, {}});
      program.kernels.push_back(described(written, step));
      program.kernels.back().function = program.module.functions.size();
      program.module.functions.push_back(std::move(written.function));
      tables.push_back(std::move(written.tables));
    }
  source_ = emit::print_device(program, cuda ? emit::DeviceDialect::cuda : emit::DeviceDialect::opencl, false);
  if (pairs) source_ = std::string(cuda ? cuda_helpers : opencl_helpers) + source_;
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

const FftOnDevice::Kernel* FftOnDevice::kernel_of(const fft::DeviceStep& step) const {
  for (const Kernel& k : kernels_)
    if (k.step == step) return &k;
  return nullptr;
}

std::vector<run::gpu::Module::Usage> FftOnDevice::usage() const {
  std::vector<run::gpu::Module::Usage> all;
  for (const Kernel& k : kernels_) all.push_back(usage_of(k.step));
  return all;
}

run::gpu::Module::Usage FftOnDevice::usage_of(const fft::DeviceStep& step) const {
  const Kernel& kernel = *kernel_of(step);
  return module_->usage(kernel.name, static_cast<int>(kernel.threads), 0);
}

// As much memory as the result has, from its first number to its last.
FftOnDevice::Place FftOnDevice::spare() const {
  const fft::Problem& p = plan_.problem;
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
  for (const i64 n : plan_.problem.batch)
    if (n == 0) return;
  Buffers buffers(fft::DeviceStep::buffers);
  const auto at = [&](Buffer which) -> Place& { return buffers[static_cast<std::size_t>(which)]; };
  at(Buffer::input) = from;
  at(Buffer::output) = to;
  bool other = false;
  for (const fft::DevicePhase& phase : plan_.phases) other = other || phase.steps.size() > 2;
  if (plan_.half > 0) at(Buffer::half).memory = device_->allocate(plan_.half * size_);
  if (plan_.whole > 0) at(Buffer::whole).memory = device_->allocate(plan_.whole * size_);
  if (plan_.chunk > 0) at(Buffer::chunk).memory = device_->allocate(plan_.chunk * size_);
  if (other) at(Buffer::other_chunk).memory = device_->allocate(plan_.chunk * size_);

  // What changes places cannot do so where it lies: then the first pass writes elsewhere, and the second one comes
  // back.
  const bool moved = plan_.permutes && plan_.whole == 0 && from.memory == to.memory && from.offset == to.offset;
  const Place elsewhere = moved ? spare() : Place{};
  for (std::size_t k = 0; k < plan_.phases.size(); ++k) {
    Buffers sources = buffers, targets = buffers;
    if (moved && k == 0) targets[static_cast<std::size_t>(Buffer::output)] = elsewhere;
    if (moved && k == 1) sources[static_cast<std::size_t>(Buffer::output)] = elsewhere;
    run_phase(queue, plan_.phases[k], sources, targets);
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
  const Kernel& kernel = *kernel_of(step);
  std::vector<std::shared_ptr<run::gpu::Memory>> blocks = {from.memory, to.memory, kernel.tables};
  if (step.second) {
    const i64 bytes = step.order.counters() * static_cast<i64>(sizeof(std::uint32_t));
    blocks.push_back(device_->allocate(bytes));
    queue.fill(*blocks.back(), 0, bytes, 0);
  }
  run::gpu::Launch launch;
  launch.kernel = kernel.name;
  launch.grid = {fft::blocks_of(step, count), 1, 1};
  launch.block = {static_cast<int>(kernel.threads), 1, 1};
  const i64 integers[integers_of_line] = {from.offset, to.offset, count};
  queue.launch(*module_, launch, blocks, integers);
}

}  // namespace tessera::engine
