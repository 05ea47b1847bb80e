// Whole numbers of stated widths, as HLS tools have them: what code written by Tessera uses of ap_int and ap_uint, so
// that any C++ compiler runs it.
//
// A value keeps the low bits that its type has. Sums, products, quotients and bits of two values are exact until they
// are assigned (the tools give them as many bits as they need); a shift keeps the type of what is shifted. Up to 127
// bits can be computed with; wider ones are words that are put together and taken apart by `range`.
#ifndef TESSERA_HLS_AP_INT_H
#define TESSERA_HLS_AP_INT_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace tessera_hls {

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

// An exact value.
struct number {
  wide v;
  number() : v(0) {}
  explicit number(wide value) : v(value) {}
  operator long long() const { return static_cast<long long>(v); }
  int to_int() const { return static_cast<int>(v); }
  long long to_int64() const { return static_cast<long long>(v); }
  unsigned long long to_uint64() const { return static_cast<unsigned long long>(v); }
};

inline wide modular(unsigned_wide v) {
  return static_cast<wide>(v);
}

inline wide quotient(wide a, wide b, bool rest) {
  if (b == 0) {
    std::fprintf(stderr, "error: a division by zero\n");
    std::exit(3);
  }
  return rest ? a % b : a / b;
}

// Operators of two values, and of a value and an integer of C++.
#define TESSERA_HLS_OPERATOR(op, result, expression)                                    \
  inline result operator op(const number& x, const number& y) {                         \
    const wide a = x.v, b = y.v;                                                        \
    return result(expression);                                                          \
  }                                                                                     \
  template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type> \
  inline result operator op(const number& x, I y) {                                     \
    return x op number(static_cast<wide>(y));                                           \
  }                                                                                     \
  template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type> \
  inline result operator op(I x, const number& y) {                                     \
    return number(static_cast<wide>(x)) op y;                                           \
  }
TESSERA_HLS_OPERATOR(+, number, modular(static_cast<unsigned_wide>(a) + static_cast<unsigned_wide>(b)))
TESSERA_HLS_OPERATOR(-, number, modular(static_cast<unsigned_wide>(a) - static_cast<unsigned_wide>(b)))
TESSERA_HLS_OPERATOR(*, number, modular(static_cast<unsigned_wide>(a) * static_cast<unsigned_wide>(b)))
TESSERA_HLS_OPERATOR(/, number, quotient(a, b, false))
TESSERA_HLS_OPERATOR(%, number, quotient(a, b, true))
TESSERA_HLS_OPERATOR(&, number, a& b)
TESSERA_HLS_OPERATOR(|, number, a | b)
TESSERA_HLS_OPERATOR(^, number, a ^ b)
TESSERA_HLS_OPERATOR(==, bool, a == b)
TESSERA_HLS_OPERATOR(!=, bool, a != b)
TESSERA_HLS_OPERATOR(<, bool, a < b)
TESSERA_HLS_OPERATOR(<=, bool, a <= b)
TESSERA_HLS_OPERATOR(>, bool, a > b)
TESSERA_HLS_OPERATOR(>=, bool, a >= b)
#undef TESSERA_HLS_OPERATOR
inline number operator-(const number& x) {
  return number(modular(-static_cast<unsigned_wide>(x.v)));
}

inline unsigned_wide low_bits(int count) {
  return count >= 128 ? ~static_cast<unsigned_wide>(0) : (static_cast<unsigned_wide>(1) << count) - 1;
}

inline wide kept(int width, bool is_signed, wide v) {
  unsigned_wide bits = static_cast<unsigned_wide>(v) & low_bits(width);
  if (is_signed && ((bits >> (width - 1)) & 1) != 0) bits |= ~low_bits(width);
  return static_cast<wide>(bits);
}

// Bits hi to lo of a value, to be read and to be written.
template <class T>
class part {
 public:
  part(T& of, int hi, int lo) : of_(of), hi_(hi), lo_(lo) {}
  operator number() const { return number(of_.bits(hi_, lo_)); }
  part& operator=(const number& v) {
    of_.set_bits(hi_, lo_, v.v);
    return *this;
  }
  template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type>
  part& operator=(I v) {
    return *this = number(static_cast<wide>(v));
  }
  part& operator=(const part& o) { return *this = static_cast<number>(o); }
  part(const part&) = default;

