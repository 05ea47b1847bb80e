// Weighted sums that are taken one dimension at a time (rewrite/sums/chain.hpp) by one kernel: a block of threads
// marches through the rows of an image or the planes of a volume, each of which comes once, halo included, into shared
// memory.
//
//   image    a thread takes a window of the new row, as vectors, and makes the sums along the row for its V columns;
//            each goes into the sums of all rows that it is part of, which wait in registers: K0 * V of them. With
//            a row the oldest are done, and the others move up, which is the multiply-add itself.
//   volume   sums along the columns of the new plane go to shared memory, for the halo columns as well; from there each
//            thread makes the sums along rows of the plane before and adds them to those of all planes, as above. The
//            two stand side by side in the text, so that one barrier a plane is enough.
//
// So a point costs K0 + K1 (+ K2) multiply-adds, halo rows and the planes of the start apart, and its bytes once. On
// CUDA rows come by themselves (cp.async), sixteen bytes at a time where they lie inside, several rows ahead: the
// registers hold sums. Elsewhere, and where elements have to be converted, through registers.
//
// Integers whose sums stay below 2^24 are added as floats, exactly: multiply-adds of integers take twice the time.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

struct ChainFit {
  bool fits = false;
  i64 columns = 4, rows = 1;   // of a thread
  i64 across = 128, down = 1;  // threads
  i64 high = 4;                // volumes: rows that a thread sums up along columns at once
  i64 planes = 1, slots = 2;   // of a step; parts that shared memory holds
  bool is_long = false;        // enough for its price to matter against tiles: of short ones memory binds
  double price = 0;            // instructions of a result
  int registers = 0;           // estimate, of a thread
};
// Groups that are a chain of sums.
extern const DeviceWay chain;

}  // namespace tessera::lower
