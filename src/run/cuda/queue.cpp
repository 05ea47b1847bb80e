// Copies, launches, waits and marks; see queue.hpp.
#include "run/cuda/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "run/cuda/module.hpp"

namespace tessera::run::cuda {
namespace {

constexpr i64 most_blocks[3] = {INT32_MAX, 65535, 65535};

[[noreturn]] void throw_internal(const std::string& message) {
  throw Error(ErrorClass::internal, message);
}

// Rows that lie inside the memory; false when there are none.
bool check_rows(const gpu::Memory& memory, i64 offset, const gpu::Rows& r) {
  if (r.rows <= 0 || r.row_bytes <= 0) return false;
  const i64 pitch = r.rows > 1 ? r.device_pitch : 0;
  if (offset < 0 || pitch < 0 || offset + (r.rows - 1) * pitch + r.row_bytes > memory.bytes())
    throw_internal(fmt::format("{} rows of {} bytes, {} apart, from byte {} do not lie in a block of {} bytes", r.rows,
                               r.row_bytes, pitch, offset, memory.bytes()));
  return true;
}

bool one_piece(const gpu::Rows& r) {
  return r.rows == 1 || (r.host_pitch == r.row_bytes && r.device_pitch == r.row_bytes);
}

std::string text_of(const gpu::Launch& l) {
  return fmt::format("{} x {} x {} blocks of {} x {} x {} threads, {} bytes of shared memory", l.grid[0], l.grid[1],
                     l.grid[2], l.block[0], l.block[1], l.block[2], l.shared_bytes);
}

// False when there is nothing to do.
bool check_launch(const gpu::Launch& l) {
  bool any = true;
  for (int d = 0; d < 3; ++d) {
    if (l.grid[d] < 0 || l.grid[d] > most_blocks[d] || l.block[d] < 1 || l.shared_bytes < 0)
      throw_internal(fmt::format("kernel {} cannot be launched with {}", base::quoted(l.kernel), text_of(l)));
    any = any && l.grid[d] > 0;
  }
  return any;
}

}  // namespace

namespace {

class CudaFence final : public gpu::Fence {
 public:
  explicit CudaFence(Core& core) : core_(core) {
    core_.check(core_.driver.event_create(&event_, event_disable_timing), "making an event");
  }
  ~CudaFence() override {
    if (core_.closed()) return;
    const Current current(core_);
    core_.note(core_.driver.event_destroy(event_), "ending an event");
  }
  CudaFence(const CudaFence&) = delete;
  CudaFence& operator=(const CudaFence&) = delete;
  Event event() const { return event_; }

 private:
  Core& core_;
  Event event_ = nullptr;
};

}  // namespace

const Block& block_of(const gpu::Memory& memory) {
  const auto* block = dynamic_cast<const Block*>(&memory);
  if (block == nullptr) throw_internal("memory of another kind of device was given to a CUDA device");
  return *block;
}

CudaQueue::CudaQueue(Core& core, bool urgent) : core_(core), most_pitch_(core.attribute(max_pitch, INT32_MAX)) {
  core_.require_open();
  const Current current(core_);
  const Driver& d = core_.driver;
  if (urgent && d.peers) {
    int least = 0, greatest = 0;  // which is the lesser number
    core_.check(d.stream_priorities(&least, &greatest), "asking for priorities");
    core_.check(d.stream_create_urgent(&stream_, stream_non_blocking, greatest), "making a queue");
  } else {
    core_.check(d.stream_create(&stream_, stream_non_blocking), "making a queue");
  }
  core_.add(this);
}

CudaQueue::CudaQueue(Core& core, Stream stream)
    : core_(core), stream_(stream), own_(false), most_pitch_(core.attribute(max_pitch, INT32_MAX)) {
  core_.require_open();
  core_.add(this);
}

CudaQueue::~CudaQueue() {
  core_.remove(this);
  if (core_.closed()) return;
  const Current current(core_);
  const Driver& d = core_.driver;
  core_.note(d.stream_synchronize(stream_), "waiting for the device");
  if (!core_.closed()) {
    for (Event event : marks_)
      if (event != nullptr) d.event_destroy(event);
    if (fence_ != nullptr) d.event_destroy(fence_);
    if (own_) core_.note(d.stream_destroy(stream_), "ending a queue");
  }
}

std::uint64_t CudaQueue::issued() {
  const base::Lock lock(mutex_);
  return number_;
}

CudaQueue::Dropped CudaQueue::let_go(std::uint64_t finished) {
  const base::Lock lock(mutex_);
  Dropped dropped;
  // A count of one is ours, and nobody can make it two: only this list leads to it.
  std::erase_if(held_, [&](Held& held) {
    if (held.last_use > finished || held.what.use_count() != 1) return false;
    dropped.push_back(std::move(held.what));
    return true;
  });
  return dropped;
}

void CudaQueue::hold(std::shared_ptr<const void> what) {
  const base::Lock lock(mutex_);
  ++number_;
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& h) { return h.what == what; });
  if (found != held_.end())
    found->last_use = number_;
  else
    held_.push_back({std::move(what), number_});
}

