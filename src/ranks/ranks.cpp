// What is the same for all kinds of ranks: waiting, and messages in parts; see ranks.hpp.
#include "ranks/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::ranks {
namespace {

// Looks often at first, as halos arrive within microseconds, then leaves the core to others.
class Patience {
 public:
  void pause() {
    constexpr int often = 2000;
    constexpr std::chrono::microseconds longest{1000};
    if (++looks_ < often) return std::this_thread::yield();
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, longest);
  }

 private:
  int looks_ = 0;
  std::chrono::microseconds pause_{20};
};

template <class T>
std::span<std::byte> bytes_of(std::span<T> elements) {
  return std::as_writable_bytes(elements);
}

}  // namespace

bool Request::done() {
  if (operation_ != nullptr && operation_->done()) operation_.reset();
  return operation_ == nullptr;
}

void Ranks::wait(Request& request) {
  wait_until([&] { return request.done(); });
}

void Ranks::wait_until(const std::function<bool()>& come) {
  Patience patience;
  while (!come()) {
    if (cancel_ != nullptr && cancel_->load()) throw Error(ErrorClass::cancelled, "interrupted");
    patience.pause();
  }
}

void Ranks::wait(std::vector<Request>& requests) {
  for (Request& request : requests) wait(request);
}

void Ranks::abort(int status) {
  begin_abort(status);
  std::_Exit(status);
}

void Ranks::barrier() {
  Request all = begin_barrier();
  wait(all);
}

void Ranks::broadcast(std::span<std::byte> bytes, int from) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), largest_part);
    Request request = begin_broadcast(bytes.first(part), from);
    wait(request);
    bytes = bytes.subspan(part);
  }
}

std::vector<std::int64_t> Ranks::broadcast(std::vector<std::int64_t> numbers, int from) {
  std::int64_t count = static_cast<std::int64_t>(numbers.size());
  broadcast(bytes_of(std::span(&count, 1)), from);
  numbers.resize(static_cast<std::size_t>(count));
  broadcast(bytes_of(std::span(numbers)), from);
  return numbers;
}

std::vector<std::vector<std::byte>> Ranks::all_gather(std::span<const std::byte> own) {
  const auto count = static_cast<std::size_t>(size());
  // Lengths first, then parts that are as long for all together as one message may be.
  std::vector<std::int64_t> lengths(count);
  constexpr auto word = static_cast<int>(sizeof(std::int64_t));
  std::vector<int> sizes(count, word), places(count);
  for (std::size_t r = 0; r < count; ++r) places[r] = static_cast<int>(r) * word;
  const auto length = static_cast<std::int64_t>(own.size());
  Request request = begin_all_gather(std::as_bytes(std::span(&length, 1)), bytes_of(std::span(lengths)), sizes, places);
  wait(request);

  std::vector<std::vector<std::byte>> all(count);
  for (std::size_t r = 0; r < count; ++r) all[r].resize(static_cast<std::size_t>(lengths[r]));
  const std::size_t most = largest_part / count;
  std::vector<std::byte> held;
  for (std::size_t begin = 0;; begin += most) {
    std::size_t bytes = 0;
    for (std::size_t r = 0; r < count; ++r) {
      sizes[r] = static_cast<int>(std::min(all[r].size() - std::min(all[r].size(), begin), most));
      places[r] = static_cast<int>(bytes);
      bytes += static_cast<std::size_t>(sizes[r]);
    }
    if (bytes == 0) return all;
    held.resize(bytes);
    request = begin_all_gather(
        own.subspan(std::min(begin, own.size()), static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank())])),
        held, sizes, places);
    wait(request);
    for (std::size_t r = 0; r < count; ++r)
      if (sizes[r] > 0) std::memcpy(all[r].data() + begin, held.data() + places[r], static_cast<std::size_t>(sizes[r]));
  }
}

std::vector<std::string> Ranks::all_gather(const std::string& own) {
  std::vector<std::string> all;
  for (const std::vector<std::byte>& bytes : all_gather(std::as_bytes(std::span(own.data(), own.size()))))
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all;
}

void Ranks::all_reduce(std::span<std::int64_t> values, Reduction how) {
  Request request = begin_all_reduce(values, how);
  wait(request);
}

void Ranks::all_reduce(std::span<double> values, Reduction how) {
  if (how == Reduction::sum)
    throw Error(ErrorClass::internal, "a sum of floating-point numbers depends on the number of ranks");
  Request request = begin_all_reduce(values, how);
  wait(request);
}

std::int64_t Ranks::least(std::int64_t value) {
  all_reduce(std::span(&value, 1), Reduction::min);
  return value;
}

int rank_in_environment() {
  // Of Open MPI, of PMIx, of MPICH.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* text = std::getenv(name))
      if (const auto rank = base::parse_integer(text)) return static_cast<int>(*rank);
  return 0;
}

}  // namespace tessera::ranks
