// Accuracy of the function text against a wider libm (double for float, long double for double), and its special
// values.
//
// TESSERA_LONG_TESTS=1 takes millions of values in place of thousands.
#include "ir/functions/functions.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace tessera::ir {
namespace {

int sample_count() {
  return std::getenv("TESSERA_LONG_TESTS") ? 4'000'000 : 40'000;
}

// Values spread evenly over the exponents between lo and hi, of both signs if `both`, with some uniform ones.
template <class T>
class Samples {
 public:
  Samples(double lo, double hi, bool both) : lo_(lo), hi_(hi), both_(both) {}
  T next() {
    const double u = unit_(random_);
    const double a = random_() & 1 ? lo_ + u * (hi_ - lo_) : lo_ * std::pow(hi_ / lo_, u);
    return static_cast<T>(both_ && (random_() & 1) ? -a : a);
  }

 private:
  std::mt19937_64 random_{12345};
  std::uniform_real_distribution<double> unit_{0, 1};
  double lo_, hi_;
  bool both_;
};

// The distance to the exact value in units of the last place there.
template <class T>
long double ulps(T got, long double want) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  const T rounded = static_cast<T>(want);
  if (std::isinf(got) || std::isinf(rounded)) return got == rounded ? 0 : INFINITY;
  const int e = std::max(rounded == 0 ? Limits::min_exponent : std::ilogb(rounded), Limits::min_exponent - 1);
  return std::fabs(static_cast<long double>(got) - want) / std::ldexp(1.0L, e - (Limits::digits - 1));
}

struct Case {
  Op op;
  double lo, hi;
  bool both;
  double bound32, bound64;
  long double (*reference)(long double);
};

#define REFERENCE(f) [](long double x) -> long double { return std::f(x); }
const Case kCases[] = {
    {Op::exp, 1e-6, 87, true, 1.5, 1.5, REFERENCE(exp)},
    {Op::fast_exp, 1e-6, 87, true, 4, 1.5, REFERENCE(exp)},
    {Op::exp2, 1e-6, 126, true, 1.5, 1.5, REFERENCE(exp2)},
    {Op::log, 1e-37, 1e37, false, 1.5, 1.5, REFERENCE(log)},
    {Op::log, 0.5, 2, false, 1.5, 1.5, REFERENCE(log)},
    {Op::log2, 1e-37, 1e37, false, 1.5, 1.5, REFERENCE(log2)},
    {Op::log2, 0.5, 2, false, 1.5, 1.5, REFERENCE(log2)},
    {Op::log10, 1e-37, 1e37, false, 1.5, 1.5, REFERENCE(log10)},
    {Op::log10, 0.5, 2, false, 1.5, 1.5, REFERENCE(log10)},
    {Op::sin, 1e-6, 7, true, 1.5, 1.5, REFERENCE(sin)},
    {Op::sin, 1e-3, 1e5, true, 1.5, 1.5, REFERENCE(sin)},
    {Op::cos, 1e-6, 7, true, 1.5, 1.5, REFERENCE(cos)},
    {Op::cos, 1e-3, 1e5, true, 1.5, 1.5, REFERENCE(cos)},
    {Op::tan, 1e-6, 7, true, 1.5, 1.5, REFERENCE(tan)},
    {Op::tan, 1e-3, 1e5, true, 1.5, 1.5, REFERENCE(tan)},
    {Op::asin, 1e-6, 1, true, 1.5, 1.5, REFERENCE(asin)},
    {Op::acos, 1e-6, 1, true, 1.5, 1.5, REFERENCE(acos)},
    {Op::atan, 1e-6, 1e6, true, 1.5, 1.5, REFERENCE(atan)},
    {Op::atan, 0.1, 5, true, 1.5, 1.5, REFERENCE(atan)},
    {Op::sinh, 1e-6, 85, true, 1.5, 1.5, REFERENCE(sinh)},
    {Op::sinh, 0.1, 3, true, 1.5, 1.5, REFERENCE(sinh)},
    {Op::cosh, 1e-6, 85, true, 1.5, 1.5, REFERENCE(cosh)},
    {Op::tanh, 1e-6, 12, true, 1.5, 1.5, REFERENCE(tanh)},
    {Op::tanh, 0.1, 1, true, 1.5, 1.5, REFERENCE(tanh)},
    {Op::cbrt, 1e-37, 1e37, true, 1, 1, REFERENCE(cbrt)},
    {Op::sqrt, 1e-37, 1e37, false, 0.5001, 0.5001, REFERENCE(sqrt)},
    {Op::floor, 1e-3, 1e9, true, 0, 0, REFERENCE(floor)},
    {Op::ceil, 1e-3, 1e9, true, 0, 0, REFERENCE(ceil)},
    {Op::round, 1e-3, 1e9, true, 0, 0, REFERENCE(round)},
    {Op::trunc, 1e-3, 1e9, true, 0, 0, REFERENCE(trunc)},
};

