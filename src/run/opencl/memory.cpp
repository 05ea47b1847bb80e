// The pool of blocks; see memory.hpp.
#include "run/opencl/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "run/gpu/errors.hpp"

namespace tessera::run::opencl {
namespace {

constexpr i64 granule = 256;
constexpr std::size_t most_unused = 256;

std::string size(i64 bytes) {
  return base::format_bytes(static_cast<double>(bytes));
}

bool no_memory(cl::Int code) {
  return code == cl::mem_object_allocation_failure || code == cl::out_of_resources || code == cl::out_of_host_memory ||
         code == cl::invalid_buffer_size;
}

}  // namespace

i64 capacity_for(i64 bytes, i64 largest) {
  const i64 wanted = std::max<i64>(bytes, 1);
  const i64 step = std::max(granule, static_cast<i64>(std::bit_floor(static_cast<std::uint64_t>(wanted))) / 8);
  if (wanted > largest - step) return wanted;  // near the end of the device there is nothing to lose
  return (wanted + step - 1) / step * step;
}

Buffer::~Buffer() {
  pool_->give(std::move(mem_), capacity_);
}

Pool::Pool(std::shared_ptr<Core> core) : core_(std::move(core)), queue_(core_->make_queue()) {}

i64 Pool::unused_bytes() const {
  const base::Lock lock(mutex_);
  return unused_bytes_;
}

i64 Pool::used_bytes() const {
  const base::Lock lock(mutex_);
  return used_bytes_;
}

void Pool::drop_oldest() {
  unused_bytes_ -= unused_.front().capacity;
  unused_.pop_front();
}

std::shared_ptr<Buffer> Pool::take(i64 bytes) {
  core_->ensure_open();
  if (bytes < 0) throw Error(ErrorClass::internal, fmt::format("a block of {} bytes was asked for", bytes));
  const Listed& device = core_->listed;
  if (bytes > device.largest_allocation) fail(bytes, cl::success);
  const i64 capacity = capacity_for(bytes, device.largest_allocation);
  const base::Lock lock(mutex_);
  Handle<cl::Mem> mem;
  // From the back: what was used last may still lie in a cache.
  const auto found =
      std::find_if(unused_.rbegin(), unused_.rend(), [&](const Unused& u) { return u.capacity == capacity; });
  if (found != unused_.rend()) {
    mem = std::move(found->mem);
    unused_.erase(std::next(found).base());
    unused_bytes_ -= capacity;
  }
  while (!mem && !unused_.empty() && used_bytes_ + unused_bytes_ > device.limits.memory_bytes - capacity) drop_oldest();
  if (!mem && used_bytes_ > device.limits.memory_bytes - capacity) fail(bytes, cl::success);
  for (cl::Int code = cl::success; !mem;) {
    mem = make(capacity, code);
    if (mem) break;
    if (!no_memory(code)) core_->check(code, "make a block of memory");
    if (unused_.empty()) fail(bytes, code);
    while (!unused_.empty()) drop_oldest();
  }
  auto buffer = std::make_shared<Buffer>(shared_from_this(), std::move(mem), bytes, capacity);
  used_bytes_ += capacity;
  return buffer;
}

// Nothing when there is no memory or another failure, with its code.
Handle<cl::Mem> Pool::make(i64 capacity, cl::Int& code) {
  const Api& cl = core_->cl;
  const cl::Mem made =
      cl.clCreateBuffer(core_->context(), cl::mem_read_write, static_cast<std::size_t>(capacity), nullptr, &code);
  if (code != cl::success) return {};
  Handle<cl::Mem> mem(made, cl.clReleaseMemObject);
  cl::Event moved = nullptr;
  code = cl.clEnqueueMigrateMemObjects(queue_.get(), 1, &made, cl::migrate_content_undefined, 0, nullptr, &moved);
  if (code == cl::success) {
    const Handle<cl::Event> event(moved, cl.clReleaseEvent);
    code = cl.clWaitForEvents(1, &moved);
    cl::Int status = cl::success;
    if (code != cl::success &&
        cl.clGetEventInfo(moved, cl::event_command_execution_status, sizeof status, &status, nullptr) == cl::success &&
        status < 0)
      code = status;
  }
  if (code != cl::success) mem = {};
  return mem;
}

void Pool::fail(i64 bytes, cl::Int code) const {
  const Listed& device = core_->listed;
  std::vector<std::string> notes;
  if (bytes > device.largest_allocation)
    notes.push_back(fmt::format("one block has {} at most on this device", size(device.largest_allocation)));
  else
    notes.push_back(fmt::format("{} of its {} are in use here", size(used_bytes_), size(device.limits.memory_bytes)));
  if (code != cl::success) notes.push_back(fmt::format("OpenCL says {} ({})", name_of(code), code));
  const i64 left = device.limits.memory_bytes - used_bytes_;
  throw gpu::OutOfMemory(core_->label, bytes, std::max<i64>(left, 0), std::move(notes));
}

void Pool::give(Handle<cl::Mem> mem, i64 capacity) noexcept {
  const base::Lock lock(mutex_);
  used_bytes_ -= capacity;
  if (core_->closed() || capacity > core_->listed.limits.memory_bytes / 4) return;  // released with the argument
  try {
    unused_.push_back({std::move(mem), capacity});
    unused_bytes_ += capacity;
    while (unused_bytes_ > core_->listed.limits.memory_bytes / 4 || unused_.size() > most_unused) drop_oldest();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace tessera::run::opencl
