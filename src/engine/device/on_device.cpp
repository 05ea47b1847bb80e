// See on_device.hpp.
#include "engine/device/on_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "emit/device/kernels.hpp"
#include "engine/device/launch_order.hpp"
#include "run/cuda/cuda.hpp"
#include "run/opencl/opencl.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

// Can kernels use the array where it lies?
bool usable(const Array& a) {
  if (a.rank() == 0) return true;
  const auto aligned = [](i64 n) { return n % row_alignment == 0; };
  for (std::size_t d = 0; d + 1 < a.strides().size(); ++d)
    if (a.shape()[d] > 1 && !aligned(a.strides()[d])) return false;
  const bool packed = a.shape().back() == 1 || a.strides().back() == static_cast<i64>(a.format().size());
  return packed && aligned(static_cast<i64>(reinterpret_cast<std::uintptr_t>(a.data()) % row_alignment));
}

}  // namespace

const Array* given(const lower::ArrayRef& ref, const std::vector<Array>& inputs, const std::vector<Array>& outputs) {
  const bool outside = ref.kind == lower::ArrayRef::Kind::argument || ref.kind == lower::ArrayRef::Kind::output;
  if (!outside) return nullptr;
  const std::vector<Array>& list = ref.kind == lower::ArrayRef::Kind::argument ? inputs : outputs;
  return ref.index < list.size() && list[ref.index].on_device() && usable(list[ref.index]) ? &list[ref.index] : nullptr;
}

std::shared_ptr<run::gpu::Device> open_device(const RunOptions& options) {
  if (options.target == "cuda") return run::cuda::open(options.device);
  if (options.target == "opencl") return run::opencl::open(options.device);
  throw Error(ErrorClass::argument,
              fmt::format("there is no target {}, expected cpu, cuda or opencl", base::quoted(options.target)));
}

DeviceCode code_for(const ir::Graph& graph, const RunOptions& options, const run::gpu::Limits& limits,
                    const std::vector<i64>& of_class, bool narrow) {
  machine::Abilities abilities = abilities_of(limits);
  abilities.narrow = narrow;
  return device_code(graph, abilities, options.schedule, options.numbers, options.method,
                     limits.shared_bytes_per_block > 0 ? limits.shared_bytes_per_block : lower::shared_of_block,
                     of_class);
}

DeviceExecutable::DeviceExecutable(const ir::Graph& graph, const RunOptions& options,
                                   std::shared_ptr<run::gpu::Device> device, DeviceCode code)
    : graph_(graph), device_(std::move(device)) {
  plan_ = std::move(code.plan);
  program_ = std::move(code.program);
  const bool exact = options.numbers == Numbers::exact, cuda = device_->limits().target == "cuda";
  source_ =
      emit::print_device(program_, cuda ? emit::DeviceDialect::cuda : emit::DeviceDialect::opencl, {.exact = exact});
  module_ = device_->load(source_, exact ? run::gpu::Arithmetic::exact : run::gpu::Arithmetic::fast);
  if (!program_.tables.empty()) {
    const std::unique_ptr<run::gpu::Queue> queue = device_->queue();
    for (const lower::DeviceTable& table : program_.tables) tables_.push_back(memory_of(*queue, table));
  }
}

std::shared_ptr<const DeviceMemory> DeviceExecutable::memory_of(run::gpu::Queue& queue,
                                                                const lower::DeviceTable& table) const {
  std::vector<double> values = table.values();
  values.resize(std::max<std::size_t>(values.size(), 4));
  const std::vector<float> singles(values.begin(), values.end());
  const bool doubles = table.type == ElementType::f64;
  const i64 bytes = std::max(least_block, static_cast<i64>(values.size() * (doubles ? sizeof(double) : sizeof(float))));
  auto memory = std::make_shared<const DeviceMemory>(device_, device_->allocate(bytes));
  const void* from = doubles ? static_cast<const void*>(values.data()) : singles.data();
  queue.upload(*memory->block(), 0, static_cast<const std::byte*>(from), {1, bytes, bytes, bytes});
  queue.wait();
  return memory;
}