template <class T>
void check(const Case& c, double bound) {
  Samples<T> samples(c.lo, c.hi, c.both);
  long double worst = 0;
  T at = 0;
  for (int i = 0; i < sample_count(); ++i) {
    const T x = samples.next();
    if ((c.op == Op::asin || c.op == Op::acos) && std::fabs(x) > 1) continue;
    const long double u = ulps(call_function(c.op, x, T(0)), c.reference(x));
    if (u > worst || std::isnan(u)) worst = u, at = x;
  }
  if (std::getenv("TESSERA_LONG_TESTS"))
    fmt::print("{} {}..{} {}: {:.3f} ulp at {}\n", name_of(c.op), c.lo, c.hi, sizeof(T) * 8, static_cast<double>(worst),
               at);
  EXPECT_LE(worst, bound) << name_of(c.op) << " of " << fmt::format("{}", at) << " gives "
                          << fmt::format("{}", call_function(c.op, at, T(0)));
}

TEST(Functions, StayWithinTheirBoundsInFloat) {
  for (const Case& c : kCases) check<float>(c, c.bound32);
}

TEST(Functions, StayWithinTheirBoundsInDouble) {
  for (const Case& c : kCases) check<double>(c, c.bound64);
}

// What docs/language.md says of `exp` in `fast` numbers.
TEST(Functions, TheShortExpKnowsItsRange) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto exp = [](float x) { return call_function(Op::fast_exp, x, 0.0f); };
  for (float x : {-87.69f, -88.0f, -1e30f, -inf}) EXPECT_EQ(exp(x), 0) << x;
  for (float x : {88.38f, 89.0f, 1e30f, inf}) EXPECT_EQ(exp(x), inf) << x;
  EXPECT_TRUE(std::isnan(exp(std::numeric_limits<float>::quiet_NaN())));
  for (float x : {-87.3f, -40.0f, -1.0f, 0.3f, 30.0f, 88.37f}) {
    const double want = std::exp(static_cast<double>(x));
    EXPECT_NEAR(exp(x), want, 2e-7 * want) << x;
  }
}

template <class T>
void check_two(Op op, double lo_x, double hi_x, bool both_x, double lo_y, double hi_y, double bound,
               long double (*reference)(long double, long double)) {
  Samples<T> xs(lo_x, hi_x, both_x), ys(lo_y, hi_y, true);
  ys.next();
  long double worst = 0;
  T ax = 0, ay = 0;
  for (int i = 0; i < sample_count(); ++i) {
    const T x = xs.next(), y = ys.next();
    const long double u = ulps(call_function(op, x, y), reference(x, y));
    if (u > worst || std::isnan(u)) worst = u, ax = x, ay = y;
  }
  if (std::getenv("TESSERA_LONG_TESTS"))
    fmt::print("{} {} {}: {:.3f} ulp at {}, {}\n", name_of(op), hi_x, sizeof(T) * 8, static_cast<double>(worst), ax,
               ay);
  EXPECT_LE(worst, bound) << name_of(op) << fmt::format(" of {} and {}", ax, ay);
}

template <class T>
void check_all_two() {
  const auto power = [](long double x, long double y) -> long double { return std::pow(x, y); };
  const auto angle = [](long double x, long double y) -> long double { return std::atan2(x, y); };
  const auto hypotenuse = [](long double x, long double y) -> long double { return std::hypot(x, y); };
  const auto remainder = [](long double x, long double y) -> long double { return std::fmod(x, y); };
  check_two<T>(Op::pow, 1e-6, 1e6, false, 1e-3, 6, 2, power);
  check_two<T>(Op::pow, 0.5, 2, false, 1e-3, 100, 2, power);
  check_two<T>(Op::pow, 1, 1.001, false, 1e-3, 10000, 2, power);
  check_two<T>(Op::atan2, 1e-6, 1e6, true, 1e-6, 1e6, 1.5, angle);
  check_two<T>(Op::atan2, 0.1, 10, true, 0.1, 10, 1.5, angle);
  check_two<T>(Op::hypot, 1e-6, 1e6, true, 1e-6, 1e6, 1.2, hypotenuse);
  check_two<T>(Op::hypot, 1e-35, 1e35, true, 1e-35, 1e35, 1.2, hypotenuse);
  check_two<T>(Op::fmod, 1e-6, 1e6, true, 1e-6, 1e6, 0, remainder);
  check_two<T>(Op::fmod, 1e-35, 1e35, true, 1e-35, 1e35, 0, remainder);
}

