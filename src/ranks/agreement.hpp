// Errors of several ranks as one. Until they work each for itself, ranks go in step, and where one fails all end:
//
//   Agreement agreement(*ranks);
//   try {
//     open_inputs();       // may fail on some of them, or on all
//     agreement.step();    // throws on all where it did on one
//   } catch (const Error& e) {
//     tell(agreement.failed(e));  // the same error on every rank; one of them tells it
//   }
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "ranks/ranks.hpp"
#include "tessera/error.hpp"

namespace tessera::ranks {

// Of another rank, which cannot tell it.
class RankError : public Error {
 public:
  RankError(int rank, int status, ErrorClass, const std::string& text);
  int rank() const { return rank_; }
  int status() const { return status_; }  // that rank's exit status

 private:
  int rank_, status_;
};

class Agreement {
 public:
  explicit Agreement(Ranks& ranks) : ranks_(ranks) {}
  Ranks& ranks() const { return ranks_; }

  // All ranks come here, or fail. Throws what failed() gives where one did.
  void step();
  // From here each works for itself.
  void part() { in_step_ = false; }
  void meet() { in_step_ = true; }
  bool in_step() const { return in_step_; }

  // This rank has failed before the next step of the others. Their step and this one's end with the same error: that
  // of the first rank that failed, with its number where not all failed alike.
  Error failed(const Error&);
  // Where all have ended with one error already, that one.
  const std::optional<Error>& end() const { return end_; }

  // ---- out of step: what rank 0 is told of another one's failure ----

  // Tells it, and waits until it ends all. Comes back where it does not listen.
  void report(const Error&, int status) const;
  // Has one been told? For rank 0. Throws RankError.
  void listen() const;

 private:
  std::optional<Error> agreed(const std::string& own, const Error* error);
  Ranks& ranks_;
  bool in_step_ = true;
  std::optional<Error> end_;
};

}  // namespace tessera::ranks
