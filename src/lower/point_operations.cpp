// What each operation of a point is on narrow lanes; see point.hpp.
#include <algorithm>
#include <cmath>

#include "ir/build.hpp"
#include "lower/point.hpp"
#include "plan/passes/lanes.hpp"

namespace tessera::lower {

using analyze::Range;
using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

namespace {

// What a lane of that type may hold, read as an index.
Range any_bits(Lane lane) {
  switch (lane) {
    case Lane::u8:
      return {0, 255};
    case Lane::u16:
      return {0, 65535};
    default:
      return {-2147483648.0, 2147483647.0};
  }
}

}  // namespace

bool PointEmitter::free(ExprId e) const {
  return graph_.node(e).op == Op::constant;
}

Lane PointEmitter::widened(Lane lane) const {
  return is_float(lane) || size_of(lane) >= source_.least_bytes ? lane : Lane::i32;
}

Lane PointEmitter::lane_of(ExprId e) {
  return widened(plan::lane_of(graph_, ranges_, e));
}

Lane PointEmitter::working_lane(ExprId e) {
  return widened(plan::working_lane(graph_, ranges_, low_, e));
}

Value PointEmitter::number(double v, Lane lane) {
  Type type{lane, 1, false};
  if (is_float(lane)) return broadcast(ir::nest::real(v, type), source_.lanes);
  i64 i = static_cast<i64>(v);
  int bits = 8 * size_of(lane);
  if (bits < 64) {  // wrap into the lane
    std::uint64_t low = static_cast<std::uint64_t>(i) & ((std::uint64_t{1} << bits) - 1);
    i = static_cast<i64>(low);
    if (is_signed(lane) && (low >> (bits - 1)) != 0) i -= i64{1} << bits;
  }
  return broadcast(ir::nest::integer(i, type), source_.lanes);
}

Value PointEmitter::op(Op o, Lane lane, std::vector<Value> args) {
  return builder_.let("v", ir::nest::operation(o, {lane, source_.lanes, false}, std::move(args)));
}

Value PointEmitter::named(const Value& v) {
  return builder_.let("v", v);
}

// A mask, of a scalar too: an integer as wide as what is compared.
Value PointEmitter::compared(Op o, const Value& a, const Value& b) {
  return op(o, ir::nest::mask_lane(a->type.lane), {a, b});
}

Value PointEmitter::as(Value v, Lane lane) {
  if (v->type.lane == lane) return v;
  return builder_.let("v", convert({lane, source_.lanes, false}, std::move(v)));
}

Value PointEmitter::mask(Value v, Lane lane) {
  return as(std::move(v), ir::nest::mask_lane(lane));
}

Value PointEmitter::constant(ExprId e) {
  const ExprNode& node = graph_.node(e);
  if (node.type == ElementType::boolean) return number(node.ivalue != 0 ? -1 : 0, Lane::i8);
  if (is_float(node.type)) return number(node.fvalue, ir::nest::lane_of(node.type));
  return number(static_cast<double>(node.ivalue), lane_of(e));
}

Value PointEmitter::operand(ExprId e, const Values& known, Lane lane) {
  const ExprNode& node = graph_.node(e);
  if (node.op == Op::constant && node.type != ElementType::boolean && !is_float(node.type))
    return number(static_cast<double>(node.ivalue), lane);
  if (node.op == Op::constant) return as(constant(e), lane);
  return as(known.at(e.id), lane);
}

Value PointEmitter::value(ExprId e, const Values& known) {
  return free(e) ? constant(e) : known.at(e.id);
}

Value PointEmitter::compare(ExprId e, const Values& known) {
  const ExprNode& node = graph_.node(e);
  ElementType type = graph_.node(node.args[0]).type;
  Lane lane = Lane::i32;
  if (type == ElementType::boolean) {
    Value a = value(node.args[0], known);
    lane = a->type.lane;
    Value different = named(a ^ operand(node.args[1], known, lane));
    return node.op == Op::ne ? different : named(~different);
  }
  if (is_float(type)) {
    lane = ir::nest::lane_of(type);
  } else {
    Range a = ranges_.of(node.args[0]), b = ranges_.of(node.args[1]);
    lane = widened(plan::narrowest({std::min(a.lo, b.lo), std::max(a.hi, b.hi)}));
  }
  return op(node.op, ir::nest::mask_lane(lane),
            {operand(node.args[0], known, lane), operand(node.args[1], known, lane)});
}

Value PointEmitter::to_integer(const ExprNode& node, Value v, Lane lane) {
  // Float to integer. Numbers outside the 32-bit type stop at its ends, NaN gives 0; narrower types take the low bits.
  Lane from = v->type.lane;
  if (from == Lane::f16) v = as(v, from = Lane::f32);
  bool is_unsigned = node.type == ElementType::u32;
  Lane wide = is_unsigned ? Lane::u32 : Lane::i32;
  double lo = is_unsigned ? 0 : -2147483648.0, hi = is_unsigned ? 4294967295.0 : 2147483647.0;
  if (node.op == Op::saturate) {
    Range full = analyze::full_range(node.type);
    lo = full.lo, hi = full.hi;
    // Round half to even: adding and taking away 2^23 (2^52) leaves no room for a fraction.
    double big = from == Lane::f64 ? 4503599627370496.0 : 8388608.0;
    bool small = hi < 65536;
    if (small) {
      if (lo < 0) {  // max(NaN, lo) is lo, but NaN has to become 0
        Value is_number = compared(Op::eq, v, v);
        v = named(choose(is_number, v, number(0, from)));
      }
      v = named(min(named(max(v, number(lo, from))), number(hi, from)));
      const Value middle = number(1.5 * big, from);
      v = named(named(v + middle) - middle);
      return as(as(v, Lane::i32), lane);
    }
    Value zero = number(0, from), bound = number(big, from);
    Value positive = named(named(v + bound) - bound);
    Value negative = named(named(v - bound) + bound);
    Value rounded = named(choose(compared(Op::lt, v, zero), negative, positive));
    v = named(choose(compared(Op::lt, named(abs(v)), bound), rounded, v));
  }
  // The largest value of the float type that converts without overflow.
  double top = from == Lane::f64 ? hi : (is_unsigned ? 4294967040.0 : 2147483520.0);
  Value inside = named(min(named(max(v, number(lo, from))), number(top, from)));
  Value i = as(inside, wide);
  Value over = mask(compared(Op::le, number(hi + (from == Lane::f64 ? 0 : 1), from), v), wide);
  i = named(choose(over, number(hi, wide), i));
  Value nan = mask(compared(Op::ne, v, v), wide);
  i = named(choose(nan, number(0, wide), i));
  const Lane own = ir::nest::lane_of(node.type);
  return as(size_of(own) < size_of(lane) ? as(i, own) : i, lane);
}

Value PointEmitter::integer_division(const ExprNode& node, Value a, Value b, Lane lane) {
  bool remainder = node.op == Op::rem;
  auto divisor = ir::constant_value(graph_, node.args[1]);
  if (divisor && *divisor == 0) return number(0, lane);
  if (divisor && *divisor == -1) return remainder ? number(0, lane) : named(-a);
  if (divisor) return op(node.op, lane, {a, b});
  Value zero = compared(Op::eq, b, number(0, lane));
  Value special = zero;
  Value minus;
  if (is_signed(lane)) {  // the machine traps on the most negative number over -1
    minus = compared(Op::eq, b, number(-1, lane));
    special = named(zero | minus);
  }
  Value safe = named(choose(special, number(1, lane), b));
  Value q = op(node.op, lane, {a, safe});
  if (minus) q = named(choose(minus, remainder ? number(0, lane) : named(-a), q));
  return named(choose(zero, number(0, lane), q));
}

std::optional<Value> PointEmitter::uniform(ExprId e, const Vars& vars) {
  const ExprNode& n = graph_.node(e);
  if (n.op == Op::var) return vars.at(static_cast<std::uint32_t>(n.ivalue));
  if (n.op == Op::constant && !is_float(n.type)) return ir::nest::integer(n.ivalue);
  if (n.op == Op::coord && source_.coordinate) return source_.coordinate(static_cast<std::size_t>(n.ivalue));
  if (n.type != ElementType::i32 || (n.op != Op::add && n.op != Op::sub && n.op != Op::mul)) return {};
  const std::optional<Value> a = uniform(n.args[0], vars), b = uniform(n.args[1], vars);
  const Range r = ranges_.of(e), all = any_bits(Lane::i32);
  if (!a || !b || r.lo < all.lo || r.hi > all.hi) return {};
  return ir::nest::operation(n.op, {Lane::i64, 1, false}, {*a, *b});
}

Value PointEmitter::lookup(const ExprNode& n, const Values& known, const Vars& vars) {
  const ir::Table& table = graph_.tables[static_cast<std::size_t>(n.ivalue)];
  const Value pointer = source_.table(static_cast<std::size_t>(n.ivalue));
  const auto truth = [&](Value v) {
    if (n.type != ElementType::boolean) return v;
    return compared(Op::ne, v, number(0, v->type.lane));
  };
  // One number for all lanes, as weights of a looped sum are.
  Value place;
  for (std::size_t d = 0; d < n.args.size() && source_.lanes > 1; ++d) {
    const std::optional<Value> i = uniform(n.args[d], vars);
    const Range r = ranges_.of(n.args[d]);
    if (!i || r.lo < 0 || r.hi > static_cast<double>(table.extents[d] - 1)) {
      place = nullptr;
      break;
    }
    place = place ? place * table.extents[d] + *i : *i;
  }
  if (place) return truth(builder_.let("v", broadcast(load(pointer, place, 1), source_.lanes)));
  Value at;
  for (std::size_t d = 0; d < n.args.size(); ++d) {
    Value i = operand(n.args[d], known, Lane::i32);
    double last = static_cast<double>(table.extents[d] - 1);
    // Lanes that nobody keeps hold any bits, whatever the range of the values: only their type bounds them.
    Range r = free(n.args[d]) ? ranges_.of(n.args[d]) : any_bits(value(n.args[d], known)->type.lane);
    if (r.lo < 0) i = named(max(i, 0));
    if (r.hi > last) i = named(min(i, number(last, Lane::i32)));
    if (at) at = named(at * number(last + 1, Lane::i32));
    at = at ? named(at + i) : i;
  }
  auto gathered = std::make_shared<ir::nest::Node>();
  gathered->kind = Kind::gather;
  gathered->type = {pointer->type.lane, source_.lanes, false};
  gathered->args = {pointer, at};
  return truth(builder_.let("v", gathered));
}

Value PointEmitter::gather(const ExprNode& n, const Values& known, const Vars& vars) {
  if (source_.gather_one && source_.lanes > 1) {
    std::vector<Value> places;
    for (const ExprId a : n.args) {
      const std::optional<Value> i = uniform(a, vars);
      if (!i) break;
      places.push_back(*i);
    }
    if (places.size() == n.args.size())
      return builder_.let("v", broadcast(source_.gather_one(n, places), source_.lanes));
  }
  std::vector<Value> indices;
  for (ExprId a : n.args) indices.push_back(operand(a, known, Lane::i32));
  return builder_.let("v", source_.gather(n, indices));
}

Value PointEmitter::fused(const FusedSum& f, Lane lane, const Values& known) {
  const auto number_of = [&](ExprId e) { return ir::constant_value(graph_, e); };
  const auto is_number = [&](ExprId e) { return graph_.node(e).op == Op::constant; };
  Value a = operand(f.a, known, lane), b = operand(f.b, known, lane), c = operand(f.c, known, lane);
  if (f.divides) b = number(1 / *number_of(f.b), lane);
  if (f.minus_product && is_number(f.b))
    b = number(f.divides ? -1 / *number_of(f.b) : -*number_of(f.b), lane);
  else if (f.minus_product && is_number(f.a))
    a = number(-*number_of(f.a), lane);
  else if (f.minus_product)
    a = named(-a);
  if (f.minus_c) c = is_number(f.c) ? number(-*number_of(f.c), lane) : named(-c);
  return named(ir::nest::fused(a, b, c));
}

Value PointEmitter::node(ExprId e, const Values& known, const Vars& vars) {
  const ExprNode& n = graph_.node(e);
  bool boolean = n.type == ElementType::boolean;
  const Lane bytes = widened(Lane::u8);  // of booleans in memory
  switch (n.op) {
    case Op::constant:
      return constant(e);
    case Op::access: {
      Value v = builder_.let("v", source_.load(n, vars));
      if (!boolean) return as(v, widened(v->type.lane));
      return compared(Op::ne, as(v, bytes), number(0, bytes));
    }
    case Op::coord:
    case Op::extent:
    case Op::parameter:
    case Op::scalar:
    case Op::value:
    case Op::size: {
      Value v = builder_.let("v", source_.leaf(n));
      return boolean ? compared(Op::ne, v, number(0, v->type.lane)) : v;
    }
    case Op::var: {
      Value v = vars.at(static_cast<std::uint32_t>(n.ivalue));
      return builder_.let("v", broadcast(convert({Lane::i32, 1, false}, v), source_.lanes));
    }
    case Op::lanes_min:
    case Op::lanes_max:
    case Op::lanes_sum: {
      Value v = builder_.let("v", source_.lanes_of_piece(n));
      return as(v, widened(v->type.lane));
    }
    case Op::gather: {
      const Value v = gather(n, known, vars);
      return boolean ? compared(Op::ne, as(v, Lane::u8), number(0, Lane::u8)) : v;
    }
    case Op::partial: {
      const std::optional<Value> piece = uniform(n.args[0], vars);
      Value v = builder_.let("v", source_.partial(n, *piece, operand(n.args[1], known, Lane::i32)));
      return as(v, widened(v->type.lane));
    }
    case Op::lookup:
      return lookup(n, known, vars);
    case Op::convert: {
      ElementType from = graph_.node(n.args[0]).type;
      if (boolean) {
        if (from == ElementType::boolean) return value(n.args[0], known);
        Value v = value(n.args[0], known);
        return compared(Op::ne, v, number(0, v->type.lane));
      }
      Lane to = is_float(n.type) ? ir::nest::lane_of(n.type) : lane_of(e);
      if (from == ElementType::boolean) {
        Value m = mask(value(n.args[0], known), to);
        return as(named(m & 1), to);
      }
      if (is_float(n.type)) return operand(n.args[0], known, to);
      if (!is_float(from)) {
        const Lane own = ir::nest::lane_of(n.type);
        const Range full = analyze::full_range(n.type), r = ranges_.of(n.args[0]);
        const bool truncates = low_.contains(n.args[0]) || r.lo < full.lo || r.hi > full.hi;
        return as(operand(n.args[0], known, truncates && size_of(own) < size_of(to) ? own : to), to);
      }
      return to_integer(n, value(n.args[0], known), to);
    }
    case Op::saturate: {
      Lane to = lane_of(e);
      ElementType from = graph_.node(n.args[0]).type;
      if (is_float(from)) return to_integer(n, value(n.args[0], known), to);
      Lane lane = working_lane(e);
      Range full = analyze::full_range(n.type), r = ranges_.of(n.args[0]);
      Value v = operand(n.args[0], known, lane);
      if (r.lo < full.lo) v = named(max(v, number(full.lo, lane)));
      if (r.hi > full.hi) v = named(min(v, number(full.hi, lane)));
      return as(v, to);
    }
    case Op::lt:
    case Op::le:
    case Op::eq:
    case Op::ne:
      return compare(e, known);
    case Op::select: {
      if (boolean) {
        Value c = value(n.args[0], known);
        Lane lane = c->type.lane;
        Value a = operand(n.args[1], known, lane), b = operand(n.args[2], known, lane);
        return named(choose(c, a, b));
      }
      Lane lane = is_float(n.type) ? ir::nest::lane_of(n.type) : working_lane(e);
      Value c = mask(value(n.args[0], known), lane);
      const Value then = operand(n.args[1], known, lane), otherwise = operand(n.args[2], known, lane);
      return named(choose(c, then, otherwise));
    }
    default:
      break;
  }
  if (boolean) {
    Value a = value(n.args[0], known);
    std::vector<Value> args{a};
    if (n.args.size() > 1) args.push_back(operand(n.args[1], known, a->type.lane));
    return op(n.op, a->type.lane, std::move(args));
  }
  Lane lane = is_float(n.type) ? ir::nest::lane_of(n.type) : working_lane(e);
  if (n.op == Op::shl || n.op == Op::shr) {
    Range count = ranges_.of(n.args[1]);
    bool in_range = count.lo >= 0 && count.hi < 8 * size_of(lane);
    if (!in_range) lane = n.type == ElementType::u32 ? Lane::u32 : Lane::i32;
    Value by = operand(n.args[1], known, lane);
    if (count.lo < 0 || count.hi > 31) by = named(by & 31);
    return op(n.op, lane, {operand(n.args[0], known, lane), by});
  }
  if (source_.fuses)
    if (const std::optional<FusedSum> f = fused_of(graph_, e)) return fused(*f, lane, known);
  std::vector<Value> args;
  for (ExprId a : n.args) args.push_back(operand(a, known, lane));
  if (is_addend(e)) return ir::nest::operation(Op::mul, {lane, source_.lanes, false}, std::move(args));
  if (source_.own_quotients && n.op == Op::div)
    if (std::optional<Value> quotient = own_quotient(n, args[0])) return *quotient;
  if (!is_float(n.type) && (n.op == Op::div || n.op == Op::rem)) return integer_division(n, args[0], args[1], lane);
  if (!is_float(n.type) && n.op == Op::abs && !is_signed(lane)) return args[0];
  if (!is_float(n.type) && n.op == Op::abs) return named(max(args[0], named(-args[0])));
  return op(n.op, lane, std::move(args));
}

// By a number: the product with its inverse, and what that leaves. That is the nearest float, but where numbers are too
// small for one; of infinity and NaN the product is right.
std::optional<Value> PointEmitter::own_quotient(const ExprNode& n, const Value& dividend) {
  if (n.type != ElementType::f32) return std::nullopt;
  const std::optional<double> by = ir::constant_value(graph_, n.args[1]);
  const float divisor = by ? static_cast<float>(*by) : 0;
  if (!std::isnormal(divisor) || !std::isnormal(1 / divisor)) return std::nullopt;
  const Value inverse = number(1 / divisor, Lane::f32), x = named(dividend);
  const Value near = named(x * inverse);
  int exponent = 0;
  if (std::abs(std::frexp(divisor, &exponent)) == 0.5F) return near;  // nothing is left
  const Value rest = named(ir::nest::fused(-near, number(divisor, Lane::f32), x));
  const Value nearest = named(ir::nest::fused(rest, inverse, near));
  return named(choose(compared(Op::eq, nearest, nearest), nearest, near));
}

Value PointEmitter::stored(ExprId e, Value v, Lane lane) {
  if (graph_.node(e).type != ElementType::boolean) return as(std::move(v), lane);
  Value m = mask(std::move(v), lane);
  return as(named(m & 1), lane);
}

}  // namespace tessera::lower
