// Reductions of arguments to small intervals, and back: see functions.hpp.
#include "hardware/numbers/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace tessera::hardware {

using ir::Op;

namespace {

constexpr double pi = std::numbers::pi, ln2 = std::numbers::ln2;
constexpr int widest = 60;  // bits of a value on its way

double low_of(const Value& v) {
  return std::ldexp(v.lo, -v.fraction);
}
double high_of(const Value& v) {
  return std::ldexp(v.hi, -v.fraction);
}

// Bits before the point of numbers up to v.
int whole_bits(double v) {
  return static_cast<int>(std::clamp(std::ceil(std::log2(v + 1e-300)), 0.0, 1000.0));
}

Value with(Value v, int fraction, double error) {
  v.fraction = fraction;
  v.error = error;
  v.squares = -1;
  return v;
}

Curve power_of_two() {
  return {"two_to", [](double t) { return std::exp2(t); }, 2 * ln2, 2 * ln2 * ln2, 2 * ln2 * ln2 * ln2};
}
Curve mantissa_log() {
  return {"log_of", [](double t) { return std::log2(1 + t); }, 1 / ln2, 1 / ln2, 2 / ln2};
}
Curve mantissa_power(double c) {
  const auto derivative = [&](int n) {
    double d = 1;
    for (int k = 0; k < n; ++k) d *= std::abs(c - k);
    return d * std::max(1.0, std::exp2(c - n));
  };
  return {"power_of", [c](double t) { return std::pow(1 + t, c); }, derivative(1), derivative(2), derivative(3)};
}

}  // namespace

double magnitude(const Value& v) {
  return std::ldexp(std::max(std::abs(v.lo), std::abs(v.hi)), -v.fraction);
}

Value rounded(Arithmetic& make, Value v, int fraction) {
  if (v.fraction <= fraction) return v;
  const int by = v.fraction - fraction;
  const Value half = make.constant(std::exp2(by - 1));
  return with(make.shift_right(make.add(v, half), by), fraction, v.error + std::exp2(-fraction - 1));
}

// What is known of the result, as far as its error leaves it.
Value Functions::within(Value v, double lo, double hi) {
  v.lo = std::max(v.lo, std::floor(std::ldexp(lo - v.error, v.fraction)));
  v.hi = std::min(v.hi, std::ceil(std::ldexp(hi + v.error, v.fraction)));
  v.node = make_.resized(v.node, bits_of(v.lo, v.hi));
  return v;
}

Value Functions::curve(const Curve& c, const Value& x, int bits, int fraction) {
  if (fraction > most_curve_fraction)
    refuse_(
        fmt::format("a function would need {} bits of fraction; expected {} at most", fraction, most_curve_fraction),
        "bound its arguments with min and max, or allow a larger --error");
  return curve_value(netlist_, make_, c, x, bits, fraction);
}

Value Functions::raised(const Value& v, int bits) {
  if (bits > 0 && netlist_.node(v.node).bits.width + bits > 63)
    refuse_(
        fmt::format("a value has {} bits in fixed point; expected 63 at most", netlist_.node(v.node).bits.width + bits),
        "bound it with min and max, or allow a larger --error");
  return make_.shift_left(v, bits);
}

Value Functions::scaled(Value v, double factor, int fraction) {
  const int bits = fraction + 2 + whole_bits(magnitude(v));
  const double raw = std::round(std::ldexp(factor, bits));
  const auto is_wide = [&] { return netlist_.node(v.node).bits.width + whole_bits(std::abs(raw)) > widest; };
  if (is_wide()) v = rounded(make_, v, fraction + 3 + whole_bits(std::abs(factor)));
  if (is_wide())
    refuse_(fmt::format("numbers up to {:.4g} are too large for {} bits of fraction", magnitude(v), fraction),
            "bound them with min and max, or allow a larger --error");
  const double error = std::abs(factor) * v.error + std::abs(factor - std::ldexp(raw, -bits)) * magnitude(v);
  return rounded(make_, with(make_.multiply(v, make_.constant(raw)), v.fraction + bits, error), fraction);
}

Value Functions::product(const Value& a, const Value& b, int fraction) {
  const double error = magnitude(a) * b.error + magnitude(b) * a.error + a.error * b.error;
  if (netlist_.node(a.node).bits.width + netlist_.node(b.node).bits.width > 63)
    refuse_(fmt::format("a product of {} bits in fixed point",
                        netlist_.node(a.node).bits.width + netlist_.node(b.node).bits.width),
            "bound its factors with min and max, or allow a larger --error");
  return rounded(make_, with(make_.multiply(a, b), a.fraction + b.fraction, error), fraction);
}

