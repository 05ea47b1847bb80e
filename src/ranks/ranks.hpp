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
#include <string>
#include <vector>

namespace tessera::ranks {

enum class Reduction { sum, min, max };

// Something under way. Bytes that it reads or fills stay where they are until it is done.
class Request {
 public:
  struct Operation {
    virtual ~Operation() = default;
    virtual bool done() = 0;
  };
  Request() = default;
  explicit Request(std::unique_ptr<Operation> operation) : operation_(std::move(operation)) {}
  bool done();  // looks, and does not wait; true of one that was never begun

 private:
  std::unique_ptr<Operation> operation_;
};

// A message that has come and is not received yet.
struct Incoming {
  int from = 0;
  std::size_t bytes = 0;
};

class Ranks {
 public:
  explicit Ranks(const std::atomic<bool>* cancel) : cancel_(cancel) {}
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
  // Has one come? From anybody; of those that are shorter than `largest_part`.
  virtual std::optional<Incoming> look(int tag) = 0;
  void wait(Request&);
  void wait(std::vector<Request>&);  // for all of them
  void wait_until(const std::function<bool()>&);

  // ---- what all ranks call, in the same order ----

  void barrier();
  // From one rank to all; elsewhere they have its length.
  void broadcast(std::span<std::byte>, int from = 0);
  // The same, of a length that nobody but it knows.
  std::vector<std::int64_t> broadcast(std::vector<std::int64_t>, int from = 0);
  // What every rank gives, in their order.
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte>);
  std::vector<std::string> all_gather(const std::string&);
  // Element by element. Floating-point numbers have no sum: its bits would depend on the number of ranks, so whoever
  // needs one adds up what all_gather() brings.
  void all_reduce(std::span<std::int64_t>, Reduction);
  void all_reduce(std::span<double>, Reduction);
  std::int64_t least(std::int64_t);  // of all ranks' values

  // ---- the end ----

  // Ends all ranks, now, with this exit status.
  [[noreturn]] void abort(int status);

  // Longer messages go in parts: MPI counts in int.
  static constexpr std::size_t largest_part = std::size_t{1} << 30;

 protected:
  virtual void begin_abort(int /*status*/) {}
  virtual Request begin_barrier() = 0;
  virtual Request begin_broadcast(std::span<std::byte>, int from) = 0;
  // `to`: what rank r gives stands from places[r] on, sizes[r] bytes long. No more than largest_part in all.
  virtual Request begin_all_gather(std::span<const std::byte> from, std::span<std::byte> to,
                                   const std::vector<int>& sizes, const std::vector<int>& places) = 0;
  virtual Request begin_all_reduce(std::span<std::int64_t>, Reduction) = 0;
  virtual Request begin_all_reduce(std::span<double>, Reduction) = 0;

 private:
  const std::atomic<bool>* cancel_;
};

// One process that is all there is; messages to itself arrive.
std::unique_ptr<Ranks> alone(const std::atomic<bool>* cancel = nullptr);

// The ranks that `mpirun` started, or one where it did not. Once in a process. Throws Error(device) where Open MPI is
// not there, or another MPI is.
std::unique_ptr<Ranks> start_mpi(const std::atomic<bool>* cancel = nullptr);

// What whoever started this process says that its rank is: 0 where nobody says anything. For what is told before there
// are ranks.
int rank_in_environment();

}  // namespace tessera::ranks
