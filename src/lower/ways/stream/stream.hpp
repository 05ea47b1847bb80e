// The way of cores that takes every group: passes compute their rows by loops, one pass after the other.
//
// A group of one pass does so at once. One of several advances step by step, so that what a pass leaves for a later one
// is still in a cache: line buffers, the last rows of a stage. Under `--schedule tiled` every pass computes its whole
// region of the tile before the next one begins, and rings are as tall as that.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const CoreWay stream;

}  // namespace tessera::lower