 private:
  T& of_;
  int hi_, lo_;
};

template <int W, bool S>
struct narrow : number {
  narrow() {}
  narrow(const number& n) : number(kept(W, S, n.v)) {}
  template <class T>
  narrow(const part<T>& p) : number(kept(W, S, static_cast<number>(p).v)) {}
  template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type>
  narrow(I i) : number(kept(W, S, static_cast<wide>(i))) {}

  narrow operator~() const { return narrow(number(~v)); }
  template <class I>
  narrow operator<<(const I& count) const {
    const wide by = static_cast<wide>(static_cast<long long>(count));
    return by >= W ? narrow() : narrow(number(modular(static_cast<unsigned_wide>(v) << by)));
  }
  template <class I>
  narrow operator>>(const I& count) const {
    const wide by = static_cast<wide>(static_cast<long long>(count));
    return narrow(number(v >> (by >= W ? W : by)));
  }
  narrow& operator++() { return *this = narrow(*this + 1); }
  narrow& operator--() { return *this = narrow(*this - 1); }
  narrow& operator+=(const number& o) { return *this = narrow(*this + o); }
  narrow& operator-=(const number& o) { return *this = narrow(*this - o); }

  static int length() { return W; }
  wide bits(int hi, int lo) const {
    return static_cast<wide>((static_cast<unsigned_wide>(v) >> lo) & low_bits(hi - lo + 1));
  }
  void set_bits(int hi, int lo, wide value) {
    const unsigned_wide mask = low_bits(hi - lo + 1);
    const unsigned_wide rest = static_cast<unsigned_wide>(v) & ~(mask << lo);
    v = kept(W, S, static_cast<wide>(rest | ((static_cast<unsigned_wide>(value) & mask) << lo)));
  }
  part<narrow> range(int hi, int lo) { return part<narrow>(*this, hi, lo); }
  part<const narrow> range(int hi, int lo) const { return part<const narrow>(*this, hi, lo); }
};

template <int W>
struct words {
  std::uint64_t w[(W + 63) / 64];
  words() : w() {}
  words(int v) : w() { w[0] = static_cast<std::uint64_t>(v); }  // not negative

  static int length() { return W; }
  bool bit(int k) const { return ((w[k / 64] >> (k % 64)) & 1) != 0; }
  wide bits(int hi, int lo) const {
    unsigned_wide v = 0;
    for (int k = hi / 64; k >= lo / 64; --k) {
      const int base = k * 64, from = lo > base ? lo - base : 0, to = hi < base + 63 ? hi - base : 63;
      v = (v << (to - from + 1)) | ((w[k] >> from) & static_cast<std::uint64_t>(low_bits(to - from + 1)));
    }
    return static_cast<wide>(v);
  }
  void set_bits(int hi, int lo, wide value) {
    unsigned_wide v = static_cast<unsigned_wide>(value);
    for (int k = lo / 64; k <= hi / 64; ++k) {
      const int base = k * 64, from = lo > base ? lo - base : 0, to = hi < base + 63 ? hi - base : 63;
      const std::uint64_t mask = static_cast<std::uint64_t>(low_bits(to - from + 1)) << from;
      w[k] = (w[k] & ~mask) | ((static_cast<std::uint64_t>(v) << from) & mask);
      v >>= to - from + 1;
    }
  }
  part<words> range(int hi, int lo) { return part<words>(*this, hi, lo); }
  part<const words> range(int hi, int lo) const { return part<const words>(*this, hi, lo); }
};

template <int W, bool S>
using bits_of = typename std::conditional<(W <= 127), narrow<(W <= 127 ? W : 127), S>, words<W>>::type;

}  // namespace tessera_hls

template <int W>
struct ap_int : tessera_hls::bits_of<W, true> {
  typedef tessera_hls::bits_of<W, true> base;
  ap_int() {}
  template <class V>
  ap_int(const V& v) : base(v) {}
};
template <int W>
struct ap_uint : tessera_hls::bits_of<W, false> {
  typedef tessera_hls::bits_of<W, false> base;
  ap_uint() {}
  template <class V>
  ap_uint(const V& v) : base(v) {}
};

#endif
