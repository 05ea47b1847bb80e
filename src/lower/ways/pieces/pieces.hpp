// Reductions of an image (ir/reductions.hpp): a block of threads takes a piece of it.
//
//   every thread     a lane: its elements one after the other, neighbours beside each other in memory
//   shared memory    holds the lanes of the piece
//   one thread       takes them together, in their order
//
// The order is that of the definition, so bits are those of any other way. Point by point the lanes are an image of
// their own, which is written and read again by threads that stand far apart. A block takes as many reductions of the
// same image as the plan puts together (plan/groups/pieces.hpp): all but the first find its elements in the cache.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const DeviceWay pieces;

}  // namespace tessera::lower