Value Functions::with_sign(const Value& size, const Value& sign) {
  if (sign.lo >= 0) return size;
  const NodeId below = make_.less(sign, make_.constant(0));
  return with(make_.select(below, make_.subtract(make_.constant(0), size), size), size.fraction, size.error);
}

Functions::Normal Functions::normalised(const Value& v) {
  Normal n;
  n.width = bits_of(0, v.hi).width;
  const Bits all{false, n.width};
  n.scale = n.width - 1 - v.fraction;
  Value now{make_.resized(v.node, all), v.lo, v.hi};
  n.places = make_.constant(0);
  for (int step = static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(1, n.width - 1)))); step > 0;
       step /= 2) {
    if (step >= n.width) continue;
    const NodeId small = make_.less(now, make_.constant(std::exp2(n.width - step)));
    const NodeId moved = make_.node(Signal::shift_left, all, {now.node}, step);
    now = make_.select(small, {moved, 0, std::exp2(n.width) - 1}, {now.node, 0, std::exp2(n.width) - 1});
    now.node = make_.resized(now.node, all);
    n.places = make_.add(n.places, make_.shift_left(make_.zero_or_one(small), std::countr_zero(unsigned(step))));
  }
  const Bits below{false, std::max(1, n.width - 1)};
  n.mantissa = n.width == 1 ? make_.constant(0) : Value{make_.resized(now.node, below), 0, std::exp2(n.width - 1) - 1};
  return n;
}

// ---- powers and logarithms -----------------------------------------------------------------------------------------

// 2^(factor x).
Value Functions::exponential(const Value& x, double factor, int fraction) {
  const double a = std::min(factor * low_of(x), factor * high_of(x)),
               b = factor * (factor > 0 ? high_of(x) : low_of(x));
  if (b > 40)
    refuse_(fmt::format("an exponential of up to 2^{:.4g} is too large for fixed point", b),
            "bound its argument, as in exp(min(x, 5))");
  const int more = std::max(0, static_cast<int>(std::ceil(b)));
  const int point = fraction + 3 + more;
  Value z = scaled(x, factor, point);
  // What is less than a quarter of the last place is as good as 0.
  const double least = -(fraction + 2.0);
  const bool tail = low_of(z) < least;
  if (tail) z = with(make_.most(z, make_.constant(std::ldexp(least, point))), point, z.error);
  const Value n = make_.shift_right(z, point);
  const Value r{make_.resized(z.node, {false, point}), 0, std::exp2(point) - 1};
  const auto top = static_cast<int>(n.hi);
  const int kept = std::max(1, fraction + 2 + top);
  Value m = curve(power_of_two(), r, point, kept);
  const double curve_error = std::ldexp(m.error, top);
  const Value by = make_.subtract(make_.constant(top), n);
  if (by.hi > 0) m = {make_.node(Signal::down, bits_of(0, m.hi), {m.node, by.node}), 0, m.hi};
  const double largest = std::exp2(b + std::abs(factor) * x.error);
  Value y = with(
      m, kept - top,
      ln2 * largest * z.error + curve_error + (by.hi > 0 ? std::exp2(top - kept) : 0) + (tail ? std::exp2(least) : 0));
  return within(rounded(make_, y, fraction), std::exp2(std::max(a, -200.0)), std::exp2(b));
}

// factor * log2(x).
Value Functions::logarithm(const Value& x, double factor, int fraction) {
  const double least = low_of(x) - x.error;
  if (least <= 0)
    refuse_(fmt::format("it takes the logarithm of floats that may be {:.4g}", std::min(low_of(x), least)),
            "keep them above 0, as in log(max(x, 1)) or log(x + 1)");
  const int point = fraction + 3 + whole_bits(std::abs(factor));
  const Normal n = normalised(x);
  Value part = curve(mantissa_log(), n.mantissa, std::max(1, n.width - 1), point);
  const double own = part.error;
  const Value whole = make_.subtract(make_.constant(n.scale), n.places);
  Value y = with(make_.add(make_.shift_left(whole, point), part), point, own);
  y = within(y, std::log2(low_of(x)), std::log2(high_of(x)));
  y = factor == 1 ? rounded(make_, y, fraction) : scaled(y, factor, fraction);
  y.error += std::abs(factor) / ln2 * x.error / least;
  return y;
}

