// See butterfly.hpp.
#include "fft/butterfly.hpp"

#include <cmath>
#include <numbers>

namespace tessera::fft {

using ir::nest::Value;

namespace {

constexpr i64 radices[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct Angle {
  double cosine, sine;
};

// The angle is brought into the first octant in integers, where the functions of the library see a small number.
Angle angle_of(i64 k, i64 n) {
  k %= n;
  if (k < 0) k += n;
  const auto octant = static_cast<int>(8 * static_cast<__int128>(k) / n);
  // The distance from the axis next to it, in units of an eighth of 1 / n.
  const __int128 eighths = 8 * static_cast<__int128>(k);
  const __int128 from = (octant + 1) / 2 * 2 * static_cast<__int128>(n);
  const double distance = static_cast<double>(octant % 2 == 0 ? eighths - from : from - eighths);
  const double angle = 2 * std::numbers::pi * (distance / (8 * static_cast<double>(n)));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (octant) {
    case 0:
      return {c, s};
    case 1:
      return {s, c};
    case 2:
      return {-s, c};
    case 3:
      return {-c, s};
    case 4:
      return {-c, -s};
    case 5:
      return {-s, -c};
    case 6:
      return {s, -c};
    default:
      return {c, -s};
  }
}

}  // namespace

bool is_radix(i64 n) {
  for (const i64 r : radices)
    if (r == n) return true;
  return false;
}

double cosine(i64 k, i64 n) {
  return angle_of(k, n).cosine;
}
double sine(i64 k, i64 n) {
  return angle_of(k, n).sine;
}

Value Butterfly::constant(double v) const {
  return ir::nest::broadcast(ir::nest::real(v, {type_.lane, 1, false}), type_.lanes);
}
Value Butterfly::add(const Value& a, const Value& b) {
  return out_.let("s", a + b);
}
Value Butterfly::sub(const Value& a, const Value& b) {
  return out_.let("d", a - b);
}
Value Butterfly::mul(const Value& a, const Value& b) {
  return out_.let("p", a * b);
}
Value Butterfly::fused(const Value& a, const Value& b, const Value& c) {
  return out_.let("f", ir::nest::fused(a, b, c));
}
Value Butterfly::fused(double a, const Value& b, const Value& c) {
  return fused(constant(a), b, c);
}
Complex Butterfly::plus(const Complex& a, const Complex& b) {
  return {add(a.re, b.re), add(a.im, b.im)};
}
Complex Butterfly::minus(const Complex& a, const Complex& b) {
  return {sub(a.re, b.re), sub(a.im, b.im)};
}
Complex Butterfly::times(const Complex& x, const Complex& w) {
  return {fused(-x.im, w.im, mul(x.re, w.re)), fused(x.im, w.re, mul(x.re, w.im))};
}

void Butterfly::transform(i64 radix, const Load& load, const Store& store) {
  switch (radix) {
    case 1:
      return store(0, load(0));
    case 2: {
      const Complex a = load(0), b = load(1);
      store(0, plus(a, b));
      return store(1, minus(a, b));
    }
    case 4:
    case 8:
    case 16:
    case 32:
      return halves(radix, load, store);
    case 6:
      return coprime(2, 3, load, store);
    case 9:
      return square(3, load, store);
    case 10:
      return coprime(2, 5, load, store);
    case 12:
      return coprime(4, 3, load, store);
    case 14:
      return coprime(2, 7, load, store);
    case 15:
      return coprime(3, 5, load, store);
    case 18:
      return coprime(2, 9, load, store);
    case 20:
      return coprime(4, 5, load, store);
    case 24:
      return coprime(8, 3, load, store);
    case 25:
      return square(5, load, store);
    default:
      return odd(radix, load, store);
  }
}

std::vector<Complex> Butterfly::transform(i64 radix, const Load& load) {
  std::vector<Complex> y(static_cast<std::size_t>(radix));
  transform(radix, load, [&](i64 k, const Complex& v) { y[static_cast<std::size_t>(k)] = v; });
  return y;
}

void Butterfly::halves(i64 n, const Load& load, const Store& store) {
  const i64 half = n / 2;
  const std::vector<Complex> even = transform(half, [&](i64 j) { return load(2 * j); });
  const std::vector<Complex> odd = transform(half, [&](i64 j) { return load(2 * j + 1); });
  for (i64 k = 0; k < half; ++k) {
    const Complex &e = even[static_cast<std::size_t>(k)], &o = odd[static_cast<std::size_t>(k)];
    if (k == 0) {
      store(k, plus(e, o));
      store(k + half, minus(e, o));
      continue;
    }
    if (4 * k == n) {
      store(k, {add(e.re, o.im), sub(e.im, o.re)});
      store(k + half, {sub(e.re, o.im), add(e.im, o.re)});
      continue;
    }
    const double c = cosine(k, n), s = sine(k, n);
    // The twiddle c - i s times o: c (re + t im), c (im - t re) with t = s / c; or s (im + t re), -s (re - t im) with
    // t = c / s.
    const bool flat = std::abs(c) > std::abs(s) + 1e-9;
    const double factor = flat ? c : s, t = flat ? s / c : c / s;
    const Complex of = flat ? o : Complex{o.im, o.re};
    const bool diagonal = std::abs(std::abs(t) - 1) < 1e-9;
    auto sum = [&](const Value& a, const Value& b, double by) {
      if (diagonal) return by > 0 ? add(a, b) : sub(a, b);
      return fused(by, b, a);
    };
    const Value u = sum(of.re, of.im, t);
    const Value v = sum(of.im, of.re, -t);
    const double of_v = flat ? factor : -factor;
    store(k, {fused(factor, u, e.re), fused(of_v, v, e.im)});
    store(k + half, {fused(-factor, u, e.re), fused(-of_v, v, e.im)});
  }
}

void Butterfly::odd(i64 n, const Load& load, const Store& store) {
  const i64 half = n / 2;
  std::vector<Complex> sums(1), differences(1);
  for (i64 k = 1; k <= half; ++k) {
    const Complex a = load(k), b = load(n - k);
    sums.push_back(plus(a, b));
    differences.push_back(minus(a, b));
  }
  const Complex x0 = load(0);
  Complex total = x0;
  for (i64 k = 1; k <= half; ++k) total = plus(total, sums[static_cast<std::size_t>(k)]);
  store(0, total);
  for (i64 m = 1; m <= half; ++m) {
    Complex a = x0, b;
    for (i64 k = 1; k <= half; ++k) {
      const double c = cosine(m * k, n), s = sine(m * k, n);
      const Complex &sum = sums[static_cast<std::size_t>(k)], &difference = differences[static_cast<std::size_t>(k)];
      a = {fused(c, sum.re, a.re), fused(c, sum.im, a.im)};
      b = k == 1 ? Complex{mul(constant(s), difference.re), mul(constant(s), difference.im)}
                 : Complex{fused(s, difference.re, b.re), fused(s, difference.im, b.im)};
    }
    store(m, {add(a.re, b.im), sub(a.im, b.re)});
    store(n - m, {sub(a.re, b.im), add(a.im, b.re)});
  }
}

// j = b j1 + a j2 and k = k1 modulo a, k2 modulo b: then j k / (a b) = j1 k1 / a + j2 k2 / b up to whole numbers.
void Butterfly::coprime(i64 a, i64 b, const Load& load, const Store& store) {
  const i64 n = a * b;
  std::vector<std::vector<Complex>> columns;
  for (i64 j2 = 0; j2 < b; ++j2) columns.push_back(transform(a, [&](i64 j1) { return load((b * j1 + a * j2) % n); }));
  for (i64 k1 = 0; k1 < a; ++k1)
    transform(
        b, [&](i64 j2) { return columns[static_cast<std::size_t>(j2)][static_cast<std::size_t>(k1)]; },
        [&](i64 k2, const Complex& y) {
          for (i64 k = 0; k < n; ++k)
            if (k % a == k1 && k % b == k2) store(k, y);
        });
}

void Butterfly::square(i64 r, const Load& load, const Store& store) {
  std::vector<std::vector<Complex>> columns;
  for (i64 j = 0; j < r; ++j) columns.push_back(transform(r, [&](i64 k) { return load(j + r * k); }));
  for (i64 k = 0; k < r; ++k)
    transform(
        r,
        [&](i64 j) {
          const Complex& x = columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)];
          return j * k == 0 ? x : times(x, {constant(cosine(j * k, r * r)), constant(-sine(j * k, r * r))});
        },
        [&](i64 m, const Complex& y) { store(k + r * m, y); });
}

}  // namespace tessera::fft
