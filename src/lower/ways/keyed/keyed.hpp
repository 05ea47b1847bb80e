// Keyed reductions on devices (ir/keyed.hpp): a block of threads takes a piece of the elements.
//
// The block goes through its piece in the order of memory, as many elements of a line at a time as it has threads. Each
// thread computes the value and the bin of one of them and leaves both in shared memory. Then every thread goes through
// all of these and takes those whose bin is its own: thread t has the bins t, t + threads, t + 2 threads ... So no two
// threads write one bin, every bin takes its elements in their order, and nothing depends on how many bins there are.
// Bins lie in shared memory where they fit.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const DeviceWay keyed;

}  // namespace tessera::lower
