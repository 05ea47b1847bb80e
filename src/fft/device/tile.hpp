// The arithmetic of one tile of a convolution on a device: forward, times the spectrum of the weights, back, all of it
// in the registers of a block.
//
// A thread holds a line of `points` complex numbers and transforms it by itself, a straight line of operations whose
// twiddles are constants. So a tile moves through shared memory but twice: from columns to rows and from rows back to
// columns.
//
//   columns   A thread has a column of 2 n real numbers. Their transform at the frequencies 2 k + 1/2 is one of n
//   complex
//             numbers, (x_j - i x_(j+n)) exp(-pi i j / 2 n): the other half of the frequencies is its conjugate, and
//             none is a case of its own, as frequency 0 is. What comes back beyond the end of the column comes with
//             another sign, which overlap-save throws away.
//   rows      `parts` threads share a row of parts * n numbers: each reads all of it, adds what lies n apart, and has
//             every second frequency. Backwards the one that reads adds.
//
// 64 points are 128 of a thread's registers; 16.6 operations a point and transform, four transforms, 12 for the turns
// of columns and 5 for the product: 42 for a real number of the tile, and 4 to 6 words through shared memory.
#pragma once

#include <functional>
#include <vector>

#include "fft/butterfly.hpp"

namespace tessera::fft {

struct DeviceTile {
  ElementType number = ElementType::f32;
  i64 parts = 1;  // threads of a row: 1 or 2

  i64 points() const { return number == ElementType::f64 ? 32 : 64; }  // of a thread
  i64 rows() const { return 2 * points(); }
  i64 columns() const { return parts * points(); }
  i64 threads() const { return columns(); }
  i64 together() const { return number == ElementType::f64 ? 1 : 2; }  // points of the spectrum that are one load
  i64 pitch() const { return columns() + 1; }                          // of rows in shared memory
  i64 shared_bytes() const { return points() * pitch() * (number == ElementType::f64 ? 8 : 4); }
};

// The spectrum of K0 x K1 weights, no more than the tile, as the threads take it: 16 bytes of each thread in turn. Over
// the number of points, conjugated, since the tile correlates.
std::vector<double> device_tile_spectrum(const DeviceTile&, const std::vector<double>& weights, i64 k0, i64 k1);

// `column`: the numbers of the tile's column `thread` (u32). What it gives are the results of the same column, where
// that is one of the first `wide`. Every thread of the block has to come here; shared memory is free before. What
// `between` writes stands between two barriers: it may read what other threads have left before, and they read what it
// leaves behind.
std::vector<ir::nest::Value> write_device_tile(ir::nest::Builder&, const DeviceTile&,
                                               const std::vector<ir::nest::Value>& column,
                                               const ir::nest::Value& spectrum, const ir::nest::Value& thread, i64 wide,
                                               const std::function<void()>& between = {});

}  // namespace tessera::fft
