// See index.hpp.
#include "fft/device/index.hpp"

#include <algorithm>

namespace tessera::fft {

using ir::Op;
using ir::nest::Value;

namespace {

Index operation(Op op, const Index& a, const Index& b) {
  return Index(ir::nest::operation(op, Index::type(), {a.value, b.value}));
}

}  // namespace

Index operator+(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(a.value->i + b.value->i);
  if (a.is(0)) return b;
  return b.is(0) ? a : operation(Op::add, a, b);
}
Index operator-(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(a.value->i - b.value->i);
  return b.is(0) ? a : operation(Op::sub, a, b);
}
Index operator*(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(a.value->i * b.value->i);
  if (a.is(0) || b.is(0)) return Index(0);
  if (a.is(1)) return b;
  return b.is(1) ? a : operation(Op::mul, a, b);
}
Index operator/(const Index& a, const Index& b) {
  if (a.is(0) || b.is(1)) return a;
  return operation(Op::div, a, b);
}
Index operator%(const Index& a, const Index& b) {
  if (a.is(0) || b.is(1)) return Index(0);
  return operation(Op::rem, a, b);
}
Value less(const Index& a, const Index& b) {
  return ir::nest::operation(Op::lt, ir::nest::flag_type, {a.value, b.value});
}
Value equal(const Index& a, const Index& b) {
  return ir::nest::operation(Op::eq, ir::nest::flag_type, {a.value, b.value});
}
Index chosen(const Value& flag, const Index& then, const Index& otherwise) {
  return Index(ir::nest::operation(Op::select, Index::type(), {flag, then.value, otherwise.value}));
}
Index least(const Index& a, const Index& b) {
  if (a.constant() && b.constant()) return Index(std::min(a.value->i, b.value->i));
  return operation(Op::min, a, b);
}
Value wide(const Index& a) {
  return a.constant() ? ir::nest::integer(a.value->i) : ir::nest::convert(ir::nest::index_type, a.value);
}

}  // namespace tessera::fft