TEST(Functions, OfTwoOperandsStayWithinTheirBounds) {
  check_all_two<float>();
  check_all_two<double>();
}

// Every pair of special values against libm: the class and the sign of the result, and the value where it is exact.
template <class T>
void check_special() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T tiny = std::numeric_limits<T>::denorm_min(), low = std::numeric_limits<T>::min(),
          top = std::numeric_limits<T>::max();
  const T values[] = {0,   -T(0), 1,    -1,   T(0.5), T(-0.5), T(1.5), T(-2.5), 2,    -2,  3,    -3,  4,    10,
                      -10, 100,   -100, 1000, -1000,  tiny,    -tiny,  low,     -low, top, -top, inf, -inf, nan};
  const auto compare = [](Op op, T got, T want, T x, T y) {
    const std::string where = fmt::format("{}({}, {}) gives {}, libm {}", name_of(op), x, y, got, want);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << where;
    } else if (std::isinf(want) || want == 0) {
      EXPECT_EQ(got, want) << where;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << where;
    } else {
      EXPECT_LE(ulps(got, static_cast<long double>(want)), 3) << where;
    }
  };
  using Unary = T (*)(T);
  const std::pair<Op, Unary> unary[] = {
      {Op::sqrt, std::sqrt},   {Op::exp, std::exp},   {Op::log, std::log},     {Op::sin, std::sin},
      {Op::cos, std::cos},     {Op::tan, std::tan},   {Op::asin, std::asin},   {Op::acos, std::acos},
      {Op::atan, std::atan},   {Op::sinh, std::sinh}, {Op::cosh, std::cosh},   {Op::tanh, std::tanh},
      {Op::exp2, std::exp2},   {Op::log2, std::log2}, {Op::log10, std::log10}, {Op::cbrt, std::cbrt},
      {Op::floor, std::floor}, {Op::ceil, std::ceil}, {Op::round, std::round}, {Op::trunc, std::trunc}};
  for (T x : values) {
    for (const auto& [op, reference] : unary) {
      const bool circle = op == Op::sin || op == Op::cos || op == Op::tan;
      const T got = call_function(op, x, T(0));
      if (circle && std::fabs(x) == top) {
        EXPECT_LE(std::fabs(got), 1) << name_of(op);
      } else {
        compare(op, got, reference(x), x, 0);
      }
    }
    for (T y : values) {
      compare(Op::pow, call_function(Op::pow, x, y), std::pow(x, y), x, y);
      compare(Op::atan2, call_function(Op::atan2, x, y), std::atan2(x, y), x, y);
      compare(Op::hypot, call_function(Op::hypot, x, y), std::hypot(x, y), x, y);
      compare(Op::fmod, call_function(Op::fmod, x, y), std::fmod(x, y), x, y);
    }
  }
}

TEST(Functions, AgreeWithLibmOnSpecialValuesInFloat) {
  check_special<float>();
}
TEST(Functions, AgreeWithLibmOnSpecialValuesInDouble) {
  check_special<double>();
}

TEST(Functions, SineAndCosineStayInsideOneForAnyOperand) {
  std::mt19937_64 random(7);
  for (int i = 0; i < sample_count(); ++i) {
    const auto f = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto d = std::bit_cast<double>(random());
    for (Op op : {Op::sin, Op::cos}) {
      if (std::isfinite(f)) {
        ASSERT_LE(std::fabs(call_function(op, f, 0.0f)), 1.0f) << f;
      }
      if (std::isfinite(d)) {
        ASSERT_LE(std::fabs(call_function(op, d, 0.0)), 1.0) << d;
      }
    }
  }
}

TEST(Functions, DenormalResultsAreRoundedOnce) {
  for (float x = -104; x < -87; x += 0.013f)
    ASSERT_LE(ulps(call_function(Op::exp, x, 0.0f), std::exp(static_cast<long double>(x))), 1.01L) << x;
  for (double x = -745; x < -708; x += 0.13)
    ASSERT_LE(ulps(call_function(Op::exp, x, 0.0), std::exp(static_cast<long double>(x))), 1.01L) << x;
  for (double x : {1e-310, 3e-320, 5e-324}) {
    EXPECT_LE(ulps(call_function(Op::log, x, 0.0), std::log(static_cast<long double>(x))), 1.0L);
    EXPECT_LE(ulps(call_function(Op::cbrt, x, 0.0), std::cbrt(static_cast<long double>(x))), 1.0L);
  }
}

}  // namespace
}  // namespace tessera::ir
