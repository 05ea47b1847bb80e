// Errors of several ranks as one. Until they work each for itself, ranks go in step, and where one fails all end:
//
//   Agreement agreement(*ranks);
//   try {
//     open_inputs();                          // may fail on some of them, or on all
//     plan = agreement.broadcast(own_plan);   // throws on all where one has failed
//   } catch (const Error& e) {
//     tell(agreement.failed(e));  // the same error on every rank; one of them tells it
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ranks/ranks.hpp"
#include "tessera/error.hpp"

namespace tessera::ranks {

// Of another rank, which cannot tell it.
class RankError : public Error {
 public:
  RankError(int rank, ErrorClass, const std::string& text);
};

class Agreement {
 public:
  explicit Agreement(Ranks& ranks) : ranks_(ranks) {}
  Ranks& ranks() const { return ranks_; }

  // ---- in step: all ranks come to the same one of these, or fail; where one did, each throws what failed() gives ----

  void step() { all_gather(Bytes()); }
  // What every rank gives, in their order.
  std::vector<Bytes> all_gather(Bytes);
  std::vector<std::string> all_gather(const std::string&);
  // What rank 0 gives.
  std::vector<std::int64_t> broadcast(const std::vector<std::int64_t>&);
  std::int64_t least(std::int64_t);  // of all ranks' values
  // From here each works for itself, until they meet again.
  void part();
  void meet();
  bool in_step() const { return in_step_; }

  // This rank has failed before the others come to the next of these. All end with the same error: that of the first
  // rank that failed, with its number where not all failed alike.
  Error failed(const Error&);

  // ---- out of step: what rank 0 is told of another one's failure ----

  // Tells it, and waits until it ends all. Comes back where it does not listen.
  void report(const Error&) const;
  // Has one been told? For rank 0. Throws RankError.
  void listen() const;

 private:
  Ranks& ranks_;
  bool in_step_ = true;
  std::optional<Error> end_;  // of all
};

}  // namespace tessera::ranks