// x >= 0.
Value Functions::real_power(const Value& x, double c) {
  const double a = low_of(x), b = high_of(x), e = x.error;
  if (c < 0 && a - e <= 0)
    refuse_(fmt::format("it takes a negative power of floats that may be {:.4g}", a - e),
            "keep them above 0, as in pow(max(x, 1), y)");
  const double largest = std::pow(c > 0 ? b : a, c);
  const Normal n = normalised(x);
  // Powers of two by places: a table. The mantissa's power is 1 to 2^c.
  std::vector<double> scales;
  const double most_places = n.width - 1 - std::floor(std::log2(std::max(1.0, x.lo)));
  for (unsigned k = 0; k < std::bit_ceil(static_cast<unsigned>(n.places.hi) + 1); ++k)
    scales.push_back(std::exp2(c * (n.scale - std::min<double>(k, most_places))));
  const double most_scale = *std::max_element(scales.begin(), scales.end());
  const int of_mantissa = fraction_ + 3 + whole_bits(most_scale);
  const int of_scale = fraction_ + 3 + whole_bits(std::exp2(std::max(0.0, c)));
  if (largest > std::exp2(40) || of_mantissa + of_scale + whole_bits(largest) > widest)
    refuse_(fmt::format("a power of up to {:.4g} is too large for fixed point", largest),
            "bound its argument with min, or allow a larger --error");
  const Value m = curve(mantissa_power(c), n.mantissa, std::max(1, n.width - 1), of_mantissa);
  for (double& s : scales) s = std::round(std::ldexp(s, of_scale));
  Value s = table_value(netlist_, make_, "scale_of", scales, n.places.node);
  s = with(s, of_scale, std::exp2(-of_scale - 1));
  Value y = rounded(
      make_,
      with(make_.multiply(m, s), of_mantissa + of_scale, m.error * most_scale + s.error * std::exp2(std::max(0.0, c))),
      fraction_);
  double slope = HUGE_VAL;  // of the argument
  if (c >= 1)
    slope = c * std::pow(b + e, c - 1) * e;
  else if (a - e > 0)
    slope = std::abs(c) * std::pow(a - e, c - 1) * e;
  if (c > 0 && c < 1) slope = std::min(slope, std::pow(e, c));
  y.error += e == 0 ? 0 : slope;
  y = within(y, c > 0 ? std::pow(a, c) : std::pow(b, c), largest);
  if (x.lo <= 0) {
    const NodeId none = make_.less(x, make_.constant(1));
    y = with(make_.select(none, make_.constant(0), y), y.fraction, y.error);
  }
  return y;
}

Value Functions::power(const Value& x, double c) {
  if (c == 0.5 && x.lo >= 0) return root(x);
  if (c == std::trunc(c) && std::abs(c) <= 8) {
    Value y = with(make_.constant(1), 0, 0);
    for (int k = 0; k < static_cast<int>(std::abs(c)); ++k) {
      y = k == 0 ? x : product(rounded(make_, y, fraction_ + 2), rounded(make_, x, fraction_ + 2), 2 * fraction_ + 4);
      if (k % 2 == 1) y = with({y.node, std::max(0.0, y.lo), y.hi}, y.fraction, y.error);
    }
    return c < 0 ? quotient(make_.constant(1), y) : y;
  }
  if (x.lo < 0)
    refuse_(fmt::format("it takes the power {:g} of floats that may be negative", c),
            "keep them at 0 and above, as in pow(max(x, 0), y)");
  return real_power(x, c);
}

Value Functions::root(Value v) {
  if (v.lo < 0)
    refuse_("it takes the square root of floats that may be negative",
            "keep them at 0 and above, as in sqrt(max(x, 0))");
  // The length of a vector errs no more than the vector does.
  const double least = low_of(v) - v.error;
  double before = v.squares >= 0 ? std::sqrt(v.squares) : std::sqrt(v.error);
  if (least > 0) before = std::min(before, v.error / (2 * std::sqrt(least)));
  const int kept = v.fraction;
  v = rounded(make_, v, 2 * fraction_);
  const Value r = make_.root(raised(v, 2 * fraction_ - v.fraction));
  return with(r, fraction_, before + (kept > 2 * fraction_ ? 2 : 1) * std::exp2(-fraction_));
}