void CudaQueue::tidy() {
  const Driver& d = core_.driver;
  std::uint64_t finished = 0;
  {
    const base::Lock lock(mutex_);
    if (fenced_ != 0) {
      const Status status = d.event_query(fence_);
      if (status == error_not_ready) return;
      core_.check(status, "asking for finished work");
      finished = std::exchange(fenced_, 0);
    }
  }
  if (finished != 0) let_go(finished);
  const base::Lock lock(mutex_);
  const auto alone = [](const Held& h) { return h.what.use_count() == 1; };
  if (std::none_of(held_.begin(), held_.end(), alone)) return;
  if (fence_ == nullptr) core_.check(d.event_create(&fence_, event_disable_timing), "making an event");
  core_.check(d.event_record(fence_, stream_), "recording an event");
  fenced_ = number_;
}

bool CudaQueue::slow_rows(const gpu::Rows& r) const {
  return r.host_pitch < r.row_bytes || r.device_pitch < r.row_bytes || r.host_pitch > most_pitch_ ||
         r.device_pitch > most_pitch_;
}

void CudaQueue::move(bool up, const gpu::Memory& memory, i64 offset, std::byte* host, const gpu::Rows& r) {
  core_.require_open();
  const Block& block = block_of(memory);
  if (!check_rows(memory, offset, r)) return;
  const Current current(core_);
  tidy();
  const Driver& d = core_.driver;
  const Address start = block.address() + static_cast<Address>(offset);
  const char* const doing = up ? "copying to the device" : "copying from the device";
  const auto piece = [&](i64 host_at, i64 device_at, i64 bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    const Address at = start + static_cast<Address>(device_at);
    core_.check(up ? d.upload(at, host + host_at, size, stream_) : d.download(host + host_at, at, size, stream_),
                doing);
  };
  if (one_piece(r)) {
    piece(0, 0, r.rows * r.row_bytes);
  } else if (slow_rows(r)) {
    for (i64 i = 0; i < r.rows; ++i) piece(i * r.host_pitch, i * r.device_pitch, r.row_bytes);
  } else {
    Copy2D c{};
    c.from_type = up ? host_memory : device_memory;
    c.to_type = up ? device_memory : host_memory;
    if (up)
      c.from_host = host, c.to_device = start;
    else
      c.from_device = start, c.to_host = host;
    c.from_pitch = static_cast<std::size_t>(up ? r.host_pitch : r.device_pitch);
    c.to_pitch = static_cast<std::size_t>(up ? r.device_pitch : r.host_pitch);
    copy_rows(c, r, doing);
  }
  hold(block.shared_from_this());
}

void CudaQueue::upload(gpu::Memory& to, i64 offset, const std::byte* from, const gpu::Rows& r) {
  move(true, to, offset, const_cast<std::byte*>(from), r);  // which is only read
}

