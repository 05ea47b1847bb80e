// The numbers that a plan needs: twiddles, the order of Rader's points, spectra of what is convolved with. All in
// double, every twiddle from an angle of its own or, in long tables, as the product of two such.
#pragma once

#include <complex>
#include <vector>

#include "fft/plan.hpp"

namespace tessera::fft {

// exp(-2 pi i k / n) for 0 <= k < n: from a table for short n, else the product of a coarse and a fine turn.
class Circle {
 public:
  using Number = std::complex<double>;
  explicit Circle(i64 n);
  Number operator()(i64 k) const;

 private:
  i64 n_, fine_ = 1;  // a power of two
  std::vector<Number> low_, high_;
};

// A transform in double, for spectra; the circle is one of as many points.
std::vector<Circle::Number> plain_transform(std::vector<Circle::Number>, const Circle&);

void fill_tables(Node&);  // of this node; those below it have theirs

// Pairs exp(-2 pi i j k / n) for k < rows, j < columns, row after row.
std::vector<double> twiddle_matrix(i64 n, i64 rows, i64 columns);

}  // namespace tessera::fft
