// What is to be transformed: the description that plans, code and runs are made from.
#pragma once

#include <vector>

#include "tessera/array.hpp"

namespace tessera::fft {

enum class Transform : std::uint8_t {
  forward,          // complex to complex, exp(-2 pi i j k / n)
  inverse,          // the same with exp(+2 pi i j k / n)
  real_to_complex,  // forward; of the last extent n, the first n / 2 + 1 frequencies
  complex_to_real,  // its inverse; imaginary parts of frequencies 0 and n / 2 of the last extent are not used
};

struct Problem {
  Transform transform = Transform::forward;
  ElementType type = ElementType::f32;  // of real and imaginary parts: f32 or f64
  std::vector<i64> batch = {};          // extents of independent transforms, slowest first
  std::vector<i64> extents = {};        // one to three, each at least 1; of the real array where one side is real
  // Elements (a complex number is one) from one index to the next of batch and extents, but for the last extent, whose
  // elements lie side by side. Empty: no gaps.
  std::vector<i64> from_strides = {}, to_strides = {};
  double scale = 1;  // what results are multiplied by: 1 / n for an inverse that undoes a forward one

  // Spectra are whole where one of these says something; there may be four extents then, and on devices always.
  std::vector<int> along = {};  // those that are transformed, ascending; empty: all
  // Of forward and inverse transforms: the input has no imaginary parts, and is numbers; of an inverse: the imaginary
  // parts of the result are not asked for, and it is numbers.
  bool from_numbers = false, to_numbers = false;
};

// Checks it and fills in strides. Throws Error(argument).
Problem complete(Problem, std::size_t most_extents = 3);

inline bool from_real(const Problem& p) {
  return p.transform == Transform::real_to_complex;
}
inline bool to_real(const Problem& p) {
  return p.transform == Transform::complex_to_real;
}
// Elements in a row of either side.
i64 row_of_from(const Problem&);
i64 row_of_to(const Problem&);

}  // namespace tessera::fft
