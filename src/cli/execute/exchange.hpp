// Images that passes hand on, where several ranks make them: each has the rows that it has computed, and is given by
// the others what it reads around them.
#pragma once

#include <vector>

#include "io/regions/scratch.hpp"
#include "ranks/ranks.hpp"
#include "tessera/options.hpp"

namespace tessera::cli {

// What of an image, or a result, is a rank's: rows of the slowest dimension, as many as any other rank has or one more.
Region share_of(const Shape&, int rank, int ranks);

// `reads`: of every rank, what it is going to read. Afterwards the image has this rank's. All ranks call it.
void exchange(ranks::Ranks&, io::Scratch& image, const Format&, const std::vector<Region>& reads);

}  // namespace tessera::cli
