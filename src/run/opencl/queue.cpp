// Copies, launches, marks; see queue.hpp.
#include "run/opencl/queue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tessera::run::opencl {
namespace {

// A queue that is further ahead waits: commands hold memory, and drivers slow down.
constexpr std::size_t most_commands = 1024;

std::size_t count(i64 n) {
  return static_cast<std::size_t>(n);
}

// Throws unless the bytes from `offset` lie within the block.
void check_range(const gpu::Memory& block, i64 offset, i64 bytes) {
  if (offset >= 0 && bytes >= 0 && offset <= block.bytes() - bytes) return;
  throw Error(ErrorClass::internal,
              fmt::format("{} bytes from {} were asked for of a block of {}", bytes, offset, block.bytes()));
}

// The rows as one run of bytes when there is nothing between them, else with pitches that OpenCL takes.
gpu::Rows normal(const gpu::Memory& block, i64 offset, gpu::Rows r) {
  if (r.rows <= 0 || r.row_bytes <= 0) return {0, 0, 0, 0};
  if (r.rows == 1 || (r.host_pitch == r.row_bytes && r.device_pitch == r.row_bytes)) {
    check_range(block, offset, r.rows * r.row_bytes);
    return {1, r.rows * r.row_bytes, 0, 0};
  }
  if (r.host_pitch < r.row_bytes || r.device_pitch < r.row_bytes)
    throw Error(ErrorClass::internal, fmt::format("rows of {} bytes lie {} bytes apart on the host, {} on the device",
                                                  r.row_bytes, r.host_pitch, r.device_pitch));
  check_range(block, offset, (r.rows - 1) * r.device_pitch + r.row_bytes);
  return r;
}

// The origin and the extents of a rectangle of bytes.
struct Box {
  std::size_t device_origin[3], host_origin[3] = {0, 0, 0}, region[3];
  Box(i64 offset, const gpu::Rows& r)
      : device_origin{count(offset % r.device_pitch), count(offset / r.device_pitch), 0},
        region{count(r.row_bytes), count(r.rows), 1} {}
};

}  // namespace

CommandQueue::CommandQueue(std::shared_ptr<Core> core, std::shared_ptr<Pool> pool)
    : core_(std::move(core)), pool_(std::move(pool)) {
  core_->ensure_open();
  queue_ = core_->make_queue();
}

CommandQueue::~CommandQueue() {
  core_->cl.clFinish(queue_.get());
}

const Buffer& CommandQueue::own(const gpu::Memory& memory) const {
  const auto* buffer = dynamic_cast<const Buffer*>(&memory);
  if (buffer == nullptr || buffer->pool() != pool_.get())
    throw Error(ErrorClass::internal, "a queue was given memory of another device");
  return *buffer;
}

void CommandQueue::upload(gpu::Memory& to, i64 offset, const std::byte* from, const gpu::Rows& rows) {
  core_->ensure_open();
  const Buffer& block = own(to);
  const gpu::Rows r = normal(block, offset, rows);
  if (r.rows == 0) return;
  cl::Event event = nullptr;
  cl::Int code = cl::success;
  if (r.rows == 1) {
    code = core_->cl.clEnqueueWriteBuffer(queue_.get(), block.mem(), 0, count(offset), count(r.row_bytes), from, 0,
                                          nullptr, &event);
  } else {
    const Box b(offset, r);
    code =
        core_->cl.clEnqueueWriteBufferRect(queue_.get(), block.mem(), 0, b.device_origin, b.host_origin, b.region,
                                           count(r.device_pitch), 0, count(r.host_pitch), 0, from, 0, nullptr, &event);
  }
  core_->check(code, "take bytes from the host");
  added(event, "take bytes from the host", {block.shared_from_this()});
}

void CommandQueue::download(std::byte* to, const gpu::Memory& from, i64 offset, const gpu::Rows& rows) {
  core_->ensure_open();
  const Buffer& block = own(from);
  const gpu::Rows r = normal(block, offset, rows);
  if (r.rows == 0) return;
  cl::Event event = nullptr;
  cl::Int code = cl::success;
  if (r.rows == 1) {
    code = core_->cl.clEnqueueReadBuffer(queue_.get(), block.mem(), 0, count(offset), count(r.row_bytes), to, 0,
                                         nullptr, &event);
  } else {
    const Box b(offset, r);
    code = core_->cl.clEnqueueReadBufferRect(queue_.get(), block.mem(), 0, b.device_origin, b.host_origin, b.region,
                                             count(r.device_pitch), 0, count(r.host_pitch), 0, to, 0, nullptr, &event);
  }
  core_->check(code, "give bytes to the host");
  added(event, "give bytes to the host", {block.shared_from_this()});
}

