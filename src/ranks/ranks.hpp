// The processes that compute one result together, and what they say to each other: MPI, or one process alone. See
// docs/design/ranks.md.
//
//   const auto ranks = ranks::start_mpi(&interrupt.flag());
//   auto halo = ranks->receive(rows, below, tag);
//   ranks->wait(halo);
//
// All functions are called by the thread that began. Where they wait they look at the flag, and throw Error(cancelled)
// once it is up. What MPI itself says is an Error(device).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tessera::ranks {

using Bytes = std::vector<std::byte>;

// Something under way. Bytes that it reads or fills stay where they are until it is done.
class Request {
 public:
  struct Operation {
    virtual ~Operation() = default;
    virtual bool done() = 0;
  };
  Request() = default;
  explicit Request(std::unique_ptr<Operation> operation) : operation_(std::move(operation)) {}
  Request(Request&&) = default;
  Request& operator=(Request&&) = default;
  ~Request();
  bool done();  // looks, and does not wait; true of one that was never begun
  // What has its bytes. If the request is given up, after an error, this stays for good: MPI goes on with them.
  void keep(std::shared_ptr<const void> owner) { owner_ = std::move(owner); }

 private:
  std::unique_ptr<Operation> operation_;
  std::shared_ptr<const void> owner_;
};

struct Message {
  int from = 0;
  Bytes bytes;
};
std::vector<std::int64_t> numbers_of(const Bytes&);  // that were sent

class Ranks {
 public:
  // Longer messages go in parts: MPI counts in int.
  static constexpr std::size_t largest_part = std::size_t{1} << 30;

  explicit Ranks(const std::atomic<bool>* cancel, std::size_t largest = largest_part)
      : cancel_(cancel), largest_(largest) {}
  virtual ~Ranks() = default;  // of MPI: waits until all ranks have come here
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // ---- messages between two ranks: those with one tag arrive in the order in which they were sent ----

  virtual Request send(std::span<const std::byte>, int to, int tag) = 0;
  // The same, done no earlier than the other one has begun to receive.
  virtual Request send_until_received(std::span<const std::byte>, int to, int tag) = 0;
  // As many bytes as were sent.
  virtual Request receive(std::span<std::byte>, int from, int tag) = 0;
  // One that has come, from anybody, and is shorter than `largest_part`.
  std::optional<Message> take(int tag);
  void wait(Request&);
  void wait_until(const std::function<bool()>&);

  // ---- what all ranks call, in the same order ----

  // What every rank gives, in their order.
  std::vector<Bytes> all_gather(Bytes);
  void barrier() { all_gather({}); }

  // ---- the end ----

  // Ends all ranks, now, with this exit status.
  [[noreturn]] void abort(int status);

 protected:
  // A message that has come and is not received yet.
  struct Incoming {
    int from = 0;
    std::size_t bytes = 0;
  };
  virtual std::optional<Incoming> look(int tag) = 0;
  virtual void begin_abort(int /*status*/) {}
  // `to`: what rank r gives stands from places[r] on, sizes[r] bytes long.
  virtual Request begin_all_gather(std::span<const std::byte> from, std::span<std::byte> to,
                                   const std::vector<int>& sizes, const std::vector<int>& places) = 0;

 private:
  const std::atomic<bool>* cancel_;
  const std::size_t largest_;  // of what all_gather() has at once
};

// One process that is all there is, and has nobody to send to.
std::unique_ptr<Ranks> alone(const std::atomic<bool>* cancel = nullptr);

// The ranks that `mpirun` started, or one where it did not. Once in a process. Throws Error(device) where Open MPI is
// not there, or another MPI is.
std::unique_ptr<Ranks> start_mpi(const std::atomic<bool>* cancel = nullptr);

// What whoever started this process says that its rank is: 0 where nobody says anything. For what is told before there
// are ranks.
int rank_in_environment();

}  // namespace tessera::ranks