DeviceExecutable::Bound::Bound(const DeviceExecutable& program, const std::vector<i64>& parameters,
                               run::gpu::Queue& queue, const Slab& slab, const std::vector<Array>& inputs,
                               const std::vector<Array>& outputs)
    : program_(program), queue_(queue), slab_(slab) {
  const std::vector<lower::ArrayRef>& arrays = program.program_.interface.arrays;
  const plan::Plan& plan = program.plan_;
  std::vector<i64> bytes(program.program_.interface.memories);
  const auto allocate = [&](i64 n) {
    return std::make_shared<const DeviceMemory>(program.device_, program.device_->allocate(std::max(n, least_block)));
  };
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    const lower::ArrayRef& ref = arrays[k];
    Place& place = places_.emplace_back();
    for (std::size_t d = 1; ref.is_array && d < ref.extents.size(); ++d)
      place.inner.push_back(plan.graph.evaluate(ref.extents[d], parameters));
    if (const Array* callers = given(ref, inputs, outputs)) {
      const Array array = rows_of(k, *callers, {});
      place.memory = std::dynamic_pointer_cast<const DeviceMemory>(array.memory());
      place.offset = place.memory->offset_of(array);
      if (array.rank() > 0) place.strides.assign(array.strides().begin(), array.strides().end() - 1);
      place.given = true;
      continue;
    }
    if (slab.whole && ref.part) continue;
    if (ref.kind == lower::ArrayRef::Kind::table) {
      place.memory = program.tables_.at(ref.index);
      continue;
    }
    const Laid laid = lay(ref, plan, parameters);
    const i64 size = laid.row_bytes * slab.lying[k].count();
    place.strides = laid.strides;
    place.offset = -laid.row_bytes * slab.lying[k].first;
    if (is_inside(ref))
      bytes[ref.memory] = std::max(bytes[ref.memory], size);
    else
      place.memory = allocate(size);
  }
  std::vector<std::shared_ptr<const DeviceMemory>> shared;
  for (const i64 n : bytes) shared.push_back(allocate(n));
  for (std::size_t k = 0; k < places_.size(); ++k)
    if (is_inside(arrays[k])) places_[k].memory = shared[arrays[k].memory];
  for (std::size_t k = 0; k < places_.size(); ++k)
    if (slab.whole && arrays[k].part) lie_in_whole(k);
  for (std::size_t k = 0; k < program.program_.kernels.size(); ++k)
    if (!slab.computed[k].empty() && !(slab.whole && program.program_.kernels[k].in_place))
      launches_.push_back(ready(k, parameters));
  order();
}

// Tells kernels what they wait for.
void DeviceExecutable::Bound::order() {
  const std::vector<lower::ArrayRef>& arrays = program_.program_.interface.arrays;
  const auto touched = [&](std::size_t k) {
    const auto begin = reinterpret_cast<std::uintptr_t>(places_[k].memory->address());
    Touched result{begin, begin + static_cast<std::uintptr_t>(places_[k].memory->block()->bytes())};
    if (slab_.whole && arrays[k].part) result.whole = arrays[k].part->whole + 1, result.part = k + 1;
    return result;
  };
  std::vector<Touching> touching;
  for (const Ready& launch : launches_) {
    const lower::DeviceKernel& kernel = program_.program_.kernels[launch.kernel];
    Touching& all = touching.emplace_back();
    const bool told = std::any_of(kernel.integers.begin(), kernel.integers.end(), [](const auto& what) {
      return what.kind == lower::DeviceKernel::Integer::Kind::order;
    });
    all.early = told && launch.launch.early && launch.launch.grid[0] < INT32_MAX;
    for (const auto& reach : kernel.reads) all.reads.push_back(touched(kernel.arrays[reach.array]));
    for (const auto& reach : kernel.writes) all.writes.push_back(touched(kernel.arrays[reach.array]));
  }
  const std::vector<LaunchOrder> orders = launch_orders(touching);
  for (std::size_t l = 0; l < launches_.size(); ++l) {
    const lower::DeviceKernel& kernel = program_.program_.kernels[launches_[l].kernel];
    launches_[l].launch.beside = orders[l] == LaunchOrder::beside;
    for (std::size_t n = 0; n < kernel.integers.size(); ++n)
      if (kernel.integers[n].kind == lower::DeviceKernel::Integer::Kind::order)
        launches_[l].integers[n] = static_cast<i64>(orders[l]);
  }
}

void DeviceExecutable::Bound::lie_in_whole(std::size_t k) {
  const lower::ArrayRef::Part& part = *program_.program_.interface.arrays[k].part;
  const Place& whole = places_[part.whole];
  Place& place = places_[k];
  place.memory = whole.memory;
  place.offset = whole.offset;
  for (std::size_t d = 0; d < whole.strides.size(); ++d) place.offset += part.start[d] * whole.strides[d];
  place.strides.assign(whole.strides.end() - static_cast<std::ptrdiff_t>(place.inner.size()), whole.strides.end());
}

DeviceExecutable::Bound::Ready DeviceExecutable::Bound::ready(std::size_t number,
                                                              const std::vector<i64>& parameters) const {
  const lower::DeviceKernel& kernel = program_.program_.kernels[number];
  KernelLaunch planned = program_.launch_of(kernel, parameters, slab_.computed[number],
                                            [&](std::size_t array) -> const Placement& { return places_[array]; });
  Ready result;
  result.kernel = number;
  result.launch = planned.launch;
  result.integers = std::move(planned.integers);
  for (const std::size_t k : kernel.arrays) result.blocks.push_back(places_[k].memory->block());
  return result;
}

