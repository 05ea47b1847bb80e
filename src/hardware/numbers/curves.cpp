// Pieces by price, their coefficients, and the polynomial as nodes: see curves.hpp.
#include "hardware/numbers/curves.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::hardware {

namespace {

constexpr int guard = 3;         // bits of fraction that coefficients have more than the result
constexpr int most_pieces = 12;  // log2
constexpr double table_bits_per_bit = 16;

struct Shape {
  int degree = 0, log = 0;  // 2^log pieces
};

double interpolation_error(const Curve& curve, int degree, int log) {
  const double h = std::exp2(-log);
  return degree == 1 ? curve.second * h * h / 16 : curve.third * h * h * h / 192;
}

Shape cheapest(const Curve& curve, int bits, int fraction) {
  const double width = fraction + guard + 1;
  Shape best{0, bits};
  double least = bits > most_pieces ? HUGE_VAL : std::exp2(bits) * width;
  for (const int degree : {1, 2}) {
    int log = 1;
    while (log < most_pieces && interpolation_error(curve, degree, log) > std::exp2(-fraction - 2)) ++log;
    const int rest = bits - log;
    if (rest < 2) continue;
    const double slope = std::max(1.0, width - log), bend = std::max(1.0, width - 2 * log);
    double price = std::exp2(log) * (width + slope) + rest * slope * table_bits_per_bit;
    if (degree == 2) price += std::exp2(log) * bend + rest * bend * table_bits_per_bit;
    if (price < least) least = price, best = {degree, log};
  }
  return best;
}

struct Coefficients {
  std::vector<double> c[3];
};

// Through Chebyshev's points of each piece, around its middle.
Coefficients fitted(const Curve& curve, Shape shape) {
  Coefficients all;
  const double h = std::exp2(-shape.log), d = h * (shape.degree == 1 ? std::sqrt(0.125) : std::sqrt(3.0) / 4);
  for (int piece = 0; piece < 1 << shape.log; ++piece) {
    const double middle = (piece + 0.5) * h;
    const double below = curve.value(middle - d), above = curve.value(middle + d), at = curve.value(middle);
    all.c[0].push_back(shape.degree == 1 ? (below + above) / 2 : at);
    all.c[1].push_back((above - below) / (2 * d));
    all.c[2].push_back((above + below - 2 * at) / (2 * d * d));
  }
  return all;
}

// Rounded with so many bits of fraction, after `more` units of the last place.
std::vector<double> raw(std::vector<double> values, int fraction, double more) {
  for (double& v : values) v = std::round(std::ldexp(v, fraction) + more);
  return values;
}

}  // namespace

Value table_value(Netlist& netlist, Arithmetic& make, const std::string& name, const std::vector<double>& values,
                  NodeId index) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least == *most) return make.constant(*least);
  Rom rom{name, bits_of(std::min(*least, 0.0), std::max(*most, 0.0)), {}};
  for (const double v : values) rom.values.push_back(static_cast<i64>(v));
  const Bits bits = rom.bits;
  const auto which = static_cast<i64>(netlist.add_table(std::move(rom)));
  const int log = static_cast<int>(std::bit_width(values.size() - 1));
  return {make.node(Signal::table, bits, {make.resized(index, {false, log})}, which), *least, *most};
}

Value curve_value(Netlist& netlist, Arithmetic& make, const Curve& curve, const Value& given, int given_bits,
                  int fraction) {
  const int bits = std::min(given_bits, fraction + 3 + static_cast<int>(std::ceil(std::log2(curve.first))));
  if (bits < 1) {
    const double from = curve.value(0), to = curve.value(1), middle = std::round(std::ldexp((from + to) / 2, fraction));
    Value y = make.constant(middle);
    y.fraction = fraction;
    y.error = std::max(std::abs(from - std::ldexp(middle, -fraction)), std::abs(to - std::ldexp(middle, -fraction)));
    return y;
  }
  const Value x = make.shift_right(given, given_bits - bits);
  const Shape shape = cheapest(curve, bits, fraction);
  Value y;
  if (shape.degree == 0) {
    std::vector<double> values;
    for (i64 k = 0; k < i64{1} << bits; ++k) values.push_back(curve.value(std::ldexp(static_cast<double>(k), -bits)));
    y = table_value(netlist, make, curve.name, raw(std::move(values), fraction, 0), x.node);
    y.error = std::exp2(-fraction - 1);
  } else {
    const Coefficients all = fitted(curve, shape);
    const int rest = bits - shape.log, f0 = fraction + guard, f1 = f0 - shape.log, f2 = f1 - shape.log - 1;
    const NodeId piece = make.shift_right(x, rest).node;
    const Value low{make.resized(x.node, {false, rest}), 0, std::exp2(rest) - 1};
    const Value t = make.subtract(low, make.constant(std::exp2(rest - 1)));
    const auto coefficient = [&](int k, int f, double more) {
      return table_value(netlist, make, curve.name, raw(all.c[k], f, more), piece);
    };
    // Half a unit more wherever bits are cut off below, so that this rounds.
    Value slope = coefficient(1, f1, shape.degree == 2 ? 0.5 : 0);
    if (shape.degree == 2) slope = make.add(slope, make.shift_right(make.multiply(coefficient(2, f2, 0), t), rest - 1));
    const Value first = coefficient(0, f0, 0.5 + std::exp2(guard - 1));
    y = make.shift_right(make.add(first, make.shift_right(make.multiply(slope, t), rest)), guard);
    y.error = interpolation_error(curve, shape.degree, shape.log) + std::exp2(-fraction - 1) + 1.75 * std::exp2(-f0);
  }
  if (bits < given_bits) y.error += curve.first * std::exp2(-bits);
  y.fraction = fraction;
  const double from = curve.value(0), to = curve.value(1);
  y.lo = std::max(y.lo, std::floor(std::ldexp(std::min(from, to) - y.error, fraction)));
  y.hi = std::min(y.hi, std::ceil(std::ldexp(std::max(from, to) + y.error, fraction)));
  y.node = make.resized(y.node, bits_of(y.lo, y.hi));
  return y;
}

}  // namespace tessera::hardware
