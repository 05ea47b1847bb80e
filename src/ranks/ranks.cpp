// What is the same for all kinds of ranks: waiting, and what all give, in parts; see ranks.hpp.
#include "ranks/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
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

void keep_for_good(std::shared_ptr<const void> owner) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<const void>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(owner));
}

}  // namespace

std::vector<std::int64_t> numbers_of(const Bytes& bytes) {
  std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(numbers)).begin());
  return numbers;
}

Request::~Request() {
  if (operation_ != nullptr && owner_ != nullptr) keep_for_good(std::move(owner_));
}

bool Request::done() {
  if (operation_ != nullptr && operation_->done()) operation_.reset(), owner_.reset();
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

void Ranks::abort(int status) {
  begin_abort(status);
  std::_Exit(status);
}

std::optional<Message> Ranks::take(int tag) {
  const std::optional<Incoming> come = look(tag);
  if (!come) return {};
  const auto bytes = std::make_shared<Bytes>(come->bytes);
  Request request = receive(*bytes, come->from, tag);
  request.keep(bytes);
  wait(request);
  return Message{come->from, std::move(*bytes)};
}

std::vector<Bytes> Ranks::all_gather(Bytes own) {
  const auto count = static_cast<std::size_t>(size());
  struct Gathering {
    Bytes own, part;
    std::vector<std::int64_t> length, lengths;
    std::vector<int> sizes, places;
  };
  const auto g = std::make_shared<Gathering>();
  const auto gather = [&](std::span<const std::byte> from, std::span<std::byte> to) {
    Request request = begin_all_gather(from, to, g->sizes, g->places);
    request.keep(g);
    wait(request);
  };
  // Lengths first, then parts that are as long for all together as one message may be.
  g->own = std::move(own);
  g->length = {static_cast<std::int64_t>(g->own.size())};
  g->lengths.resize(count);
  for (std::size_t r = 0; r < count; ++r) {
    constexpr std::size_t word = sizeof(std::int64_t);
    g->sizes.push_back(static_cast<int>(word));
    g->places.push_back(static_cast<int>(r * word));
  }
  gather(std::as_bytes(std::span(g->length)), std::as_writable_bytes(std::span(g->lengths)));

  std::vector<Bytes> all(count);
  for (std::size_t r = 0; r < count; ++r) all[r].resize(static_cast<std::size_t>(g->lengths[r]));
  const std::size_t most = largest_ / count;
  for (std::size_t begin = 0;; begin += most) {
    std::size_t bytes = 0;
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t size = std::min(all[r].size() - std::min(all[r].size(), begin), most);
      g->sizes[r] = static_cast<int>(size);
      g->places[r] = static_cast<int>(bytes);
      bytes += size;
    }
    if (bytes == 0) return all;
    g->part.resize(bytes);
    const auto own_size = static_cast<std::size_t>(g->sizes[static_cast<std::size_t>(rank())]);
    gather(std::span(g->own).subspan(std::min(begin, g->own.size()), own_size), g->part);
    for (std::size_t r = 0; r < count; ++r)
      if (g->sizes[r] > 0) std::copy_n(g->part.data() + g->places[r], g->sizes[r], all[r].data() + begin);
  }
}

int rank_in_environment() {
  // Of Open MPI, of PMIx, of MPICH.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* text = std::getenv(name))
      if (const auto rank = base::parse_integer(text)) return static_cast<int>(*rank);
  return 0;
}

}  // namespace tessera::ranks
