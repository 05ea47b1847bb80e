// See on_device.hpp.
#include "engine/on_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "emit/device.hpp"
#include "run/cuda/cuda.hpp"
#include "run/opencl/opencl.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

// Rows on the device begin at multiples of this.
constexpr i64 row_alignment = 16;

}  // namespace

std::shared_ptr<run::gpu::Device> open_device(const RunOptions& options) {
  if (options.target == "cuda") return run::cuda::open(options.device);
  if (options.target == "opencl") return run::opencl::open(options.device);
  throw Error(ErrorClass::argument,
              fmt::format("there is no target {}, expected cpu, cuda or opencl", base::quoted(options.target)));
}

DeviceExecutable::DeviceExecutable(const ir::Graph& graph, const RunOptions& options,
                                   std::shared_ptr<run::gpu::Device> device)
    : graph_(graph), device_(std::move(device)) {
  DeviceCode code = device_code(graph, options.schedule, options.numbers);
  plan_ = std::move(code.plan);
  program_ = std::move(code.program);
  const bool exact = options.numbers == Numbers::exact, cuda = device_->limits().target == "cuda";
  source_ = emit::print_device(program_, cuda ? emit::DeviceDialect::cuda : emit::DeviceDialect::opencl, exact);
  module_ = device_->load(source_, exact);
}

DeviceExecutable::Bound::Bound(const DeviceExecutable& program, const std::vector<i64>& parameters)
    : program_(program), queue_(program.device_->queue()) {
  const lower::Interface& interface = program.program_.interface;
  const plan::Plan& plan = program.plan_;
  std::vector<i64> bytes(interface.memories);
  for (const lower::ArrayRef& ref : interface.arrays) {
    Place place;
    i64 size = static_cast<i64>(ref.format.size());
    if (ref.kind == lower::ArrayRef::Kind::intermediate) size = ir::nest::size_of(plan.stages[ref.index].lane);
    const std::size_t rank = ref.is_array ? ref.extents.size() : 0;
    i64 stride = size;
    place.strides.resize(rank > 0 ? rank - 1 : 0);
    for (std::size_t d = rank; d-- > 0;) {
      if (d + 1 < rank) place.strides[d] = stride;
      stride *= plan.graph.evaluate(ref.extents[d], parameters);
      if (d + 1 == rank) stride = (stride + row_alignment - 1) / row_alignment * row_alignment;
    }
    if (ref.kind == lower::ArrayRef::Kind::intermediate)
      bytes[ref.memory] = std::max(bytes[ref.memory], stride);
    else
      place.memory = program.device_->allocate(stride);
    places_.push_back(std::move(place));
  }
  std::vector<std::shared_ptr<run::gpu::Memory>> shared;
  for (const i64 n : bytes) shared.push_back(program.device_->allocate(n));
  for (std::size_t k = 0; k < places_.size(); ++k)
    if (interface.arrays[k].kind == lower::ArrayRef::Kind::intermediate)
      places_[k].memory = shared[interface.arrays[k].memory];
  for (const lower::DeviceKernel& kernel : program.program_.kernels) launches_.push_back(ready(kernel, parameters));
}

DeviceExecutable::Bound::Ready DeviceExecutable::Bound::ready(const lower::DeviceKernel& kernel,
                                                              const std::vector<i64>& parameters) const {
  using Kind = lower::DeviceKernel::Integer::Kind;
  const ir::Graph& graph = program_.plan_.graph;
  Ready result;
  const KernelLaunch planned = program_.launch_of(kernel, parameters);
  result.launch = planned.launch;
  for (const std::size_t k : kernel.arrays) result.blocks.push_back(places_[k].memory);
  for (const lower::DeviceKernel::Integer& what : kernel.integers) {
    switch (what.kind) {
      case Kind::size:
        result.integers.push_back(graph.evaluate(what.size, parameters));
        break;
      case Kind::offset:
        result.integers.push_back(0);
        break;
      case Kind::stride:
        result.integers.push_back(places_[kernel.arrays[what.array]].strides.at(what.dimension));
        break;
      case Kind::blocks:
        result.integers.push_back(planned.blocks[what.dimension]);
        break;
      case Kind::strip:
        result.integers.push_back(planned.strip_rows);
        break;
    }
  }
  if (result.integers.empty()) result.integers.push_back(0);
  return result;
}