Value Functions::quotient(Value a, Value b) {
  const double least = b.lo > 0 ? b.lo : b.hi < 0 ? -b.hi : 0;
  if (std::ldexp(least, -b.fraction) - b.error <= 0)
    refuse_("it divides by floats that may be 0: no fixed point holds the result",
            "keep the divisor away from 0, as in x / max(y, 1)");
  a = rounded(make_, a, fraction_), b = rounded(make_, b, fraction_);
  const double away = std::ldexp(b.lo > 0 ? b.lo : -b.hi, -b.fraction) - b.error;
  if (away <= 0) refuse_("it divides by floats that may be 0 where they are rounded", "allow a smaller --error");
  const int up = fraction_ + b.fraction - a.fraction;
  const double most = (magnitude(a) + a.error) / away, bound = std::ceil(std::ldexp(most, fraction_)) + 1;
  const Value q = make_.divide(raised(a, up), b, bound);
  Value result = with(q, fraction_, (a.error + most * b.error) / away + std::exp2(-fraction_));
  result.lo = std::max(result.lo, -bound), result.hi = std::min(result.hi, bound);
  result.node = make_.resized(result.node, bits_of(result.lo, result.hi));
  return result;
}

// ---- circles -------------------------------------------------------------------------------------------------------

// sin(x) or cos(x): a turn is 4 quarters of 2^point. The quarter's curve is taken at the middle between whole numbers,
// so that it can be run backwards by complement.
Value Functions::wave(const Value& x, bool cosine) {
  const int point = fraction_ + 4;
  const Value turned = scaled(x, 2 / pi, point);
  const Value whole = cosine ? make_.add(turned, make_.constant(std::exp2(point))) : turned;
  const auto bit = [&](int k) { return make_.resized(make_.shift_right(whole, k).node, Bits{}); };
  const Bits fine{false, point};
  const NodeId forth = make_.resized(whole.node, fine), back = make_.node(Signal::bit_not, fine, {forth});
  const double last = std::exp2(point) - 1;
  const Value t = make_.select(bit(point), {back, 0, last}, {forth, 0, last});
  const double half = std::exp2(-point - 1);
  const Curve quarter{"sine_of", [half](double u) { return std::sin(pi / 2 * (u + half)); }, pi / 2, pi * pi / 4,
                      pi * pi * pi / 8};
  Value y = curve(quarter, {make_.resized(t.node, fine), 0, last}, point, fraction_);
  const double error = y.error + pi / 2 * (turned.error + half);
  y = with(make_.select(bit(point + 1), make_.subtract(make_.constant(0), y), y), fraction_, error);
  // Between the ends of the interval, and the crests within.
  const double shift = cosine ? pi / 2 : 0, a = low_of(x) + shift, b = high_of(x) + shift;
  double lo = std::min(std::sin(a), std::sin(b)), hi = std::max(std::sin(a), std::sin(b));
  if (std::floor((b - pi / 2) / (2 * pi)) >= std::ceil((a - pi / 2) / (2 * pi))) hi = 1;
  if (std::floor((b + pi / 2) / (2 * pi)) >= std::ceil((a + pi / 2) / (2 * pi))) lo = -1;
  return within(y, lo, hi);
}

Value Functions::tangent(const Value& x) {
  const double a = low_of(x) - x.error, b = high_of(x) + x.error;
  if (std::floor((b - pi / 2) / pi) >= std::ceil((a - pi / 2) / pi))
    refuse_(fmt::format("it takes the tangent of floats from {:.4g} to {:.4g}, where it has a pole", a, b),
            "bound them with min and max");
  return quotient(wave(x, false), wave(x, true));
}

Value Functions::angle(Value y, Value x, double argument_error) {
  const int f = std::max(x.fraction, y.fraction), point = fraction_ + 2;
  x = raised(x, f - x.fraction), y = raised(y, f - y.fraction);
  const Value zero = make_.constant(0), wide = make_.magnitude(x), high = make_.magnitude(y);
  const NodeId steep = make_.less(wide, high);
  const Value over = make_.select(steep, wide, high), under = make_.select(steep, high, wide);
  // At 45 degrees one unit less than 1; of no direction 0.
  Value q = make_.divide(raised(over, point), under, std::exp2(point));
  q.lo = 0;
  q = make_.least(q, make_.constant(std::exp2(point) - 1));
  const Curve arc{"angle_of", [](double t) { return std::atan(t); }, 1, 0.65, 2};
  Value a = curve(arc, q, point, point);
  double error = a.error + std::exp2(-point);
  const auto folded = [&](NodeId when, double from) {
    if (netlist_.node(when).op == Signal::constant && netlist_.node(when).value == 0) return;
    const double raw = std::round(std::ldexp(from, point));
    error += std::abs(from - std::ldexp(raw, -point));
    a = make_.select(when, make_.subtract(make_.constant(raw), a), a);
  };
  folded(steep, pi / 2);
  const NodeId left = make_.less(x, zero), below = make_.less(y, zero);
  folded(left, pi);
  a = make_.select(below, make_.subtract(zero, a), a);
  a = rounded(make_, with(a, point, error + argument_error), fraction_);
  const double most = x.lo >= 0 ? pi / 2 : pi;
  return within(a, y.lo >= 0 ? 0 : -most, y.hi <= 0 && x.lo >= 0 ? 0 : most);
}

