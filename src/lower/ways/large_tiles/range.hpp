// What large tiles have to know of their numbers: a result errs by what its tile holds, and may not by more than what
// its own window holds (docs/design/sums.md, "Accuracy").
//
//   rows      a thread leaves the largest magnitudes of some of its points, and the sum of the squares of all
//   judge     one block a tile: is some of these large enough in every window? If not, the tile is read again, and two
//             bits are kept for every result: its window holds a number that is large enough, it holds any but zeros
//   back      results without the first bit are summed directly, those without the second are 0
//
// All of it lies behind the numbers of a tile.
#pragma once

#include <functional>
#include <vector>

#include "fft/device/large_tile.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::lower {

class TileRange {
 public:
  using Value = ir::nest::Value;
  using Builder = ir::nest::Builder;
  static constexpr i64 threads = 1024;  // of the block that judges

  TileRange(const fft::LargeTile&, i64 k0, i64 k1);
  i64 numbers() const;       // behind a tile's, of its type
  i64 shared_bytes() const;  // of the block that judges

  // `side`: the first number behind the tile's.
  void keep(Builder&, const Value& side, const fft::LinePoints&, const std::vector<fft::Complex>&) const;
  // `bytes`: of numbers whose range bounds what rounding leaves. `high`, `wide`: results that there are. `number_at`:
  // of the tile, by row and column.
  void judge(Builder&, const Value& side, const Value& high, const Value& wide, bool bytes,
             const std::function<Value(const Value& row, const Value& column)>& number_at) const;
  // Whether results of this tile have to be looked at, a flag.
  Value judged(Builder&, const Value& side) const;
  void narrow(Builder&, const Value& side, const Value& line, const Value& x, const std::function<void()>& zero,
              const std::function<void()>& direct) const;

 private:
  enum Mask { large, any };

  Value constant(double) const;
  Value larger(Builder&, const Value& a, const Value& b) const;
  Value smaller(Builder&, const Value& a, const Value& b) const;
  Value chosen(const Value& flag, const Value& then, const Value& otherwise) const;
  Value words(const Value& side, Mask, int buffer) const;
  // What `step` makes of the numbers of all threads, for every thread.
  Value of_block(Builder&, const Value& thread, const Value& own,
                 const std::function<Value(const Value&, const Value&)>& step) const;
  void classify(Builder&, const Value& side, const Value& thread, const Value& least,
                const std::function<Value(const Value& row, const Value& column)>& number_at) const;
  // Bits of `count` rows or columns together, from buffer 0 through buffer 1 to buffer 0.
  void gather(Builder&, const Value& side, const Value& thread, i64 rows, i64 count, bool down) const;

  i64 cells() const { return tile_.columns / merged_ / every_; }  // of a row: magnitudes
  i64 energies_at() const { return tile_.rows * cells(); }
  i64 bands_at() const { return energies_at() + tile_.rows * apart_; }
  i64 judged_at() const { return bands_at() + tile_.rows * bands_; }
  i64 words_at() const { return (judged_at() + 2) / 2 * 2; }
  i64 words_of_row() const { return tile_.columns / 32 + 2; }  // columns are multiples of 32; zeros behind them

  const fft::LargeTile tile_;
  const i64 k0_, k1_;
  ir::nest::Type number_;
  i64 apart_ = 1, radix_ = 1;  // of the points of a thread
  i64 merged_ = 1;             // points of a cell
  i64 every_ = 1;              // of so many cells one is kept
  i64 width_ = 1, bands_ = 1;  // columns of a band, bands
};

}  // namespace tessera::lower
