// A tile of a convolution that no block of a device holds: three kernels, between which its spectrum lies in memory.
//
//   rows      lines of `columns` real numbers, read from the image, as half as many complex ones
//   columns   forward, times the spectrum of the weights, and back, in place; of the results the first `high` rows
//   back      these rows, to numbers
//
// A row's halves become one line, x_j - i x_(j + n), whose transform is that of the row at the frequencies 2 k + 1/2
// (tile.hpp does the same with columns). So a tile of T x 2 n numbers is T x n pairs, none of them a case of its
// own, and rows in memory are as aligned as n is even. Lines are those of other transforms (line.hpp), whose
// ends on the image's side the kernels write themselves.
#pragma once

#include <vector>

#include "fft/device/line.hpp"

namespace tessera::fft {

struct LargeTile {
  ElementType number = ElementType::f32;
  i64 rows = 64, columns = 64;  // numbers
  i64 high = 1, wide = 1;       // results

  i64 pairs() const { return columns / 2; }  // of a row
  i64 bytes_of_number() const { return number == ElementType::f64 ? 8 : 4; }
};

// Pointers to numbers: to a row or to a column of a tile, of 2 pairs() numbers a row. Scaled: the spectrum is.
DeviceLine rows_of(const LargeTile&);     // to memory
DeviceLine columns_of(const LargeTile&);  // in place, `convolved`
DeviceLine back_of(const LargeTile&);     // from memory

// Of K0 x K1 weights: row by row, pairs() pairs each. Conjugated, since tiles correlate, over the number of points.
std::vector<double> large_tile_spectrum(const LargeTile&, const std::vector<double>& weights, i64 k0, i64 k1);

}  // namespace tessera::fft
