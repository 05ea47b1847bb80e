// How certain the points of an image are, cell by cell: see certainty_scan.cpp.
#pragma once

#include <vector>

#include "tessera/array.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// Cells of so many points along the last dimension and along each other one, at multiples of these.
constexpr i64 cell_columns = 32, cell_rows = 4;

// The cells that a box touches. What each holds: 0 where nothing is known; the certainty of its points where it is the
// same for all; NaN else.
struct Cells {
  std::vector<i64> first, count;  // cells, per dimension
  std::vector<double> kinds;
  // Of all cells that touch a box among them.
  double of(const Region& box) const;
};

// Of a mask: a certainty that is not above 0 is none, NaN too.
Cells cells_of_mask(const Array& mask, const Region& box);
bool is_scannable_mask(const Format&);

// Of an image whose points are known where they are finite, with certainty 1; of structs all channels together.
Cells cells_of_numbers(const Array& image, const Region& box);
bool is_scannable_image(const Format&);
// Do its numbers lie as numbers of the host must, to be scanned?
bool is_aligned(const Array&);

// Of both.
Cells both(const Cells& mask, const Cells& numbers);

}  // namespace tessera::engine
