// Pieces of one result on several ranks: whose each is, and what rank 0 is told of them. Messages are sent by the
// thread that computes; pieces come from the one that writes.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "ranks/agreement.hpp"
#include "tessera/array.hpp"

namespace tessera::pieces {

// Of the pieces that are left, in order: neighbours, as many as any other rank has, or one more.
std::vector<i64> share_of(const std::vector<i64>& left, int rank, int ranks);

// Of one rank, as it is told.
struct Account {
  i64 computed = 0;               // of its pieces
  bool ended = false;             // all are on the disk
  std::vector<i64> on_disk = {};  // since the last one
  std::vector<i64> counts = {};   // what the caller counts, at the end; added up over all ranks
};

class Shares {
 public:
  // Rank 0 gives `name` what others say is on the disk.
  Shares(ranks::Agreement&, std::function<void(const std::vector<i64>&)> name);

  // ---- of every rank ----

  void on_disk(const std::vector<i64>& pieces);  // from any thread
  void computed(i64 pieces);                     // so many of its own, until now
  // Before this rank ends with an error: what is on the disk is told once more.
  void repeat() { tell({}); }
  // Its own are done, with these counts. Rank 0 waits for all others, and has all counts together then.
  std::vector<i64> end(std::vector<i64> counts);

  // Of rank 0: what all have computed until now, as far as it was told.
  i64 computed_by_all() const;
  std::function<void()> progress = {};  // called when that has changed

 private:
  void tell(Account);
  void listen();
  bool others_ended() const;

  ranks::Agreement& agreement_;
  std::function<void(const std::vector<i64>&)> name_;
  i64 computed_ = 0;
  std::mutex mutex_;
  std::vector<i64> on_disk_;  // and not told
  std::deque<ranks::Request> sent_;
  std::vector<Account> accounts_;  // of all ranks, where this one is rank 0
};

}  // namespace tessera::pieces