void CommandQueue::copy(gpu::Memory& to, i64 to_offset, const gpu::Memory& from, i64 from_offset,
                        const gpu::Rows& rows) {
  core_->ensure_open();
  const Buffer &target = own(to), &source = own(from);
  const gpu::Rows r = normal(target, to_offset, rows);
  if (r.rows == 0) return;
  check_range(source, from_offset, (r.rows - 1) * r.host_pitch + r.row_bytes);
  cl::Event event = nullptr;
  cl::Int code = cl::success;
  if (r.rows == 1) {
    code = core_->cl.clEnqueueCopyBuffer(queue_.get(), source.mem(), target.mem(), count(from_offset), count(to_offset),
                                         count(r.row_bytes), 0, nullptr, &event);
  } else {
    const auto origin = [](i64 offset, i64 pitch) {
      return std::array<std::size_t, 3>{count(offset % pitch), count(offset / pitch), 0};
    };
    const std::size_t region[3] = {count(r.row_bytes), count(r.rows), 1};
    code = core_->cl.clEnqueueCopyBufferRect(queue_.get(), source.mem(), target.mem(),
                                             origin(from_offset, r.host_pitch).data(),
                                             origin(to_offset, r.device_pitch).data(), region, count(r.host_pitch), 0,
                                             count(r.device_pitch), 0, 0, nullptr, &event);
  }
  core_->check(code, "copy bytes");
  added(event, "copy bytes", {target.shared_from_this(), source.shared_from_this()});
}

void CommandQueue::keep(std::shared_ptr<const void> what) {
  if (!commands_.empty()) commands_.back().held.push_back(std::move(what));  // else nothing is under way
}

void CommandQueue::fill(gpu::Memory& memory, i64 offset, i64 bytes, unsigned char value) {
  core_->ensure_open();
  const Buffer& block = own(memory);
  check_range(block, offset, bytes);
  if (bytes == 0) return;
  cl::Event event = nullptr;
  core_->check(core_->cl.clEnqueueFillBuffer(queue_.get(), block.mem(), &value, 1, count(offset), count(bytes), 0,
                                             nullptr, &event),
               "fill memory");
  added(event, "fill memory", {block.shared_from_this()});
}

void CommandQueue::set_arguments(const Program::Lease& kernel, const gpu::Launch& launch,
                                 std::span<const std::shared_ptr<gpu::Memory>> blocks, std::span<const i64> integers,
                                 Held& held) {
  const std::size_t given = blocks.size() + (integers.empty() ? 0 : 1) + (launch.shared_bytes > 0 ? 1 : 0);
  if (given != kernel.arguments())
    throw Error(ErrorClass::internal,
                fmt::format("the kernel {} was given {} arguments ({} blocks, {} integers, {} bytes of local memory), "
                            "expected {}",
                            base::quoted(launch.kernel), given, blocks.size(), integers.size(), launch.shared_bytes,
                            kernel.arguments()));
  cl::UInt index = 0;
  const auto set = [&](std::size_t size, const void* value) {
    const cl::Int code = core_->cl.clSetKernelArg(kernel.get(), index, size, value);
    core_->check(code, fmt::format("set argument {} of the kernel {}", index, base::quoted(launch.kernel)));
    ++index;
  };
  for (const auto& block : blocks) {
    const cl::Mem mem = block ? own(*block).mem() : nullptr;
    set(sizeof mem, &mem);
    if (block) held.push_back(block);
  }
  if (!integers.empty()) set(integers.size_bytes(), integers.data());
  if (launch.shared_bytes > 0) set(count(launch.shared_bytes), nullptr);
}

