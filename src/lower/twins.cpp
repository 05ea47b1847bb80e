// See twins.hpp.
#include "lower/twins.hpp"

#include <algorithm>

#include "ir/build.hpp"
#include "plan/passes/twins.hpp"
#include "tessera/error.hpp"

namespace tessera::lower {

using analyze::Range;
using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;

namespace {

constexpr Type half_type{Lane::i32, 1, false};  // of one value that is taken apart

Value bits(i64 v) {
  return integer(static_cast<i64>(static_cast<std::uint32_t>(v)), twin_type);
}

}  // namespace

Value twin_constant(i64 v) {
  return bits(v * 65537);
}

i64 twin_bias(bool negative) {
  return negative ? 32768 : 0;
}

Value twin_sum(Builder& builder, const Value& v, i64 to_both) {
  return to_both == 0 ? v : builder.let("t", v + twin_constant(to_both));
}

Value mixed_bytes(Builder& builder, const Value& a, const Value& b, const std::array<i64, 4>& which) {
  const i64 selector = which[0] | which[1] << 4 | which[2] << 8 | which[3] << 12;
  return builder.let("b", ir::nest::call("tsr_bytes", twin_type, {a, b, bits(selector)}));
}

Value put_together(Builder& builder, const Value& low, const Value& high) {
  const Value scaled = builder.let("h", convert(twin_type, high) * 65536);
  return builder.let("t", scaled + convert(twin_type, low));
}

std::array<Value, 2> take_apart(Builder& builder, const Value& v, bool negative) {
  if (!negative) {
    const Value low = builder.let("l", v & 65535);
    const Value high = builder.let("h", v >> 16);
    return {builder.let("l", convert(half_type, low)), builder.let("h", convert(half_type, high))};
  }
  const Value low = builder.let("l", convert({Lane::i16, 1, false}, v));
  const Value borrowed = builder.let("h", v + 32768);
  const Value high = builder.let("h", convert(half_type, borrowed)) >> 16;
  return {builder.let("l", convert(half_type, low)), builder.let("h", high)};
}

Value TwinEmitter::named(const Value& v) {
  return builder_.let("t", v);
}

Value TwinEmitter::value(ExprId root) {
  const auto found = known_.find(root.id);
  if (found != known_.end()) return found->second;
  for (const ExprId e : ir::postorder(graph_, {root})) {
    const ExprNode& n = graph_.node(e);
    if (n.op != Op::constant && !known_.contains(e.id)) known_[e.id] = node(n);
  }
  return graph_.node(root).op == Op::constant ? twin_constant(graph_.node(root).ivalue) : known_.at(root.id);
}

Value TwinEmitter::operand(const ExprNode& n, std::size_t k) {
  const ExprNode& a = graph_.node(n.args[k]);
  return a.op == Op::constant ? twin_constant(a.ivalue) : known_.at(n.args[k].id);
}

TwinEmitter::Bytes TwinEmitter::bytes(ExprId e) {
  for (;;) {  // a byte is what is left of more
    const ExprNode& n = graph_.node(e);
    if (n.op != Op::convert || graph_.node(n.args[0]).op == Op::constant || ranges_.of(n.args[0]).lo < 0) break;
    e = n.args[0];
  }
  const ExprNode& n = graph_.node(e);
  if (n.op == Op::shr || n.op == Op::div) {
    const i64 k = *plan::shifted_right(graph_, ranges_, n);
    const Range r = ranges_.of(n.args[0]);
    if (k <= 8 && r.lo >= 0) {
      const Value v = value(n.args[0]);
      if (k == 8) return {v, 1};
      if (r.hi * static_cast<double>(i64{1} << (8 - k)) > 65535) return {named(v >> k), 0};
      return {named(v * (i64{1} << (8 - k))), 1};
    }
  }
  return {value(e), 0};
}

Value TwinEmitter::extreme(bool most, const Value& a, const Value& b, Range range) {
  const i64 bias = twin_bias(range.lo < 0);
  const Value v = ir::nest::call(most ? "tsr_most_u16x2" : "tsr_least_u16x2", twin_type,
                                 {twin_sum(builder_, a, bias), twin_sum(builder_, b, bias)});
  return twin_sum(builder_, builder_.let("t", v), -bias);
}

Value TwinEmitter::shifted(const ExprNode& n) {
  const i64 k = *plan::shifted_right(graph_, ranges_, n);
  if (k == 0) return operand(n, 0);
  const i64 bias = twin_bias(ranges_.of(n.args[0]).lo < 0);
  const Value v = named(twin_sum(builder_, operand(n, 0), bias) >> k);
  return twin_sum(builder_, named(v & twin_constant(65535 >> k)), -(bias >> k));
}

Value TwinEmitter::node(const ExprNode& n) {
  const auto range = [&](std::size_t k) { return ranges_.of(n.args[k]); };
  const auto number = [&](std::size_t k) { return graph_.node(n.args[k]).ivalue; };
  const Range full = analyze::full_range(n.type);
  switch (n.op) {
    case Op::access:
      return builder_.let("t", load_(n));
    case Op::add:
    case Op::sub:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return named(operation(n.op, twin_type, {operand(n, 0), operand(n, 1)}));
    case Op::neg:
      return named(bits(0) - operand(n, 0));
    case Op::mul: {
      const std::size_t k = graph_.node(n.args[0]).op == Op::constant ? 0 : 1;
      return named(operand(n, 1 - k) * bits(number(k)));
    }
    case Op::shl:
      return named(operand(n, 0) << bits(number(1)));
    case Op::shr:
    case Op::div:
      return shifted(n);
    case Op::min:
    case Op::max:
      return extreme(n.op == Op::max, operand(n, 0), operand(n, 1),
                     {std::min(range(0).lo, range(1).lo), std::max(range(0).hi, range(1).hi)});
    case Op::abs:
      if (range(0).lo >= 0) return operand(n, 0);
      return extreme(true, operand(n, 0), named(bits(0) - operand(n, 0)), range(0));
    case Op::saturate: {
      Value v = operand(n, 0);
      const auto bound = [&](bool most, double by) {
        v = extreme(most, v, twin_constant(static_cast<i64>(by)), range(0));
      };
      if (range(0).lo < full.lo) bound(true, full.lo);
      if (range(0).hi > full.hi) bound(false, full.hi);
      return v;
    }
    case Op::convert: {
      if (analyze::contains(full, range(0))) return operand(n, 0);
      const Value v = twin_sum(builder_, operand(n, 0), twin_bias(range(0).lo < 0));
      return named(v & twin_constant(255));
    }
    default:
      throw Error(ErrorClass::internal, "an operation of twins that are apart");
  }
}

}  // namespace tessera::lower
