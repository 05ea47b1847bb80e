// The functions of floats that HLS tools have in namespace hls, with the values that Tessera's interpreter gives, to the
// bit: its own text of them is compiled here. Tools compute them to a unit of the last place or so.
//
// Compile with -ffp-contract=off where the machine has fused products (-march=native, ARM): each operation rounds once.
#ifndef TESSERA_HLS_HLS_MATH_H
#define TESSERA_HLS_HLS_MATH_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera_hls {

template <class To, class From>
inline To same_bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from, "of one size");
  std::memcpy(&to, &from, sizeof to);
  return to;
}

#define FN inline
#define K(c) (static_cast<F>(c))
#define KI(c) (static_cast<I>(c))
#define BITS(x) (::tessera_hls::same_bits<I>(x))
#define FLOAT(i) (::tessera_hls::same_bits<F>(i))
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define SELECTI(m, a, b) ((m) ? (a) : (b))
#define SQRT(x) (std::sqrt(x))
#define MULADD(a, b, c) ((a) * (b) + (c))
#define TO_FLOAT(i) (static_cast<F>(i))
#define ANY(m) (m)
#define NAME(x) text_##x

namespace single {
typedef float F;
typedef std::int32_t I;
#if defined(__has_include) && !__has_include("functions_f32.c.inc")
#include "../../src/ir/functions/functions_f32.c.inc"
#else
#include "functions_f32.c.inc"
#endif
}  // namespace single

namespace twofold {
typedef double F;
typedef std::int64_t I;
#if defined(__has_include) && !__has_include("functions_f64.c.inc")
#include "../../src/ir/functions/functions_f64.c.inc"
#else
#include "functions_f64.c.inc"
#endif
}  // namespace twofold

#undef FN
#undef K
#undef KI
#undef BITS
#undef FLOAT
#undef SELECT
#undef SELECTI
#undef SQRT
#undef MULADD
#undef TO_FLOAT
#undef ANY
#undef NAME

}  // namespace tessera_hls

namespace hls {

inline float fabsf(float x) { return std::fabs(x); }
inline double fabs(double x) { return std::fabs(x); }

#define TESSERA_HLS_ONE(name)                                                          \
  inline float name##f(float x) { return ::tessera_hls::single::text_##name(x); }      \
  inline double name(double x) { return ::tessera_hls::twofold::text_##name(x); }
TESSERA_HLS_ONE(sqrt)
TESSERA_HLS_ONE(exp)
TESSERA_HLS_ONE(exp2)
TESSERA_HLS_ONE(log)
TESSERA_HLS_ONE(log2)
TESSERA_HLS_ONE(log10)
TESSERA_HLS_ONE(sin)
TESSERA_HLS_ONE(cos)
TESSERA_HLS_ONE(tan)
TESSERA_HLS_ONE(asin)
TESSERA_HLS_ONE(acos)
TESSERA_HLS_ONE(atan)
TESSERA_HLS_ONE(sinh)
TESSERA_HLS_ONE(cosh)
TESSERA_HLS_ONE(tanh)
TESSERA_HLS_ONE(cbrt)
TESSERA_HLS_ONE(floor)
TESSERA_HLS_ONE(ceil)
TESSERA_HLS_ONE(round)
TESSERA_HLS_ONE(trunc)
#undef TESSERA_HLS_ONE

#define TESSERA_HLS_TWO(name)                                                                       \
  inline float name##f(float x, float y) { return ::tessera_hls::single::text_##name(x, y); }       \
  inline double name(double x, double y) { return ::tessera_hls::twofold::text_##name(x, y); }
TESSERA_HLS_TWO(pow)
TESSERA_HLS_TWO(atan2)
TESSERA_HLS_TWO(hypot)
TESSERA_HLS_TWO(fmod)
#undef TESSERA_HLS_TWO

}  // namespace hls
#endif