Value Functions::two_sided_angle(const Value& y, const Value& x) {
  const double error = x.error + y.error;
  if (error == 0) return angle(y, x, 0);
  // Of vectors that are long against their errors; short ones, and those beside the cut, are decided.
  const auto away = [](const Value& v) { return std::max({0.0, low_of(v), -high_of(v)}); };
  const double longest = std::hypot(magnitude(x), magnitude(y));
  const double certain = std::max(std::hypot(away(x), away(y)) - error, longest * std::exp2(-8));
  if (away(x) + away(y) <= error || low_of(x) < 0) decide_(Op::atan2, magnitude(x) > magnitude(y) ? x : y, error);
  return angle(y, x, error / certain);
}

Value Functions::arc_tangent(const Value& x) {
  const int log = whole_bits(magnitude(x) * (1 + 1e-9));
  const double from = std::atan(low_of(x)), to = std::atan(high_of(x));
  if (log > 3) return within(angle(x, make_.constant(1), x.error), from, to);
  // At most one unit of the argument's last place is lost at its upper end.
  const Value size = rounded(make_, with(make_.magnitude(x), x.fraction, x.error), fraction_ + 2 + log);
  const int bits = size.fraction + log;
  if (bits < 1) return within(angle(x, make_.constant(1), x.error), from, to);
  const Value at = make_.least(with(size, 0, 0), make_.constant(std::exp2(bits) - 1));
  const double scale = std::exp2(log);
  const Curve arc{"arc_of", [scale](double t) { return std::atan(scale * t); }, scale, 0.65 * scale * scale,
                  2 * scale * scale * scale};
  Value y = curve(arc, at, bits, fraction_);
  y.error += size.error + (size.hi > at.hi ? std::exp2(-size.fraction) : 0);
  return within(with_sign(y, x), from, to);
}

Value Functions::arc(Op op, const Value& x) {
  const double a = low_of(x), b = high_of(x), e = x.error;
  if (a < -1 - e - 1e-12 || b > 1 + e + 1e-12)
    refuse_(fmt::format("it takes the {} of floats from {:.4g} to {:.4g}; expected -1 to 1", ir::name_of(op), a, b),
            "bound them, as in asin(min(max(x, -1), 1))");
  // The other side of the triangle, from a square without error of its own.
  const int fine = std::min(x.fraction, 29);
  Value side = rounded(make_, x, fine);
  const double one = std::exp2(fine);
  side = with(make_.clamp(side, -one, one), fine, side.error);
  const Value rest = make_.subtract(make_.constant(one * one), make_.multiply(side, side));
  const int point = std::clamp(fraction_ + 3, fine, 30);
  const Value other =
      with(make_.root(make_.shift_left({rest.node, std::max(0.0, rest.lo), rest.hi}, 2 * (point - fine))), point, 0);
  const double most = std::min(1.0, std::max(std::abs(a), std::abs(b)) + side.error);
  double before = std::acos(std::max(-1.0, 1 - side.error));
  if (most < 1) before = std::min(before, side.error / std::sqrt(1 - most * most));
  if (side.error == 0) before = 0;
  const double error = before + 1.5 * std::exp2(-point);
  const double from = std::clamp(a, -1.0, 1.0), to = std::clamp(b, -1.0, 1.0);
  if (op == Op::asin) return within(angle(side, other, error), std::asin(from), std::asin(to));
  return within(angle(other, side, error), std::acos(to), std::acos(from));
}

// ---- hyperbolic functions, remainders ------------------------------------------------------------------------------

