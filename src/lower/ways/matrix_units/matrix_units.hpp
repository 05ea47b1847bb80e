// Integer sums of bytes by matrix units that skip zeros (mma.sp: of every four weights two).
//
//   A          the weights of two kernel rows, each as a band: row m has those of one of 16 neighbouring columns of
//              results, 2 m for m < 8 and 2 m - 15 beyond, so that a thread has two neighbours; column k is one of 32
//              columns of the image. Of columns k and k + 16 one at most has a weight. So image columns in the order
//              {4 t, 4 t + 1, 4 t + 16, 4 t + 17}, {4 t + 2, 4 t + 3, 4 t + 18, 4 t + 19} leave two of every four, and
//              which two depends on the shape alone (the metadata).
//   B          8 rows of the image, 32 columns, and the 8 rows that begin one below: words of two neighbouring chunks
//              of 16 bytes, as ldmatrix gives them, whose halves are put together.
//   results    16 columns of 8 rows. Rows 8 q + s ... of the image are added to block q of results by the weights of
//              row s, and to block q - 1 by those of row s + 8: two blocks of totals are under way.
//
// A block of threads marches down: four warps have 64 columns each. Rows of the image come into a ring of groups of 8
// in shared memory, up to two ahead (cp.async); the first group of the ring is there twice, once behind the last one,
// so that no address wraps. Bytes outside the image, and all of rows that begin at odd places, come one by one through
// the border. What the body makes of the sum is computed from the totals; bytes go through shared memory, so that a
// thread stores many neighbours.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const DeviceWay matrix_units;

}  // namespace tessera::lower
