// Reading, computing and writing beside each other: while one piece is computed, the next is read and the one before is
// written.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::pieces {

using Arrays = std::vector<Array>;

struct Stations {
  std::function<Arrays(i64 piece)> read;                  // on a thread of its own
  std::function<Arrays(i64 piece, Arrays read)> compute;  // on the thread of the caller
  std::function<void(i64 piece, Arrays computed)> write;  // on threads of its own
  std::function<void(i64 done)> done = {};                // after each, on the thread of the caller
  int writers = 1;                                        // that write at once, each a piece; they begin in order
};

// All of these pieces, in this order. What a station throws ends the others, and is thrown once they have ended; so is
// Error(cancelled) where the flag is up. Two pieces at most are read and not yet computed, one of them in work; one
// more than there are writers is computed and not yet written.
void convey(const std::vector<i64>& pieces, const Stations&, const std::atomic<bool>* cancel = nullptr);

// Memory that pieces use again: its pages are there. As many bytes as the arrays at hand take, where the pool of
// run/cpu rounds up and keeps what it has room for. Thread-safe; arrays may outlive it.
class Buffers {
 public:
  Buffers();
  // Elements undefined.
  Array take(const Format&, const Shape&);

 private:
  struct Kept;
  std::shared_ptr<Kept> kept_;
};

}  // namespace tessera::pieces
