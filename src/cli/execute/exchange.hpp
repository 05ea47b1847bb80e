// Images that passes hand on, where several ranks make them: each has the rows that it has computed, and is given by
// the others what it reads around them.
#pragma once

#include <functional>
#include <vector>

#include "cli/execute/piece_program.hpp"
#include "ranks/agreement.hpp"
#include "tessera/options.hpp"

namespace tessera::cli {

// What of an image, or a result, is a rank's: rows of the slowest dimension, as many as any other rank has or one more.
Region rows_of(const Shape&, int rank, int ranks);

// Gives every rank the rows that it reads of one image; `reads`: of every rank. All ranks call it, out of step.
void exchange_rows(ranks::Ranks&, io::Scratch&, const Format&, const std::vector<Region>& reads);

// `reads_of`: what a rank is going to read of each source. Afterwards those that are images have what this rank reads.
// All ranks call it, in step; out of step, who fails while others wait for its rows ends all.
void exchange(ranks::Agreement&, const PieceProgram&, const std::vector<Source>&,
              const std::function<std::vector<Region>(int rank)>& reads_of);

}  // namespace tessera::cli