Array DeviceExecutable::Bound::rows_of(std::size_t k, const Array& array, RowRange rows) const {
  const lower::ArrayRef& ref = program_.program_.interface.arrays[k];
  const std::size_t rank = ref.is_array ? ref.extents.size() : 0, lead = rank - array.shape().size();
  Shape shape(lead, 1);
  std::vector<i64> strides(lead, 0);
  shape.insert(shape.end(), array.shape().begin(), array.shape().end());
  strides.insert(strides.end(), array.strides().begin(), array.strides().end());
  auto* from = static_cast<std::byte*>(array.data());
  if (rank > 0 && !rows.empty()) {
    from += rows.first * strides.front();
    shape.front() = rows.count();
  }
  return array.on_device() ? Array::in(array.memory(), from, array.format(), shape, strides)
                           : Array::share(array.owner(), from, array.format(), shape, strides);
}

Array DeviceExecutable::Bound::lying(std::size_t k, RowRange rows) const {
  const lower::ArrayRef& ref = program_.program_.interface.arrays[k];
  const Place& place = places_[k];
  const std::size_t rank = ref.is_array ? ref.extents.size() : 0;
  Shape shape = rank > 0 ? Shape{rows.count()} : Shape{};
  std::vector<i64> strides = place.strides;
  if (rank > 0) strides.push_back(static_cast<i64>(ref.format.size()));
  if (rank > 0) shape.insert(shape.end(), place.inner.begin(), place.inner.end());
  const i64 at = place.offset + (rank > 0 ? rows.first * strides.front() : 0);
  return Array::in(place.memory, static_cast<std::byte*>(place.memory->address()) + at, ref.format, shape, strides);
}

void DeviceExecutable::Bound::upload(const std::vector<Array>& inputs, const std::vector<Array>& outputs) {
  const std::vector<lower::ArrayRef>& arrays = program_.program_.interface.arrays;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const lower::ArrayRef& ref = arrays[k];
    const bool input = ref.kind == lower::ArrayRef::Kind::argument;
    const bool padded = ref.kind == lower::ArrayRef::Kind::output && ref.format.has_padding();
    if (places_[k].given || (!input && (!padded || outputs.empty()))) continue;
    const RowRange rows = input ? slab_.lying[k] : slab_.results[k];
    if (rows.empty()) continue;
    const Array to = lying(k, rows);
    copy(queue_, to, rows_of(k, input ? inputs[ref.index] : outputs[ref.index], rows));
    uploaded_ += element_count(to.shape()) * static_cast<i64>(to.format().size());
  }
}

void DeviceExecutable::Bound::launch(const RunOptions& options) {
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    if (options.cancel != nullptr && *options.cancel) {
      queue_.wait();
      throw Error(ErrorClass::cancelled, "interrupted");
    }
    queue_.launch(*program_.module_, launches_[k].launch, launches_[k].blocks, launches_[k].integers);
  }
}

void DeviceExecutable::Bound::download(const std::vector<Array>& outputs) {
  const std::vector<lower::ArrayRef>& arrays = program_.program_.interface.arrays;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const RowRange rows = slab_.results[k];
    if (arrays[k].kind != lower::ArrayRef::Kind::output || places_[k].given || rows.empty()) continue;
    const Array from = lying(k, rows);
    copy(queue_, rows_of(k, outputs[arrays[k].index], rows), from);
    downloaded_ += element_count(from.shape()) * static_cast<i64>(from.format().size());
  }
}

bool DeviceExecutable::takes(const std::vector<i64>& parameters) const {
  return engine::takes(program_, plan_.graph, parameters);
}

run::gpu::Module::Usage DeviceExecutable::usage_of(const lower::DeviceKernel& kernel) const {
  return module_->usage(kernel.name, kernel.threads_of_block(), 0);
}

KernelLaunch DeviceExecutable::launch_of(const lower::DeviceKernel& kernel, const std::vector<i64>& parameters,
                                         std::optional<RowRange> rows,
                                         const std::function<const Placement&(std::size_t)>& lying) const {
  const int at_once = kernel.strips || kernel.marches ? usage_of(kernel).blocks_per_multiprocessor : 0;
  return launch_plan(kernel, {plan_.graph, parameters, device_->limits().multiprocessors, at_once, rows, lying});
}

const DeviceExecutable& DeviceExecutable::serving(const std::vector<i64>& parameters, const RunOptions& options) const {
  return takes(parameters) ? *this : small(options)->serving(parameters, options);
}

std::shared_ptr<const DeviceExecutable> DeviceExecutable::small(const RunOptions& options) const {
  const base::Lock lock(mutex_, small_);
  if (!small_) {
    RunOptions how = options;
    const bool narrow = is_wide(program_);
    if (!narrow) how.schedule = Schedule::untiled;
    small_ = std::make_shared<const DeviceExecutable>(graph_, how, device_,
                                                      code_for(graph_, how, device_->limits(), {}, narrow));
  }
  return small_;
}

std::unique_ptr<DeviceExecutable::Bound> DeviceExecutable::bind(const std::vector<i64>& parameters,
                                                                run::gpu::Queue& queue,
                                                                const RunOptions& options) const {
  const DeviceExecutable& which = serving(parameters, options);
  const Slab all = slab(which.program_, which.plan_.graph, parameters, 0, 1);
  return std::make_unique<Bound>(which, parameters, queue, all);
}

}  // namespace tessera::engine
