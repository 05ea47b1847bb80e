// See array.hpp and tessera/device.hpp.
#include "engine/device/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "data/layout.hpp"
#include "engine/device/on_device.hpp"
#include "run/cuda/cuda.hpp"
#include "tessera/error.hpp"

namespace tessera {

namespace engine {

namespace {

// Numbers that are no address of the host's.
std::uintptr_t next_range(i64 bytes) {
  static std::atomic<std::uintptr_t> next{std::uintptr_t{1} << 60};
  constexpr std::uintptr_t page = 4096;
  return next.fetch_add((static_cast<std::uintptr_t>(bytes) / page + 2) * page);
}

}  // namespace

const DeviceMemory* memory_of(const Array& a) {
  return dynamic_cast<const DeviceMemory*>(a.memory().get());
}

PaddedRows padded_rows(i64 element_bytes, const Shape& shape) {
  PaddedRows result;
  result.strides.resize(shape.size());
  i64 stride = element_bytes;
  for (std::size_t d = shape.size(); d-- > 0;) {
    result.strides[d] = stride;
    if (__builtin_mul_overflow(stride, shape[d], &stride) || stride > INT64_MAX - row_alignment)
      throw Error(ErrorClass::argument,
                  fmt::format("an array of {} elements does not fit in memory", to_string(shape)));
    if (d + 1 == shape.size()) stride = (stride + row_alignment - 1) / row_alignment * row_alignment;
  }
  result.bytes = stride;
  return result;
}

DeviceMemory::DeviceMemory(std::shared_ptr<run::gpu::Device> device, std::shared_ptr<run::gpu::Memory> block)
    : device_(std::move(device)), block_(std::move(block)) {
  address_ = device_->limits().target == "cuda" ? reinterpret_cast<std::uintptr_t>(run::cuda::pointer_of(*block_))
                                                : next_range(block_->bytes());
}

i64 DeviceMemory::offset_of(const Array& a) const {
  return static_cast<i64>(reinterpret_cast<std::uintptr_t>(a.data()) - address_);
}

std::string DeviceMemory::place() const {
  return label_of(device_->limits());
}

Array DeviceMemory::make(Format format, Shape shape) const {
  return make_array(device_, std::move(format), std::move(shape));
}

void DeviceMemory::copy(Array to, Array from) const {
  // From one device to another: by way of the host.
  if (to.on_device() && from.on_device() && memory_of(to)->device() != memory_of(from)->device()) from = from.to_host();
  const std::unique_ptr<run::gpu::Queue> queue = (to.on_device() ? memory_of(to) : memory_of(from))->device()->queue();
  engine::copy(*queue, to, from);
  queue->wait();
}

Array make_array(const std::shared_ptr<run::gpu::Device>& device, Format format, Shape shape) {
  element_count(shape);  // no extent is negative
  PaddedRows rows = padded_rows(static_cast<i64>(format.size()), shape);
  auto memory = std::make_shared<DeviceMemory>(device, device->allocate(rows.bytes));
  void* const at = memory->address();
  return Array::in(std::move(memory), at, std::move(format), std::move(shape), std::move(rows.strides));
}

void copy(run::gpu::Queue& queue, const Array& to, const Array& from) {
  if (element_count(to.shape()) == 0) return;
  const DeviceMemory *target = memory_of(to), *source = memory_of(from);
  data::Walk walk = data::joined(to.shape(), to.strides(), from.strides());
  i64 row_bytes = static_cast<i64>(to.format().size());
  if (!walk.extents.empty() && walk.to.back() == row_bytes && walk.from.back() == row_bytes) {
    row_bytes *= walk.extents.back();
    walk.extents.pop_back(), walk.to.pop_back(), walk.from.pop_back();
  }
  const std::size_t rank = walk.extents.size();
  // One dimension goes with the rows of a copy, unless it runs backwards or rows overlap; the others one by one.
  const bool even = rank > 0 && walk.to.back() >= row_bytes && walk.from.back() >= row_bytes;
  const std::size_t outer = rank - (even ? 1 : 0);
  const run::gpu::Rows rows =
      even ? run::gpu::Rows{walk.extents.back(), row_bytes, target ? walk.from.back() : walk.to.back(),
                            target ? walk.to.back() : walk.from.back()}
           : run::gpu::Rows{1, row_bytes, row_bytes, row_bytes};
  std::vector<i64> at(outer);
  for (;;) {
    i64 t = 0, f = 0;
    for (std::size_t d = 0; d < outer; ++d) t += at[d] * walk.to[d], f += at[d] * walk.from[d];
    if (target && source)
      queue.copy(*target->block(), target->offset_of(to) + t, *source->block(), source->offset_of(from) + f, rows);
    else if (target)
      queue.upload(*target->block(), target->offset_of(to) + t, static_cast<const std::byte*>(from.data()) + f, rows);
    else
      queue.download(static_cast<std::byte*>(to.data()) + t, *source->block(), source->offset_of(from) + f, rows);
    std::size_t d = outer;
    while (d > 0 && ++at[d - 1] == walk.extents[d - 1]) at[--d] = 0;
    if (d == 0) break;
  }
  for (const Array& a : {to, from})
    if (!a.on_device() && a.owner()) queue.keep(a.owner());
}

}  // namespace engine

Device Device::open(const std::string& target, int number) {
  RunOptions options;
  options.target = target;
  options.device = number;
  return Device(std::make_shared<const Impl>(Impl{engine::open_device(options)}));
}

const std::string& Device::target() const {
  return impl_->device->limits().target;
}
int Device::number() const {
  return impl_->device->limits().index;
}
const std::string& Device::name() const {
  return impl_->device->limits().name;
}
i64 Device::memory_bytes() const {
  return impl_->device->limits().memory_bytes;
}

Array Device::array(Format format, Shape shape) const {
  return engine::make_array(impl_->device, std::move(format), std::move(shape));
}

Array Device::copy_of(const Array& from) const {
  Array copy = array(from.format(), from.shape());
  copy.copy_from(from);
  return copy;
}

Array Device::borrow(void* pointer, Format format, Shape shape, std::vector<i64> strides,
                     std::shared_ptr<void> owner) const {
  if (target() != "cuda")
    throw Error(ErrorClass::argument, "memory of other libraries is taken by the target cuda alone, not by " + target(),
                {}, "emit the program: its _enqueue function takes buffers of OpenCL");
  if (pointer == nullptr) throw Error(ErrorClass::argument, "a null pointer was given as memory of a device");
  // As on the host, to have the strides and all checks.
  const Array shown = Array::borrow(pointer, format, shape, std::move(strides));
  const data::Span span = data::span_of(shown);
  auto block =
      run::cuda::borrow(static_cast<std::byte*>(pointer) + span.first, span.last - span.first, std::move(owner));
  return Array::in(std::make_shared<engine::DeviceMemory>(impl_->device, std::move(block)), pointer, std::move(format),
                   std::move(shape), shown.strides());
}

Array Device::pinned(Format format, Shape shape) const {
  const auto bytes = static_cast<i64>(data::byte_count(format, shape));
  std::shared_ptr<void> memory = bytes > 0 ? impl_->device->pinned(bytes) : nullptr;
  if (!memory) return Array(std::move(format), std::move(shape));
  void* const at = memory.get();
  return Array::share(std::move(memory), at, std::move(format), std::move(shape));
}

Stream::Stream(const Device& device) : impl_(std::make_shared<Impl>(Impl{device, device.impl().device->queue()})) {}

Stream Stream::borrow(const Device& device, void* cuda_stream) {
  return Stream(std::make_shared<Impl>(Impl{device, device.impl().device->queue_on(cuda_stream)}));
}

const Device& Stream::device() const {
  return impl_->device;
}

void Stream::copy(const Array& to, const Array& from) {
  if (!(to.format() == from.format()) || to.shape() != from.shape())
    throw Error(ErrorClass::argument,
                fmt::format("cannot copy an array of {} {} into one of {} {}", to_string(from.shape()),
                            from.format().name(), to_string(to.shape()), to.format().name()));
  if (!to.on_device() && !from.on_device())
    throw Error(ErrorClass::argument, "a stream copies to and from its device, but both arrays lie on the host");
  for (const Array& a : {to, from})
    if (a.on_device() && engine::memory_of(a)->device() != impl_->device.impl().device)
      throw Error(ErrorClass::argument,
                  fmt::format("the array lies on {}, but the stream is of {}", a.memory()->place(),
                              label_of(impl_->device.impl().device->limits())));
  engine::copy(*impl_->queue, to, from);
}

void Stream::wait() {
  impl_->queue->wait();
}

}  // namespace tessera
