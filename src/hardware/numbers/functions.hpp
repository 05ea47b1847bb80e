// Functions of floats in fixed point: what each is made of, its interval and the bound of its error.
//
//   exp, exp2      x log2(e) is a whole part, a shift, and a fraction, a curve of 2^x; sinh, cosh from two of them
//   log and kin    the leading one of x gives the whole part, a curve of log2 the rest
//   pow            of a constant exponent: a curve of the mantissa's power times a table of powers of two; small whole
//                  exponents are products; of a varying one: exp2(y log2(x)). cbrt is a power
//   sin, cos       the fraction of x / 2 pi, folded to a quarter turn, a curve; tan divides them
//   atan2          the lesser of both sides over the greater, a curve of atan, unfolded by signs; asin, acos of a side
//                  and the root of what is left; atan a curve where its argument is small
//   tanh           a curve, 1 beyond it
//   fmod           the remainder of whole numbers
// Arguments are rounded to what the result can show. An error e of an argument counts with the largest derivative on
// its interval, widened by e; where there is none (roots at 0, asin at 1) with the modulus of continuity.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hardware/numbers/curves.hpp"
#include "ir/graph.hpp"

namespace tessera::hardware {

// In so many bits of fraction at most, half up.
Value rounded(Arithmetic&, Value, int fraction);
// The largest number that it can be, in magnitude.
double magnitude(const Value&);

class Functions {
 public:
  using Refuse = std::function<void(const std::string& what, const std::string& help)>;  // throws
  // Says that a result may be another one where an argument lies within `error` of a jump.
  using Decide = std::function<void(ir::Op, const Value& argument, double error)>;
  Functions(Netlist& netlist, Arithmetic& make, int fraction, Refuse refuse, Decide decide)
      : netlist_(netlist), make_(make), fraction_(fraction), refuse_(std::move(refuse)), decide_(std::move(decide)) {}

  // With `fraction` bits of fraction. Refuses what no interval bounds, and operations that are none of these.
  Value of(ir::Op, const std::vector<Value>& arguments);
  // `exponent` is a constant of the program.
  Value power(const Value&, double exponent);
  Value root(Value);
  Value quotient(Value, Value);

 private:
  struct Normal {
    Value mantissa;  // the bits below the leading one, as many as width - 1
    Value places;    // by which the leading one was moved up
    int width = 1;
    int scale = 0;  // the number is (1 + mantissa * 2^(1 - width)) * 2^(scale - places)
  };
  Normal normalised(const Value&);
  Value curve(const Curve&, const Value& x, int bits, int fraction);
  Value raised(const Value&, int bits);  // times 2^bits, if that can be held
  Value scaled(Value, double factor, int fraction);
  Value exponential(const Value& x, double factor, int fraction);
  Value logarithm(const Value& x, double factor, int fraction);
  Value wave(const Value& x, bool cosine);
  Value tangent(const Value& x);
  Value angle(Value y, Value x, double argument_error);
  Value arc(ir::Op, const Value&);
  Value arc_tangent(const Value&);
  Value two_sided_angle(const Value& y, const Value& x);
  Value hyperbolic(ir::Op, const Value&);
  Value hyperbolic_tangent(const Value&);
  Value remainder(const Value&, const Value&);
  Value real_power(const Value&, double exponent);
  Value product(const Value&, const Value&, int fraction);
  Value with_sign(const Value& size, const Value& sign);
  Value within(Value, double lo, double hi);

  Netlist& netlist_;
  Arithmetic& make_;
  int fraction_;
  Refuse refuse_;
  Decide decide_;
};

}  // namespace tessera::hardware
