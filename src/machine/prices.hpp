// What the ways to take a weighted sum cost: the numbers that the choice between them is made from.
//
// Nanoseconds of one core with vectors of 64 bytes, for floats; narrower vectors and doubles take longer in proportion
// (rewrite/sums/tiles/tiles.cpp). They were measured on one machine. `tessera tune` measures them again on another and
// stores them; a plan is given them as a part of its device, so that it depends on stored numbers and never on a clock.
#pragma once

#include <span>

namespace tessera::machine {

struct Prices {
  // Direct sums: of a term, written out at least by rows (windows.cpp), or not.
  double term = 0.0185, loop_term = 0.045;
  double row_term = 0.045, long_row_term = 0.066;  // of one row: every term is loaded
  double volume_term = 0.0246;                     // rows of neighbouring planes meet in few sets of L1
  // Outer products, one dimension at a time: of a row or column, and of what is kept between two dimensions.
  double tap = 0.02, kept = 0.3;
  double volume_tap = 0.03, volume_kept = 0.25;
  // Sums of few outer products: of a row or column of one, of those beyond the 48th of all, and of what is kept.
  double product_tap = 0.0165, late_product_tap = 0.03, products_kept = 0.1;
  // Fourier transforms of tiles. In programs they take 1.2 times what they do in the benchmark's loop.
  double tile_point = 1.032, large_tile_point = 0.108;  // and more for every doubling of the points beyond 144 x 144
  double row_tile_point = 0.42, row_tile_doubling = 0.036;  // of one row, and for every doubling of its points
  // Of volumes: the product with a plane of weights costs what its spectra cost that are not in L1, more where those of
  // all planes leave L2 or L3.
  double product = 0.05, far_product = 0.012, most_product = 0.1, memory_product = 0.3;
  double rounding = 0.3;  // of a tile's results to integers, and their way to memory

  bool measured = false;  // on this machine, by `tessera tune`

  bool operator==(const Prices&) const = default;
};

struct PriceName {
  double Prices::* value;
  const char *name, *unit, *meaning;
};
// All of them, in the order of the struct.
std::span<const PriceName> price_names();

}  // namespace tessera::machine
