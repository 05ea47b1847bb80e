// A smooth function of one variable from tables: as many equal pieces as its derivatives ask for, a polynomial each.
//
// Of few bits a function is a table of its values. Otherwise the high bits of the argument choose a piece, and the low
// ones, counted from its middle, enter a polynomial of degree 1 or 2 through Chebyshev's points: its error is at most
// h^2 M2 / 16 or h^3 M3 / 192 for pieces of length h and derivatives of at most M2, M3. Coefficients have three bits
// more than the result and are rounded once, so the whole error stays below one unit of the result's last place. The
// cheapest of the three is taken: 16 bits of table weigh as one bit of a product.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hardware/numbers/arithmetic.hpp"

namespace tessera::hardware {

struct Curve {
  std::string name;                         // of its tables
  std::function<double(double)> value;      // of 0 to 1; it rises or falls
  double first = 0, second = 0, third = 0;  // magnitudes of its derivatives there, at most
};

constexpr int most_curve_fraction = 36;  // products of more would pass 64 bits

// x is a whole number below 2^bits that stands for x * 2^-bits; bits that the result cannot show are cut off. The
// result has `fraction` bits of fraction, most_curve_fraction at most; its error is against value(x), whatever the
// error of x.
Value curve_value(Netlist&, Arithmetic&, const Curve&, const Value& x, int bits, int fraction);

// The element of a table of numbers, a power of two of them, at an index of as many bits.
Value table_value(Netlist&, Arithmetic&, const std::string& name, const std::vector<double>&, NodeId index);

}  // namespace tessera::hardware