void CommandQueue::launch(gpu::Module& module, const gpu::Launch& launch,
                          std::span<const std::shared_ptr<gpu::Memory>> blocks, std::span<const i64> integers) {
  core_->ensure_open();
  auto* program = dynamic_cast<Program*>(&module);
  if (program == nullptr || program->core() != core_.get())
    throw Error(ErrorClass::internal, "a queue was given code of another device");
  const Program::Lease kernel = program->lend(launch.kernel);
  Held held;
  set_arguments(kernel, launch, blocks, integers, held);
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  const std::string doing = fmt::format("start the kernel {} in {} x {} x {} groups of {} x {} x {}",
                                        base::quoted(launch.kernel), gx, gy, gz, bx, by, bz);
  if (gx < 0 || gy < 0 || gz < 0 || bx <= 0 || by <= 0 || bz <= 0)
    throw Error(ErrorClass::internal, "a queue was told to " + doing);
  if (gx == 0 || gy == 0 || gz == 0) return;
  const std::size_t local[3] = {count(bx), count(by), count(bz)};
  const std::size_t global[3] = {count(gx) * local[0], count(gy) * local[1], count(gz) * local[2]};
  cl::Event event = nullptr;
  core_->check(
      core_->cl.clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 3, nullptr, global, local, 0, nullptr, &event),
      doing);
  added(event, doing, std::move(held));
}

void CommandQueue::added(cl::Event event, std::string doing, Held held) {
  commands_.push_back({Handle<cl::Event>(event, core_->cl.clReleaseEvent), std::move(doing), std::move(held)});
  core_->check(core_->cl.clFlush(queue_.get()), "start its commands");
  if (commands_.size() > most_commands) core_->cl.clWaitForEvents(1, &event);  // a failure shows in the status
  retire();
}

// Negative for a failure, 0 when it is done, else under way.
cl::Int CommandQueue::status_of(const Command& c) const {
  cl::Int status = 0;
  const cl::Int code =
      core_->cl.clGetEventInfo(c.event.get(), cl::event_command_execution_status, sizeof status, &status, nullptr);
  return code == cl::success ? status : code;
}

// Lets go what is done.
void CommandQueue::retire() {
  while (!commands_.empty()) {
    const cl::Int status = status_of(commands_.front());
    if (status > 0) return;
    const Command done = std::move(commands_.front());
    commands_.pop_front();
    if (status == cl::mem_object_allocation_failure) core_->check(status, done.doing);  // nothing else has suffered
    if (status < 0) core_->lost(status, done.doing);
  }
}

void CommandQueue::wait() {
  core_->ensure_open();
  const cl::Int code = core_->cl.clFinish(queue_.get());
  if (!commands_.empty()) {
    const cl::Event last = commands_.back().event.get();
    core_->cl.clWaitForEvents(1, &last);  // a failure shows in the status
  }
  retire();
  if (code != cl::success) core_->lost(code, "finish its commands");
}

void CommandQueue::mark(int number) {
  core_->ensure_open();
  if (number < 0 || static_cast<std::size_t>(number) >= marks_.size())
    throw Error(ErrorClass::internal, fmt::format("mark {} was set, expected 0 to {}", number, marks_.size() - 1));
  cl::Event event = nullptr;
  core_->check(core_->cl.clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event), "set a mark");
  marks_[static_cast<std::size_t>(number)] = {event, core_->cl.clReleaseEvent};
  core_->check(core_->cl.clFlush(queue_.get()), "start its commands");
}

double CommandQueue::milliseconds(int from, int to) {
  core_->ensure_open();
  std::uint64_t times[2];
  for (int i = 0; i < 2; ++i) {
    const int number = i == 0 ? from : to;
    const bool known = number >= 0 && static_cast<std::size_t>(number) < marks_.size();
    const cl::Event event = known ? marks_[static_cast<std::size_t>(number)].get() : nullptr;
    if (event == nullptr) throw Error(ErrorClass::internal, fmt::format("mark {} was not set", number));
    const cl::Int code = core_->cl.clWaitForEvents(1, &event);
    retire();
    core_->check(code, "wait for a mark");
    core_->check(
        core_->cl.clGetEventProfilingInfo(event, cl::profiling_command_end, sizeof times[i], &times[i], nullptr),
        "tell the time of a mark");
  }
  return (static_cast<double>(times[1]) - static_cast<double>(times[0])) * 1e-6;
}

}  // namespace tessera::run::opencl
