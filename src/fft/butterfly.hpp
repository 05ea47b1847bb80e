// Transforms of a few points as straight lines of operations on vectors, for the CPU and for the threads of a GPU.
//
//   1                 a copy, which twiddles make a product
//   2, 4, 8, 16       halves with the last twiddle in the addition: e + c (o_re + t o_im), t a tangent of at most 1,
//                     so that half of the work goes to multiply-adds and additions do not bind alone
//   3, 5, 7, 11, 13   sums and differences of symmetric pairs, then cosines of sums and sines of differences
//   6, 10, 12, 14, 15 products of coprime lengths without twiddles (Good, Thomas)
//   9                 three by three
//   18, 20, 24, 25, 32  for devices, whose threads have more registers
//
// Input and output are in natural order; the transform is the forward one, sum x_j exp(-2 pi i j k / n).
#pragma once

#include <functional>
#include <vector>

#include "ir/nest/builder.hpp"

namespace tessera::fft {

struct Complex {
  ir::nest::Value re, im;
};

bool is_radix(i64 n);  // one that `Butterfly` has for the CPU

// cos and sin of 2 pi k / n, good to the last bit or so for any k and n.
double cosine(i64 k, i64 n);
double sine(i64 k, i64 n);

class Butterfly {
 public:
  Butterfly(ir::nest::Builder& out, ir::nest::Type type) : out_(out), type_(type) {}

  // Loads come as late and stores as early as the order of operations lets them, since 16 points fill all registers.
  // Every store comes after the last load.
  using Load = std::function<Complex(i64 j)>;
  using Store = std::function<void(i64 k, const Complex&)>;
  void transform(i64 radix, const Load& load, const Store& store);
  Complex times(const Complex& x, const Complex& w);
  Complex plus(const Complex& a, const Complex& b);
  Complex minus(const Complex& a, const Complex& b);
  ir::nest::Value constant(double v) const;
  ir::nest::Value add(const ir::nest::Value& a, const ir::nest::Value& b);
  ir::nest::Value sub(const ir::nest::Value& a, const ir::nest::Value& b);
  ir::nest::Value mul(const ir::nest::Value& a, const ir::nest::Value& b);
  ir::nest::Value fused(const ir::nest::Value& a, const ir::nest::Value& b, const ir::nest::Value& c);  // a b + c
  ir::nest::Value fused(double a, const ir::nest::Value& b, const ir::nest::Value& c);

 private:
  std::vector<Complex> transform(i64 radix, const Load& load);
  void halves(i64 radix, const Load& load, const Store& store);
  void odd(i64 radix, const Load& load, const Store& store);
  void coprime(i64 a, i64 b, const Load& load, const Store& store);
  void square(i64 r, const Load& load, const Store& store);

  ir::nest::Builder& out_;
  ir::nest::Type type_;
};

}  // namespace tessera::fft
