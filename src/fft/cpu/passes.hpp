// One pass over the points of a transform as a function of a loop nest.
//
// A point is V numbers of real parts and V of imaginary parts behind them, one of each for every lane; V is the width
// of the machine's vectors. A pass is two loops around one butterfly,
//
//   for k < outer: for i < inner:
//     x[j] = from[k * from_outer + i * from_inner + j * from_leg] * w[k * w_outer + i * w_inner + j * w_leg]
//     y    = transform of x                                         of j < radix
//     to[k * to_outer + i * to_inner + j * to_leg] = y[j]
//
// where all strides are arguments, in numbers. With them the same text is every pass of a Stockham transform (whose
// last digit moves to its place in every pass), and of the two halves of a split.
#pragma once

#include <string>

#include "ir/nest/nest.hpp"

namespace tessera::fft {

// What lies at one end of a pass.
enum class End : std::uint8_t {
  points,
  turned,     // points with the imaginary part first
  columns,    // complex numbers of V neighbouring transforms, real and imaginary parts in turn
  exchanged,  // the same, taken as imaginary and real
};
enum class Twiddles : std::uint8_t {
  none,
  inner,  // of the legs but the first, whose twiddles are 1
  all,
};

struct Pass {
  i64 radix = 2;  // 0: any odd number, an argument
  End from = End::points, to = End::points;
  Twiddles twiddles = Twiddles::none;
  bool streaming = false;  // what is written goes past the caches: a multiple of a vector's size in memory
  bool fetching = false;   // points of the next turns of the inner loop are asked for: they come from memory
  auto operator<=>(const Pass&) const = default;
};

// The integers that a pass takes, in order.
struct PassArguments {
  i64 outer = 1, inner = 1;
  i64 from_outer = 0, from_inner = 0, from_leg = 0;
  i64 to_outer = 0, to_inner = 0, to_leg = 0;
  i64 w_outer = 0, w_inner = 0, w_leg = 0;
  i64 radix = 0;  // of a pass of any odd radix
  i64 table = 0;  // its address: for m, k in [1, radix / 2]: cosine and sine of m k / radix
};

constexpr i64 largest_odd_radix = 61;  // of such passes: their sums lie in an array

// "fft_r8", "fft_r8_w_x"; the function of that name is
//   void (T* from, T* to, T* w, const i64* n)
// with T the lane of numbers and n the arguments. Twiddles are pairs.
std::string name_of(const Pass&);
ir::nest::Module pass_module(const Pass&, ir::nest::Type vector);

}  // namespace tessera::fft