Value Functions::hyperbolic(Op op, const Value& x) {
  const double k = std::numbers::log2e;
  const Value up = exponential(x, k, fraction_ + 1), down = exponential(x, -k, fraction_ + 1);
  const Value both = op == Op::sinh ? make_.subtract(up, down) : make_.add(up, down);
  return with(both, fraction_ + 2, (up.error + down.error) / 2);
}

Value Functions::hyperbolic_tangent(const Value& x) {
  // Beyond, it is 1 to a quarter of the last place.
  const double end = std::max(1.0, (fraction_ + 3) * ln2 / 2);
  const double needed = std::min(end, magnitude(x));
  const int log = static_cast<int>(std::ceil(std::log2(std::max(needed, 0.25))));
  const int point = std::max(1 - log, fraction_ + 3);
  const Value size = rounded(make_, with(make_.magnitude(x), x.fraction, x.error), point);
  const Value at =
      make_.least(make_.shift_left(size, point - size.fraction), make_.constant(std::exp2(point + log) - 1));
  const double scale = std::exp2(log);
  const Curve rise{"tanh_of", [scale](double t) { return std::tanh(scale * t); }, scale, 0.77 * scale * scale,
                   2 * scale * scale * scale};
  Value y = curve(rise, {make_.resized(at.node, {false, point + log}), at.lo, at.hi}, point + log, fraction_);
  y.error += size.error + std::exp2(-point) + (magnitude(x) > scale ? 1 - std::tanh(scale) : 0);
  return within(with_sign(y, x), std::tanh(low_of(x)), std::tanh(high_of(x)));
}

Value Functions::remainder(const Value& x, const Value& y) {
  const double least = std::max({0.0, low_of(y), -high_of(y)}) - y.error;
  if (least <= 0)
    refuse_("it takes a remainder of division by floats that may be 0",
            "keep the divisor away from 0, as in x % max(y, 1)");
  const int f = std::max(x.fraction, y.fraction);
  const Value a = raised(x, f - x.fraction), b = raised(y, f - y.fraction);
  const double error = x.error + (magnitude(x) / least + 1) * y.error;
  if (error > 0) decide_(Op::fmod, x, error);
  return with(make_.remainder(a, b), f, error);
}

// ---- all of them ---------------------------------------------------------------------------------------------------

Value Functions::of(Op op, const std::vector<Value>& a) {
  switch (op) {
    case Op::exp:
    case Op::fast_exp:
      return exponential(a[0], std::numbers::log2e, fraction_);
    case Op::exp2:
      return exponential(a[0], 1, fraction_);
    case Op::log:
      return logarithm(a[0], ln2, fraction_);
    case Op::log2:
      return logarithm(a[0], 1, fraction_);
    case Op::log10:
      return logarithm(a[0], std::log10(2), fraction_);
    case Op::sin:
      return wave(a[0], false);
    case Op::cos:
      return wave(a[0], true);
    case Op::tan:
      return tangent(a[0]);
    case Op::asin:
    case Op::acos:
      return arc(op, a[0]);
    case Op::atan:
      return arc_tangent(a[0]);
    case Op::atan2:
      return two_sided_angle(a[0], a[1]);
    case Op::sinh:
    case Op::cosh:
      return hyperbolic(op, a[0]);
    case Op::tanh:
      return hyperbolic_tangent(a[0]);
    case Op::sqrt:
      return root(a[0]);
    case Op::cbrt:
      return with_sign(real_power(with(make_.magnitude(a[0]), a[0].fraction, a[0].error), 1.0 / 3), a[0]);
    case Op::fmod:
      return remainder(a[0], a[1]);
    case Op::pow: {
      if (a[1].lo == a[1].hi && a[1].error == 0) return power(a[0], low_of(a[1]));
      // The logarithm in so many bits that the power keeps its own.
      const double ends[] = {std::pow(low_of(a[0]), low_of(a[1])), std::pow(low_of(a[0]), high_of(a[1])),
                             std::pow(high_of(a[0]), low_of(a[1])), std::pow(high_of(a[0]), high_of(a[1]))};
      const double largest = low_of(a[0]) > 0 ? *std::max_element(ends, ends + 4) : 1;
      const Value log = logarithm(a[0], 1, fraction_ + 3 + whole_bits(largest) + whole_bits(magnitude(a[1])));
      return exponential(product(log, a[1], log.fraction + 1), 1, fraction_);
    }
    default:
      refuse_(fmt::format("it uses {} of floats, which is not built in fixed point", ir::name_of(op)), "");
      return a[0];
  }
}

}  // namespace tessera::hardware
