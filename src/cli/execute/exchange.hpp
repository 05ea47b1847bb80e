// Images that passes hand on, where several ranks make them: each has the rows that it has computed, and is given by
// the others what it reads around them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "cli/execute/piece_program.hpp"
#include "ranks/agreement.hpp"
#include "tessera/options.hpp"

namespace tessera::cli {

// What of an image, or a result, is a rank's: rows of the slowest dimension, as many as any other rank has or one more.
Region rows_of(const Shape&, int rank, int ranks);

// Rows of images on their way between ranks, beside other work: each rank is given those that it reads and has not
// made. In each turn every rank sends to one and receives from one, so all of them have the same images, in the same
// order. Out of step; who fails while others wait for its rows ends all.
class Exchange {
 public:
  struct Image {
    std::shared_ptr<io::Scratch> rows;
    Format format;
    std::vector<Region> reads;  // of every rank
  };
  Exchange(ranks::Ranks&, std::vector<Image>);
  ~Exchange();

  // Takes what has come, sends what may go; true: it is done.
  bool go_on();
  void finish();

 private:
  class Way;
  struct Turn;

  bool begin_turn();

  ranks::Ranks& ranks_;
  std::vector<Image> images_;
  std::size_t next_ = 0;  // turn of all, of which every image has one for each other rank
  std::unique_ptr<Turn> turn_;
};

// `reads_of`: what a rank is going to read of each source. Those that are images have it afterwards.
Exchange exchange_of(ranks::Ranks&, const PieceProgram&, const std::vector<Source>&,
                     const std::function<std::vector<Region>(int rank)>& reads_of);
// The whole of it. All ranks call it, in step.
void exchange(ranks::Agreement&, const PieceProgram&, const std::vector<Source>&,
              const std::function<std::vector<Region>(int rank)>& reads_of);

}  // namespace tessera::cli