void CudaQueue::download(std::byte* to, const gpu::Memory& from, i64 offset, const gpu::Rows& r) {
  move(false, from, offset, to, r);
}

void CudaQueue::copy_rows(Copy2D c, const gpu::Rows& r, std::string_view doing) {
  c.width = static_cast<std::size_t>(r.row_bytes);
  c.height = static_cast<std::size_t>(r.rows);
  core_.check(core_.driver.copy_rows(&c, stream_), doing);
}

void CudaQueue::copy(gpu::Memory& to, i64 to_offset, const gpu::Memory& from, i64 from_offset, const gpu::Rows& given) {
  core_.require_open();
  const Block &target = block_of(to), &source = block_of(from);
  gpu::Rows r = given;
  if (one_piece(r)) r = {1, r.rows * r.row_bytes, r.rows * r.row_bytes, r.rows * r.row_bytes};
  gpu::Rows read = r;
  read.device_pitch = r.host_pitch;
  if (!check_rows(to, to_offset, r) || !check_rows(from, from_offset, read)) return;
  const Current current(core_);
  tidy();
  const auto piece = [&](i64 read_at, i64 write_at, const gpu::Rows& rows) {
    Copy2D c{};
    c.from_type = c.to_type = device_memory;
    c.from_device = source.address() + static_cast<Address>(from_offset + read_at);
    c.to_device = target.address() + static_cast<Address>(to_offset + write_at);
    c.from_pitch = static_cast<std::size_t>(rows.host_pitch);
    c.to_pitch = static_cast<std::size_t>(rows.device_pitch);
    copy_rows(c, rows, "copying on the device");
  };
  if (!slow_rows(r)) {
    piece(0, 0, r);
  } else {  // one by one, and those that are longer than a pitch may be in pieces
    for (i64 i = 0; i < r.rows; ++i)
      for (i64 at = 0; at < r.row_bytes; at += most_pitch_) {
        const i64 n = std::min(most_pitch_, r.row_bytes - at);
        piece(i * r.host_pitch + at, i * r.device_pitch + at, {1, n, n, n});
      }
  }
  hold(target.shared_from_this());
  hold(source.shared_from_this());
}

void CudaQueue::fill(gpu::Memory& memory, i64 offset, i64 bytes, unsigned char value) {
  core_.require_open();
  const Block& block = block_of(memory);
  if (!check_rows(memory, offset, {.rows = 1, .row_bytes = bytes})) return;
  const Current current(core_);
  tidy();
  core_.check(core_.driver.fill(block.address() + static_cast<Address>(offset), value, static_cast<std::size_t>(bytes),
                                stream_),
              "filling memory");
  hold(block.shared_from_this());
}

void CudaQueue::launch(gpu::Module& module, const gpu::Launch& l, std::span<const std::shared_ptr<gpu::Memory>> blocks,
                       std::span<const i64> integers) {
  core_.require_open();
  auto* own = dynamic_cast<CudaModule*>(&module);
  if (own == nullptr || &own->core() != &core_)
    throw_internal("a module of another device was given to " + core_.label);
  if (!check_launch(l)) return;
  const Current current(core_);
  tidy();
  const Function function = own->ready(l.kernel, l.shared_bytes);
  std::vector<Address> addresses;
  for (const auto& block : blocks) addresses.push_back(block_of(*block).address());
  std::vector<void*> arguments;
  for (Address& address : addresses) arguments.push_back(&address);
  if (!integers.empty()) arguments.push_back(const_cast<i64*>(integers.data()));  // read before the call returns
  const auto u = [](i64 n) { return static_cast<unsigned>(n); };
  LaunchAttribute early;
  const i64 across = l.grid[0] + (l.beside ? 1 : 0);
  const LaunchConfiguration how = {{u(across), u(l.grid[1]), u(l.grid[2])},
                                   {u(l.block[0]), u(l.block[1]), u(l.block[2])},
                                   u(l.shared_bytes),
                                   stream_,
                                   &early,
                                   1};
  // In a stream of somebody else the kernel before may be one that waits for nothing.
  const bool early_blocks = l.early && own_ && core_.early_blocks && own->waits(l.kernel);
  const Status status = core_.with_memory([&] {  // of registers that are spilled
    if (early_blocks) return core_.driver.launch_early(&how, function, arguments.data(), nullptr);
    return core_.driver.launch(function, u(across), u(l.grid[1]), u(l.grid[2]), u(l.block[0]), u(l.block[1]),
                               u(l.block[2]), u(l.shared_bytes), stream_, arguments.data(), nullptr);
  });
  if (status != success)
    core_.check(status, "launching kernel " + base::quoted(l.kernel), {"it was launched with " + text_of(l)});
  for (const auto& block : blocks) hold(block_of(*block).shared_from_this());
  hold(own->shared_from_this());
}

