// What large tiles have to know of their numbers: a result errs by what its tile holds, and may not by more than what
// its own window holds (docs/convolution.md, "Accuracy").
//
//   rows      a thread leaves the largest magnitudes of its points in cells, and the sum of their squares
//   judge     one block a tile: cells become bands of neighbouring columns, bands of K0 rows, and a number for every
//             row of results: 0, or the square of what a window has to hold at least where some may hold less
//   back      where that is not 0, points whose bands hold too little are summed directly, those of zeros alone are 0
//
// All of it lies behind the numbers of a tile, in its type.
#pragma once

#include <functional>
#include <vector>

#include "fft/device_large_tile.hpp"
#include "ir/builder.hpp"

namespace tessera::lower {

class TileRange {
 public:
  using Value = ir::nest::Value;
  using Builder = ir::nest::Builder;
  static constexpr i64 threads = 256;  // of the block that judges

  TileRange(const fft::LargeTile&, i64 k0, i64 k1);
  i64 numbers() const;  // behind a tile's

  // `side`: the first number behind the tile's.
  void keep(Builder&, const Value& side, const fft::LinePoints&, const std::vector<fft::Complex>&) const;
  // `bytes`: of numbers whose range bounds what rounding leaves. `count`: columns of results.
  void judge(Builder&, const Value& side, const Value& count, bool bytes) const;
  // The square of what windows of a row of results have to hold; 0 where all do.
  Value wanted(Builder&, const Value& side, const Value& line) const;
  void narrow(Builder&, const Value& side, const Value& line, const Value& x, const Value& least,
              const std::function<void()>& zero, const std::function<void()>& direct) const;

 private:
  Value constant(double) const;
  Value larger(Builder&, const Value& a, const Value& b) const;
  Value chosen(const Value& flag, const Value& then, const Value& otherwise) const;
  // The largest of `count` numbers, `step` apart.
  Value most_of(Builder&, const Value& from, i64 count, i64 step) const;
  i64 cells() const { return tile_.columns / merged_ + apart_; }  // of a row: magnitudes, then sums of squares
  i64 bands_at() const { return tile_.rows * cells(); }
  i64 taller_at() const { return bands_at() + tile_.rows * bands_; }
  i64 windows_at() const { return taller_at() + tile_.rows * bands_; }
  i64 wanted_at() const { return windows_at() + tile_.high * bands_; }

  const fft::LargeTile tile_;
  const i64 k0_, k1_;
  ir::nest::Type number_;
  i64 apart_ = 1, radix_ = 1;  // of the points of a thread
  i64 merged_ = 1;             // points of a cell
  i64 width_ = 1, bands_ = 1;  // columns of a band, bands
  i64 rows_ = 1;               // of a band that is taller: K0 rows are some of these
};

}  // namespace tessera::lower
