// How n points are transformed: a tree of passes, found without measuring.
//
//   sequence    radices r1 r2 ... (2 to 16, odd primes up to 61): Stockham passes between two buffers. Pass i combines
//               r_i transforms of l = r1 ... r_(i-1) points; its legs but the first are multiplied by twiddles on the
//               way in; the digits move to their places on the way, nothing is reordered.
//   split       n = a b: b transforms of a points that lie b apart, then a transforms of b points whose input is
//               multiplied by exp(-2 pi i j k / n). Each part stays in L1; what lies between is written and read once.
//   rader       n prime: the n - 1 points but the first, in the order of powers of a generator, are a cyclic
//               convolution with the twiddles in that order; n - 1 has no prime above 61.
//   bluestein   any n: a convolution with a chirp, in m >= 2 n - 1 points of which all primes are small.
//
// Costs are nanoseconds for one point of 16 lanes on a core with AVX-512: only their ratios matter.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::fft {

struct Node {
  enum class Kind : std::uint8_t { sequence, split, rader, bluestein };
  Kind kind = Kind::sequence;
  i64 n = 1;
  std::vector<i64> radices;              // sequence; none for n = 1
  std::unique_ptr<Node> first, second;   // split: a, b; rader and bluestein: the convolution's transform
  double cost = 0;                       // of one transform of every lane
  i64 scratch = 0;                       // points that it needs for itself and what it calls
  std::vector<double> twiddles;          // pairs; sequence: those of its second pass, third ...; split: [k][j];
                                         // bluestein: the chirp
  std::vector<std::vector<double>> odd;  // sequence: for every radix above 16 its cosines and sines (passes.hpp)
  std::vector<double> spectrum;          // rader, bluestein: of what is convolved with, over their length
  std::vector<i64> input, output;        // rader: place of element q of the convolution
};

constexpr i64 largest_prime_radix = 61;
// Between two rows of what lies between the halves of a split: an odd number of points.
inline i64 split_pitch(i64 b) {
  return b | 1;
}

struct PlanOptions {
  i64 largest_radix = 16;  // 8 on machines with 16 vector registers
  i64 l1_points = 128;     // what a sequence of three or more passes keeps in two buffers without leaving L1
};

// Of each of the two buffers of a sequence: room for a point between the legs of the pass that reads it.
inline i64 buffer_points(i64 n) {
  return n + largest_prime_radix;
}

// The cheapest tree for n >= 1 points, tables included. Takes less than 10 ms but for primes of many thousands.
std::unique_ptr<Node> plan_transform(i64 n, const PlanOptions&);

// "8x8 * 8x8", "rader(7 * (16x9))": for people and tests.
std::string to_string(const Node&);

// n = a b with a close to the root and both of cheap parts: for the four steps of a single long row. {1, n} if no
// a in [least, n / least] divides n.
std::pair<i64, i64> balanced_factors(i64 n, i64 least);

// The first few lengths from `least` on whose primes are 2, 3, 5 and at most one 7, in rising order.
std::vector<i64> smooth_lengths(i64 least);

}  // namespace tessera::fft