void CudaQueue::wait() {
  core_.require_open();
  const Current current(core_);
  core_.check(core_.driver.stream_synchronize(stream_), "waiting for the device");
  std::vector<Held> done;
  const base::Lock lock(mutex_);
  done.swap(held_);
  fenced_ = 0;
}

std::shared_ptr<const gpu::Fence> CudaQueue::fence() {
  core_.require_open();
  if (!core_.driver.peers) return nullptr;
  const Current current(core_);
  auto made = std::make_shared<CudaFence>(core_);
  core_.check(core_.driver.event_record(made->event(), stream_), "recording an event");
  return made;
}

void CudaQueue::wait_for(const gpu::Fence& fence) {
  core_.require_open();
  const auto* own = dynamic_cast<const CudaFence*>(&fence);
  if (own == nullptr) throw_internal("a fence of another kind of device was given to " + core_.label);
  const Current current(core_);
  core_.check(core_.driver.stream_wait(stream_, own->event(), 0), "waiting for another device");
}

void CudaQueue::copy_across(gpu::Memory& to, i64 to_offset, const gpu::Memory& from, i64 from_offset, i64 bytes) {
  core_.require_open();
  const Block &target = block_of(to), &source = block_of(from);
  const gpu::Rows row{1, bytes, bytes, bytes};
  if (!check_rows(to, to_offset, row) || !check_rows(from, from_offset, row)) return;
  if (target.core() != &core_ || source.core() == nullptr)
    throw_internal("memory of somebody else was given to a copy between devices");
  source.core()->require_open();
  const Current current(core_);
  tidy();
  core_.check(core_.driver.peer_copy(target.address() + static_cast<Address>(to_offset), core_.context(),
                                     source.address() + static_cast<Address>(from_offset), source.core()->context(),
                                     static_cast<std::size_t>(bytes), stream_),
              "copying from " + source.core()->label);
  hold(target.shared_from_this());
  hold(source.shared_from_this());
}

Event& CudaQueue::mark_at(int number) {
  if (number < 0 || number >= static_cast<int>(marks_.size()))
    throw_internal(fmt::format("mark {} is not one of 0 to {}", number, marks_.size() - 1));
  return marks_[static_cast<std::size_t>(number)];
}

void CudaQueue::mark(int number) {
  core_.require_open();
  Event& event = mark_at(number);
  const Current current(core_);
  if (event == nullptr) core_.check(core_.driver.event_create(&event, event_timed), "making an event");
  core_.check(core_.driver.event_record(event, stream_), "recording an event");
}

double CudaQueue::milliseconds(int from, int to) {
  core_.require_open();
  const Event a = mark_at(from), b = mark_at(to);
  if (a == nullptr || b == nullptr) throw_internal(fmt::format("marks {} and {} were not both set", from, to));
  const Current current(core_);
  core_.check(core_.driver.event_synchronize(b), "waiting for the device");
  float time = 0;
  core_.check(core_.driver.event_elapsed(&time, a, b), "reading the device's clock");
  return static_cast<double>(time);
}

}  // namespace tessera::run::cuda
