// See distributed.hpp: groups, shares, and how rows go from device to device.
#include "engine/device/distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/device/several.hpp"
#include "tessera/error.hpp"

namespace tessera {

using engine::around, engine::RowRange;

namespace {

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

RowRange common(RowRange a, RowRange b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}
bool has(RowRange outer, RowRange inner) {
  return inner.empty() || (outer.first <= inner.first && inner.last <= outer.last);
}

// At once on every device that has a share: copies of ordinary memory keep the host busy.
template <class F>
void on_every_share(const DistributedArray::Impl& array, const F& work) {
  engine::at_once(array.shares.size(), [&](std::size_t k) {
    if (!array.shares[k].own.empty()) work(k);
  });
}

Array part_of_host(const Array& whole, RowRange rows) {
  std::vector<i64> begin(whole.shape().size()), end = whole.shape();
  begin.front() = rows.first;
  end.front() = rows.last;
  return whole.region(begin, end);
}

}  // namespace

void DeviceGroup::Impl::meet() {
  if (queues.size() < 2) return;
  crossed = false;
  if (!fences) return wait();
  meet_carriers();
  std::vector<std::shared_ptr<const run::gpu::Fence>> passed;
  for (const auto& queue : queues) passed.push_back(queue->fence());
  for (std::size_t k = 0; k < queues.size(); ++k)
    for (std::size_t other = 0; other < queues.size(); ++other)
      if (other != k) queues[k]->wait_for(*passed[other]);
}

void DeviceGroup::Impl::meet_carriers() {
  for (const auto& fence : carried)
    for (const auto& queue : queues) queue->wait_for(*fence);
  carried.clear();
}

i64 DeviceGroup::Impl::carry(const std::vector<std::shared_ptr<const run::gpu::Fence>>& behind,
                             const std::vector<DistributedArray>& arrays, std::size_t device) {
  run::gpu::Queue& carrier = *carriers[device];
  for (const auto& fence : behind) carrier.wait_for(*fence);
  i64 bytes = 0;
  for (const DistributedArray& array : arrays) {
    DistributedArray::Impl::Share& share = array.impl().shares[device];
    if (!share.own.empty()) bytes += array.impl().bring(device, share.lying, carrier);
  }
  carried.push_back(carrier.fence());
  return bytes;
}

void DeviceGroup::Impl::wait() {
  std::exception_ptr failure;
  for (const auto* const some : {&queues, &carriers})
    for (const auto& queue : *some) {
      try {
        queue->wait();
      } catch (const Error&) {
        if (!failure) failure = std::current_exception();
      }
    }
  carried.clear();
  if (failure) std::rethrow_exception(failure);
}

DeviceGroup DeviceGroup::open(const std::string& target, std::vector<int> numbers) {
  if (numbers.empty()) fail("a group of no devices was asked for", "name one at least, or give no numbers");
  RunOptions options;
  options.target = target;
  if (target != "cuda" && target != "opencl") static_cast<void>(engine::open_device(options));  // says what there is
  options.devices = std::move(numbers);
  engine::resolve_devices(options);
  auto impl = std::make_shared<Impl>();
  for (const int number : options.devices) impl->devices.push_back(Device::open(target, number));
  impl->fences = true;
  for (std::size_t k = 0; k < impl->devices.size(); ++k) {
    impl->queues.push_back(impl->device(k)->queue());
    impl->fences = impl->fences && impl->queues.back()->fence() != nullptr;
    std::vector<bool>& reaches = impl->reaches.emplace_back();
    for (std::size_t from = 0; from < impl->devices.size(); ++from)
      reaches.push_back(from != k && impl->device(k)->reaches(*impl->device(from)));
  }
  for (std::size_t k = 0; impl->fences && impl->devices.size() > 1 && k < impl->devices.size(); ++k)
    impl->carriers.push_back(impl->device(k)->urgent_queue());
  return DeviceGroup(std::move(impl));
}

const std::vector<Device>& DeviceGroup::devices() const {
  return impl_->devices;
}

bool DeviceGroup::reaches(std::size_t to, std::size_t from) const {
  return impl_->reaches.at(to).at(from);
}

void DeviceGroup::wait() const {
  const std::lock_guard lock(impl_->mutex);
  impl_->wait();
}

DistributedArray DeviceGroup::array(Format format, Shape shape) const {
  if (shape.size() < 2)
    fail(fmt::format("an array in shares has shape {}, expected two dimensions or more", to_string(shape)),
         "shares are runs of rows: give an array of one dimension the shape N x 1");
  for (const i64 n : shape)
    if (n < 1) fail(fmt::format("an array in shares has shape {}; every extent must be at least 1", to_string(shape)));
  return DistributedArray(DistributedArray::Impl::make(*this, std::move(format), std::move(shape),
                                                       std::vector<RowRange>(impl_->devices.size())));
}

std::shared_ptr<DistributedArray::Impl> DistributedArray::Impl::make(const DeviceGroup& group, Format format,
                                                                     Shape shape, const std::vector<RowRange>& room) {
  auto impl = std::make_shared<Impl>(Impl{group, std::move(format), std::move(shape), {}, {}});
  impl->strides = engine::padded_rows(static_cast<i64>(impl->format.size()), impl->shape).strides;
  for (std::size_t k = 0; k < room.size(); ++k) {
    const RowRange own = group.impl().share_of(impl->shape.front(), k);
    impl->shares.push_back({own, {}, own, {}});
    if (!own.empty()) impl->widen(k, around(own, room[k]));
  }
  return impl;
}

DistributedArray DeviceGroup::scatter(const Array& from) const {
  if (from.empty()) fail("an array without elements was given to be scattered");
  const Array here = from.to_host();
  DistributedArray to = array(here.format(), here.shape());
  const std::lock_guard lock(impl_->mutex);
  on_every_share(to.impl(), [&](std::size_t k) {
    const RowRange own = to.impl().shares[k].own;
    engine::copy(*impl_->queues[k], to.impl().rows(k, own), part_of_host(here, own));
    impl_->queues[k]->wait();
  });
  return to;
}

Array DistributedArray::Impl::whole(std::size_t device) const {
  const Share& share = shares[device];
  auto* const begin = static_cast<std::byte*>(share.array.data()) - share.lying.first * row_bytes();
  return Array::in(share.array.memory(), begin, format, shape, strides);
}

Array DistributedArray::Impl::rows(std::size_t device, RowRange range) const {
  Shape some = shape;
  some.front() = range.count();
  auto* const begin =
      static_cast<std::byte*>(shares[device].array.data()) + (range.first - shares[device].lying.first) * row_bytes();
  return Array::in(shares[device].array.memory(), begin, format, std::move(some), strides);
}

void DistributedArray::Impl::widen(std::size_t device, RowRange wanted) {
  Share& share = shares[device];
  const RowRange all = around(share.lying, wanted);
  if (!share.array.empty() && all == share.lying) return;
  DeviceGroup::Impl& of = group.impl();
  const i64 bytes = all.count() * row_bytes();
  const auto memory = std::make_shared<engine::DeviceMemory>(of.device(device), of.device(device)->allocate(bytes));
  Shape some = shape;
  some.front() = all.count();
  const Array wider = Array::in(memory, memory->address(), format, std::move(some), strides);
  if (!share.array.empty() && !share.valid.empty()) {
    const i64 n = share.valid.count() * row_bytes();
    const engine::DeviceMemory& before = *engine::memory_of(share.array);
    of.queues[device]->copy(*memory->block(), (share.valid.first - all.first) * row_bytes(), *before.block(),
                            (share.valid.first - share.lying.first) * row_bytes(), {1, n, n, n});
  }
  share.array = wider;
  share.lying = all;
}

DistributedArray::Impl::Around DistributedArray::Impl::read_by_others(std::size_t device) const {
  Around around;
  for (std::size_t other = 0; other < shares.size(); ++other) {
    if (other == device) continue;
    RowRange& side = other < device ? around.first : around.last;
    side = engine::around(side, common(shares[other].lying, shares[device].own));
  }
  return around;
}

i64 DistributedArray::Impl::bring(std::size_t device, RowRange wanted, run::gpu::Queue& queue) {
  Share& share = shares[device];
  if (has(share.valid, wanted)) return 0;
  const RowRange all = around(share.valid, wanted);
  DeviceGroup::Impl& of = group.impl();
  const engine::DeviceMemory& target = *engine::memory_of(share.array);
  i64 bytes = 0;
  for (const RowRange missing : {RowRange{all.first, share.valid.empty() ? all.last : share.valid.first},
                                 RowRange{share.valid.empty() ? all.last : share.valid.last, all.last}}) {
    for (std::size_t from = 0; from < shares.size(); ++from) {
      const Share& other = shares[from];
      const RowRange moved = common(missing, other.own);
      if (from == device || moved.empty()) continue;
      const i64 n = moved.count() * row_bytes(), to_offset = (moved.first - share.lying.first) * row_bytes(),
                from_offset = (moved.first - other.lying.first) * row_bytes();
      const engine::DeviceMemory& source = *engine::memory_of(other.array);
      if (of.fences) {
        queue.copy_across(*target.block(), to_offset, *source.block(), from_offset, n);
      } else {
        const std::shared_ptr<void> between(::operator new(static_cast<std::size_t>(n)),
                                            [](void* p) { ::operator delete(p); });
        auto* const host = static_cast<std::byte*>(between.get());
        of.queues[from]->download(host, *source.block(), from_offset, {1, n, n, n});
        of.queues[from]->wait();
        queue.upload(*target.block(), to_offset, host, {1, n, n, n});
        queue.keep(between);
      }
      bytes += n;
    }
  }
  share.valid = all;
  return bytes;
}

const DeviceGroup& DistributedArray::group() const {
  return impl_->group;
}
const Format& DistributedArray::format() const {
  return impl_->format;
}
const Shape& DistributedArray::shape() const {
  return impl_->shape;
}

Region DistributedArray::region(std::size_t device) const {
  Region region{std::vector<i64>(impl_->shape.size()), impl_->shape};
  const RowRange own = impl_->shares.at(device).own;
  region.begin.front() = own.first;
  region.end.front() = own.last;
  return region;
}

Array DistributedArray::share(std::size_t device) const {
  const std::lock_guard lock(impl_->group.impl().mutex);
  impl_->handed_out = true;
  for (Impl::Share& share : impl_->shares) share.valid = common(share.valid, share.own);
  const RowRange own = impl_->shares.at(device).own;
  return own.empty() ? Array() : impl_->rows(device, own);
}

Array DistributedArray::gather() const {
  Array to(impl_->format, impl_->shape);
  gather_into(to);
  return to;
}

void DistributedArray::gather_into(const Array& to) const {
  if (to.empty() || to.on_device() || !(to.format() == impl_->format) || to.shape() != impl_->shape)
    fail(fmt::format("an array in shares of {} {} cannot be gathered into one of {} {}{}", to_string(impl_->shape),
                     impl_->format.name(), to_string(to.shape()), to.format().name(),
                     to.on_device() ? " that lies on a device" : ""),
         "give an array of the host of the same format and shape");
  DeviceGroup::Impl& of = impl_->group.impl();
  const std::lock_guard lock(of.mutex);
  of.wait();
  on_every_share(*impl_, [&](std::size_t k) {
    const RowRange own = impl_->shares[k].own;
    engine::copy(*of.queues[k], part_of_host(to, own), impl_->rows(k, own));
    of.queues[k]->wait();
  });
}

}  // namespace tessera
