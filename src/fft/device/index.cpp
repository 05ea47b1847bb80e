// See index.hpp.
#include "fft/device/index.hpp"

#include <algorithm>

namespace tessera::fft {

using ir::nest::Value;

Index operator+(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(a.value->i + b.value->i);
  if (a.is(0)) return b;
  return b.is(0) ? a : Index(a.value + b.value);
}
Index operator-(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(a.value->i - b.value->i);
  return b.is(0) ? a : Index(a.value - b.value);
}
Index operator*(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(a.value->i * b.value->i);
  if (a.is(0) || b.is(0)) return Index(0);
  if (a.is(1)) return b;
  return b.is(1) ? a : Index(a.value * b.value);
}
Index operator/(const Index& a, const Index& b) {
  if (a.is(0) || b.is(1)) return a;
  return Index(a.value / b.value);
}
Index operator%(const Index& a, const Index& b) {
  if (a.is(0) || b.is(1)) return Index(0);
  return Index(a.value % b.value);
}
Value less(const Index& a, const Index& b) {
  return less(a.value, b.value);
}
Value equal(const Index& a, const Index& b) {
  return equal(a.value, b.value);
}
Index chosen(const Value& flag, const Index& then, const Index& otherwise) {
  return Index(choose(flag, then.value, otherwise.value));
}
Index least(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(std::min(a.value->i, b.value->i));
  return Index(min(a.value, b.value));
}
Value wide(const Index& a) {
  return a.constant() ? ir::nest::integer(a.value->i) : ir::nest::convert(ir::nest::index_type, a.value);
}

}  // namespace tessera::fft
