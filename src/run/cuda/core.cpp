// The context, its errors and its memory; see core.hpp.
#include "run/cuda/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "base/text.hpp"
#include "run/gpu/errors.hpp"

namespace tessera::run::cuda {
namespace {

// Blocks of the list come in multiples of this, so that one fits the next image of nearly the same size. Blocks of the
// driver's pool do not, so that tools see where they end.
constexpr i64 granule = i64{1} << 16;

i64 rounded(i64 bytes) {
  return std::max<i64>((bytes + granule - 1) / granule, 1) * granule;
}

}  // namespace

Current::Current(Core& core) noexcept : driver_(core.driver) {
  if (driver_.context_get(&before_) != success) before_ = nullptr;
  if (before_ == core.context_) return;
  changed_ = true;
  core.note(driver_.context_set(core.context_), "choosing the context");
}

Current::~Current() {
  if (changed_) driver_.context_set(before_);
}

Core::Core(const Driver& d, const gpu::Limits& limits) : driver(d), index(limits.index), label(label_of(limits)) {
  check(driver.device_get(&ordinal_, index), "looking up the device");
  check(driver.primary_retain(&context_, ordinal_), "making a context");
  const Current current(*this);
  require_open();
  const int capability = 10 * attribute(compute_capability_major) + attribute(compute_capability_minor);
  early_blocks = driver.launch_early != nullptr && capability >= capability_of_early_blocks;
  if (!driver.pools || attribute(memory_pools_supported) == 0) return;
  if (driver.pool_of_device(&pool_, ordinal_) != success) pool_ = nullptr;
  if (pool_ == nullptr) return;
  std::uint64_t all = UINT64_MAX;
  driver.pool_set(pool_, pool_release_threshold, &all);  // else every wait would give all of it back
  check(driver.stream_create(&stream_, stream_non_blocking), "making a stream");
}

int Core::attribute(int what, int otherwise) const {
  int value = otherwise;
  return driver.device_attribute(&value, what, ordinal_) == success ? value : otherwise;
}

bool Core::reaches(Core& other) {
  if (!driver.peers || &other == this) return false;
  require_open();
  const base::Lock lock(peers_mutex_);
  const auto [found, is_new] = peers_.try_emplace(&other, false);
  if (!is_new) return found->second;
  int can = 0;
  if (driver.peer_can(&can, ordinal_, other.ordinal_) != success || can == 0) return false;
  const Current current(*this);
  const Status enabled = driver.peer_enable(other.context_, 0);
  if (enabled != success && enabled != error_peer_already_enabled) {
    note(enabled, "reaching another device");
    return false;
  }
  // Memory of pools follows rules of its own.
  const PoolAccess access{.id = ordinal_};
  if (other.pool_ != nullptr && driver.pool_share(other.pool_, &access, 1) != success) return false;
  return found->second = true;
}

void Core::close(Status status, std::string_view doing) noexcept {
  try {
    const base::Lock lock(reason_mutex_);
    if (reason_.empty()) reason_ = fmt::format("{} failed with {}", doing, driver.describe(status));
  } catch (const std::exception&) {  // no memory for words: closed all the same
  }
  closed_.store(true, std::memory_order_release);
}

void Core::note(Status status, std::string_view doing) noexcept {
  if (sticky(status)) close(status, doing);
}

void Core::check(Status status, std::string_view doing, const std::vector<std::string>& notes) {
  if (status == success) return;
  if (closed()) require_open();  // the error of another thread or of a destructor, known by now
  if (!sticky(status))
    throw Error(ErrorClass::device, fmt::format("{} failed on {}: {}", doing, label, driver.describe(status)), notes);
  close(status, doing);
  std::vector<std::string> all = notes;
  all.push_back("the device's context is lost; work handed to it earlier may be the cause");
  throw Error(ErrorClass::device, fmt::format("{} failed on {}: {}", doing, label, driver.describe(status)),
              std::move(all), "start the program again to use this device");
}

void Core::require_open() const {
  if (!closed()) return;
  if (process_ != base::forks())
    throw Error(ErrorClass::device, fmt::format("{} was opened before this process was forked", label), {},
                "start processes anew (spawn, forkserver) to use devices in them");
  const base::Lock lock(reason_mutex_);
  throw Error(ErrorClass::device, fmt::format("{} is closed since {}", label, reason_), {},
              "start the program again to use this device");
}

void Core::add(Holder* holder) {
  const base::Lock lock(holders_mutex_);
  holders_.push_back(holder);
}

void Core::remove(Holder* holder) noexcept {
  const base::Lock lock(holders_mutex_);
  std::erase(holders_, holder);
}

i64 Core::free_bytes() const {
  std::size_t free = 0, total = 0;
  return driver.memory_info(&free, &total) == success ? static_cast<i64>(free) : -1;
}

Status Core::try_allocate(i64 bytes, Address& address) {
  if (pool_ != nullptr) {
    const auto size = static_cast<std::size_t>(std::max<i64>(bytes, 1));
    const Status status = driver.pool_allocate(&address, size, stream_);
    // Nothing but allocations and frees is in that stream: a matter of microseconds, and all streams may use it.
    return status == success ? driver.stream_synchronize(stream_) : status;
  }
  const i64 size = rounded(bytes);
  {
    const base::Lock lock(memory_mutex_);
    const auto found = kept_.find(size);
    if (found != kept_.end()) {
      address = found->second;
      kept_.erase(found);
      return success;
    }
  }
  return driver.memory_allocate(&address, static_cast<std::size_t>(size));
}

Address Core::allocate(i64 bytes) {
  Address address = 0;
  const Status status = with_memory([&] { return try_allocate(bytes, address); });
  if (status == error_out_of_memory) throw gpu::OutOfMemory(label, bytes, free_bytes());
  check(status, fmt::format("allocating {}", base::format_bytes(static_cast<double>(bytes))));
  return address;
}

void Core::collect() {
  std::vector<std::shared_ptr<const void>> dropped;
  {
    const base::Lock lock(holders_mutex_);
    // Numbers first: what is handed over while we wait is not finished by our waiting.
    std::vector<std::uint64_t> issued;
    for (Holder* holder : holders_) issued.push_back(holder->issued());
    check(driver.context_synchronize(), "waiting for the device");
    for (std::size_t i = 0; i < holders_.size(); ++i)
      for (auto& what : holders_[i]->let_go(issued[i])) dropped.push_back(std::move(what));
  }
  dropped.clear();
  if (pool_ != nullptr) {
    check(driver.stream_synchronize(stream_), "waiting for freed memory");
    driver.pool_trim(pool_, 0);
    return;
  }
  const base::Lock memory(memory_mutex_);
  for (const auto& [size, address] : kept_) note(driver.memory_free(address), "freeing memory");
  kept_.clear();
}

void Core::release(Address address, i64 bytes) noexcept {
  if (closed()) return;  // went with the context
  const Current current(*this);
  if (pool_ != nullptr) {
    note(driver.pool_free(address, stream_), "freeing memory");
    return;
  }
  const base::Lock lock(memory_mutex_);
  try {
    kept_.emplace(rounded(bytes), address);
  } catch (const std::bad_alloc&) {
    note(driver.memory_free(address), "freeing memory");
  }
}

}  // namespace tessera::run::cuda