// Calls copy(host, offset, rows) for the largest pieces of the array whose rows are evenly apart on both sides.
template <class Copy>
void DeviceExecutable::Bound::each_row_block(const Array& array, const Place& place, Copy copy) const {
  const std::size_t rank = array.shape().size();
  const i64 size = static_cast<i64>(array.format().size());
  auto* host = static_cast<std::byte*>(array.data());
  if (rank == 0) {
    copy(host, i64{0}, run::gpu::Rows{1, size, size, size});
    return;
  }
  const std::size_t lead = place.strides.size() + 1 - rank;
  const auto& shape = array.shape();
  const auto& strides = array.strides();
  run::gpu::Rows rows{1, shape[rank - 1] * size, 0, 0};
  // Dimensions that follow each other evenly become one.
  std::size_t outer = rank - 1;
  if (outer > 0) {
    --outer;
    rows = {shape[outer], rows.row_bytes, strides[outer], place.strides[lead + outer]};
    while (outer > 0 && strides[outer - 1] == strides[outer] * shape[outer] &&
           place.strides[lead + outer - 1] == place.strides[lead + outer] * shape[outer]) {
      --outer;
      rows.rows *= shape[outer];
    }
  } else {
    rows.host_pitch = rows.device_pitch = rows.row_bytes;
  }
  std::vector<i64> at(outer);
  for (;;) {
    i64 from = 0, to = 0;
    for (std::size_t d = 0; d < outer; ++d) from += at[d] * strides[d], to += at[d] * place.strides[lead + d];
    copy(host + from, to, rows);
    std::size_t d = outer;
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

void DeviceExecutable::Bound::upload(const std::vector<Array>& inputs, const std::vector<Array>& outputs) {
  const lower::Interface& interface = program_.program_.interface;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const lower::ArrayRef& ref = interface.arrays[k];
    const bool input = ref.kind == lower::ArrayRef::Kind::argument;
    const bool padded = ref.kind == lower::ArrayRef::Kind::output && ref.format.has_padding();
    if (!input && (!padded || outputs.empty())) continue;
    each_row_block(input ? inputs[ref.index] : outputs[ref.index], places_[k],
                   [&](const std::byte* host, i64 offset, const run::gpu::Rows& rows) {
                     queue_->upload(*places_[k].memory, offset, host, rows);
                   });
  }
}

void DeviceExecutable::Bound::launch(const RunOptions& options) {
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    if (options.cancel != nullptr && *options.cancel) {
      queue_->wait();
      throw Error(ErrorClass::cancelled, "interrupted");
    }
    queue_->launch(*program_.module_, launches_[k].launch, launches_[k].blocks, launches_[k].integers);
  }
}

void DeviceExecutable::Bound::download(const std::vector<Array>& outputs) {
  const lower::Interface& interface = program_.program_.interface;
  for (std::size_t k = 0; k < places_.size(); ++k)
    if (interface.arrays[k].kind == lower::ArrayRef::Kind::output)
      each_row_block(outputs[interface.arrays[k].index], places_[k],
                     [&](std::byte* host, i64 offset, const run::gpu::Rows& rows) {
                       queue_->download(host, *places_[k].memory, offset, rows);
                     });
  queue_->wait();
}

bool DeviceExecutable::takes(const std::vector<i64>& parameters) const {
  return engine::takes(program_, plan_.graph, parameters);
}

run::gpu::Module::Usage DeviceExecutable::usage_of(const lower::DeviceKernel& kernel) const {
  return module_->usage(kernel.name, kernel.threads_of_block(), 0);
}

KernelLaunch DeviceExecutable::launch_of(const lower::DeviceKernel& kernel, const std::vector<i64>& parameters) const {
  const int at_once = kernel.strips ? usage_of(kernel).blocks_per_multiprocessor : 0;
  return launch_plan(kernel, plan_.graph, parameters, at_once, device_->limits().multiprocessors);
}

const DeviceExecutable& DeviceExecutable::serving(const std::vector<i64>& parameters, const RunOptions& options) const {
  return takes(parameters) ? *this : *small(options);
}

std::shared_ptr<const DeviceExecutable> DeviceExecutable::small(const RunOptions& options) const {
  const std::lock_guard lock(mutex_);
  if (!small_) {
    RunOptions untiled = options;
    untiled.schedule = Schedule::untiled;
    small_ = std::make_shared<const DeviceExecutable>(graph_, untiled, device_);
  }
  return small_;
}

std::unique_ptr<DeviceExecutable::Bound> DeviceExecutable::bind(const std::vector<i64>& parameters,
                                                                const RunOptions& options) const {
  return std::make_unique<Bound>(serving(parameters, options), parameters);
}

void DeviceExecutable::run(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                           const std::vector<Array>& outputs, const RunOptions& options) const {
  const std::unique_ptr<Bound> bound = bind(parameters, options);
  bound->upload(inputs, outputs);
  bound->launch(options);
  bound->download(outputs);
  if (options.on_progress) options.on_progress({1, 1});
}

}  // namespace tessera::engine
