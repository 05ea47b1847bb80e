// Indices of device code: unsigned integers of 32 bits, which cost a GPU a third of longer ones; constants are folded.
#pragma once

#include <map>

#include "ir/nest/builder.hpp"

namespace tessera::fft {

struct Index {
  ir::nest::Value value;
  Index() = default;
  explicit Index(i64 constant) : value(ir::nest::integer(constant, type())) {}
  explicit Index(ir::nest::Value v) : value(ir::nest::convert(type(), std::move(v))) {}

  static ir::nest::Type type() { return {ir::nest::Lane::u32, 1, false}; }
  bool is(i64 n) const { return value->kind == ir::nest::Kind::integer && value->i == n; }
  bool constant() const { return value->kind == ir::nest::Kind::integer; }
};

Index operator+(const Index&, const Index&);
Index operator-(const Index&, const Index&);
Index operator*(const Index&, const Index&);
Index operator/(const Index&, const Index&);
Index operator%(const Index&, const Index&);
inline Index operator+(const Index& a, i64 b) {
  return a + Index(b);
}
inline Index operator-(const Index& a, i64 b) {
  return a - Index(b);
}
inline Index operator*(const Index& a, i64 b) {
  return a * Index(b);
}
inline Index operator/(const Index& a, i64 b) {
  return a / Index(b);
}
inline Index operator%(const Index& a, i64 b) {
  return a % Index(b);
}
ir::nest::Value less(const Index&, const Index&);  // a flag
ir::nest::Value equal(const Index&, const Index&);
Index chosen(const ir::nest::Value& flag, const Index& then, const Index& otherwise);
Index least(const Index&, const Index&);
ir::nest::Value wide(const Index&);  // i64

// A place in a line: `start`, which is a multiple of `multiple`, and a constant.
struct Shifted {
  Index start;
  i64 by = 0, multiple = 1;
};

}  // namespace tessera::fft
