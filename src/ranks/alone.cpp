// One process that is all there is; see ranks.hpp.
#include <algorithm>
#include <deque>
#include <map>

#include "ranks/ranks.hpp"

namespace tessera::ranks {
namespace {

using Message = std::vector<std::byte>;
using Messages = std::map<int, std::deque<Message>>;  // by tag

class Reception : public Request::Operation {
 public:
  Reception(Messages& messages, std::span<std::byte> to, int tag) : messages_(messages), to_(to), tag_(tag) {}
  bool done() override {
    std::deque<Message>& come = messages_[tag_];
    if (come.empty()) return false;
    std::copy_n(come.front().begin(), std::min(come.front().size(), to_.size()), to_.begin());
    come.pop_front();
    return true;
  }

 private:
  Messages& messages_;
  std::span<std::byte> to_;
  int tag_;
};

class Alone : public Ranks {
 public:
  using Ranks::Ranks;
  int rank() const override { return 0; }
  int size() const override { return 1; }

  Request send(std::span<const std::byte> bytes, int /*to*/, int tag) override {
    messages_[tag].emplace_back(bytes.begin(), bytes.end());
    return {};
  }
  Request send_until_received(std::span<const std::byte> bytes, int to, int tag) override {
    return send(bytes, to, tag);
  }
  Request receive(std::span<std::byte> to, int /*from*/, int tag) override {
    return Request(std::make_unique<Reception>(messages_, to, tag));
  }
  std::optional<Incoming> look(int tag) override {
    const std::deque<Message>& come = messages_[tag];
    if (come.empty()) return std::nullopt;
    return Incoming{0, come.front().size()};
  }

 protected:
  Request begin_barrier() override { return {}; }
  Request begin_broadcast(std::span<std::byte>, int) override { return {}; }
  Request begin_all_gather(std::span<const std::byte> from, std::span<std::byte> to, const std::vector<int>&,
                           const std::vector<int>&) override {
    std::ranges::copy(from, to.begin());
    return {};
  }
  Request begin_all_reduce(std::span<std::int64_t>, Reduction) override { return {}; }
  Request begin_all_reduce(std::span<double>, Reduction) override { return {}; }

 private:
  Messages messages_;
};

}  // namespace

std::unique_ptr<Ranks> alone(const std::atomic<bool>* cancel) {
  return std::make_unique<Alone>(cancel);
}

}  // namespace tessera::ranks
