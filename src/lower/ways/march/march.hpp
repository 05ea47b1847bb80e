// Weighted sums over volumes: a block of threads marches through the planes, a thread has a block of results.
//
// A dense sum of 5 x 5 x 5 is 125 multiply-adds a result and 125 values that it reads. What a thread loads it has to
// use several times, or the load unit binds: a multiprocessor starts 128 multiply-adds a cycle and loads 32 values. So
// a thread computes R x V results, neighbours in rows and columns, of every plane that the sum reaches from the one at
// hand: as many sums as that are in registers. Each plane comes once: the block brings its part, halo included, into
// shared memory, where borders are mapped on the way, and every thread reads the window of its results from there, a
// vector a load. A value of 5 x 5 x 5 with R = 2 and V = 4 is used 20 times. With every plane the oldest sums are done
// and stored, and the others move up by one place.
//
//   plane z+1 is asked for     while plane z is added to the sums of z-2 ... z+2; then it goes to the other half of
//                              shared memory, and a barrier ends the step
//
// One text serves every place: no frame, no least extent. Four dimensions march along the first of them, and a thread's
// block has layers as well.
#pragma once

#include <vector>

#include "lower/way.hpp"

namespace tessera::lower {

struct MarchFit {
  bool fits = false;
  // Per dimension but the first: results of a thread, threads of a block.
  std::vector<i64> results, threads;
  double price = 0;   // instructions of a result
  int registers = 0;  // estimate, of a thread
};
// Groups that are one weighted sum of an array in memory.
extern const DeviceWay march;

}  // namespace tessera::lower
