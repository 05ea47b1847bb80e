// What the function of a group needs that is one stage computed through Fourier transforms; see tiles.cpp.
#pragma once

#include "fft/cpu/tile.hpp"
#include "lower/ways/stream/group.hpp"
#include "rewrite/sums/tiles.hpp"

namespace tessera::lower {

struct GroupLowering::Transform {
  ir::StageId stage = 0;
  rewrite::Convolution sum;
  std::optional<ir::StageId> prologue;  // computed while tiles are loaded
  bool kept = false;                    // results stay in a ring, for stages that are computed on them
  fft::TilePlan tile;
  std::string function;
  std::size_t spectrum = 0, weights = 0;  // tables of the module
  i64 high = 0, wide = 0;                 // results of a tile
  i64 rows = 0;                           // that it reads
  i64 planes = 1, along = 1, pairs = 1;   // of weights, so many of a volume; of tiles that march together
  bool signal = false;                    // rows are parts of it (rewrite/sums/tiles.hpp)
  i64 reach = 0;                          // results of a pair along a row of the image
  bool rounded = false;                   // results are integers
  bool bytes = false;                     // so are points, of 8 bits
  // Scratch memory: pointers to rows of the image, or 0 beyond a constant border; those that the function takes; rows
  // that were copied; a row as it lies in memory; results that are not stored where they belong at once.
  Value bases, from, to, arguments, numbers, loaded, raw, results;
  Value spectra, stack;  // of the pairs of tiles of several planes, and pointers to those that are added
  // Where the numbers of a pair lie far apart (ranges.cpp): the largest ones of all windows, two lines of them,
  // what is left out and the mean squares of the rest; results of a level and pointers to them. Of volumes the spectra
  // of a level, and the energy of every spectrum that is kept.
  Value most, two_lines, limits, squares, level, level_to, level_spectra, energies;

  // Of another one that runs before it.
  void take_memory(const Transform& other) {
    from = other.from, to = other.to, arguments = other.arguments, numbers = other.numbers;
    loaded = other.loaded, results = other.results, stack = other.stack;
    most = other.most, two_lines = other.two_lines, limits = other.limits, squares = other.squares;
    level = other.level, level_to = other.level_to, level_spectra = other.level_spectra;
  }

  // From the first results of a tile to those of its row i, along a row of the image.
  Value ahead(const Value& i) const { return signal ? i * (2 * wide) : ir::nest::integer(0); }

  i64 lines() const { return planes / along * (along + 1); }  // spectra of a pair that are kept
  i64 spectrum_bytes() const { return fft::tile_spectrum_size(tile) * size(); }

  ir::nest::Lane lane() const { return tile.vector.lane; }
  i64 size() const { return ir::nest::size_of(tile.vector.lane); }
  i64 row_bytes() const { return tile.columns * size(); }
  // Are results looked at for what rounding spreads in them? (Those of integers are proven to be near enough.)
  bool ranged() const { return !rounded; }
  // Doubles, in which quotients by next to nothing still mean something.
  bool sharp() const { return lane() == ir::nest::Lane::f64; }
};

// One of the two tiles of a pair, which lie side by side; of two pairs in the planes of a stack.
struct GroupLowering::TilePart {
  i64 number = 0;  // of the results
  i64 side() const { return number % 2; }
  Value x;               // the column of its first result
  Value there;           // a flag: does it lie in the image
  Value high, wide;      // rows and columns of results in the image: 0 where it does not
  Value r0, r1, c0, c1;  // those that are wanted, from its first one on
  Value wanted, whole;   // flags: are there any; are they all of them, stored where they belong at once
};

// A plane of the image, one of those that a sum over planes reads.
struct GroupLowering::Plane {
  Value offset, next;   // of its rows from those of plane 0, and from a plane to the next one, in bytes
  Value outside, bits;  // a flag: beyond a constant border; of that one. Null where no border can be meant
};

}  // namespace tessera::lower
