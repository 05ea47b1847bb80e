// The row end of transforms: V rows (two for every lane where one side is real) become points, and points rows or
// blocks. Rows shorter than the squares that are transposed go through copies as long as those.
#pragma once

#include <vector>

#include "engine/fft/code.hpp"

namespace tessera::engine {

template <class T>
class FftRows {
 public:
  // What is read and written.
  enum class Side : std::uint8_t { none, rows, real_rows, half_rows, blocks, half_blocks };

  // Rows of n elements; `half_rows` and `half_blocks` have n / 2 + 1. `inverse`: points have the imaginary part first.
  FftRows(i64 n, Side from, Side to, bool inverse, bool far, double scale, const std::string& compiler);

  i64 rows_of_a_group() const { return rows_; }
  i64 points() const { return points_; }                // numbers, for the points of one group
  i64 staging() const { return rows_ * row_numbers_; }  // numbers, of scratch memory

  // `count` rows from the table, at least 1; `pitch` from block to block in numbers.
  void in(const T* const* rows, i64 count, i64 pitch, T* points, T* staging) const;
  void out(T* points, T* const* rows, i64 count, i64 pitch, T* staging) const;

 private:
  void short_halves_in(const T* const* rows, i64 count, T* points) const;
  void short_halves_out(const T* points, T* const* rows, i64 count) const;

  i64 n_, lanes_, rows_, points_, row_numbers_;
  Side from_, to_;
  i64 re_at_;
  T scale_;
  MoveIn<T> in_ = nullptr;
  MoveOut<T> out_ = nullptr;
};

}  // namespace tessera::engine
