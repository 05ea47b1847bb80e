// Building loop-nest values: thin constructors that fold scalar integers, so that control code reads well.
#include "ir/nest/nest.hpp"

#include <algorithm>

#include "base/process/deadline.hpp"

namespace tessera::ir::nest {

int size_of(Lane lane) {
  switch (lane) {
    case Lane::i8:
    case Lane::u8:
      return 1;
    case Lane::i16:
    case Lane::u16:
    case Lane::f16:
      return 2;
    case Lane::i32:
    case Lane::u32:
    case Lane::f32:
      return 4;
    case Lane::i64:
    case Lane::f64:
      return 8;
  }
  return 0;
}

bool is_float(Lane lane) {
  return lane == Lane::f16 || lane == Lane::f32 || lane == Lane::f64;
}

bool is_signed(Lane lane) {
  return lane == Lane::i8 || lane == Lane::i16 || lane == Lane::i32 || lane == Lane::i64;
}

std::string_view name_of(Lane lane) {
  constexpr std::string_view names[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "f16", "f32", "f64"};
  return names[static_cast<std::size_t>(lane)];
}

std::optional<Type> shared_memory(std::string_view name) {
  constexpr std::string_view prefix = "tsr_shared_";
  if (!name.starts_with(prefix)) return std::nullopt;
  for (int k = 0; k <= static_cast<int>(Lane::f64); ++k)
    if (name_of(static_cast<Lane>(k)) == name.substr(prefix.size())) return Type{static_cast<Lane>(k), 1, true};
  return std::nullopt;
}

Lane lane_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return Lane::u8;
    case ElementType::i16:
      return Lane::i16;
    case ElementType::u16:
      return Lane::u16;
    case ElementType::i32:
      return Lane::i32;
    case ElementType::u32:
      return Lane::u32;
    case ElementType::f16:
      return Lane::f16;
    case ElementType::f32:
      return Lane::f32;
    case ElementType::f64:
      return Lane::f64;
  }
  return Lane::f32;
}

Lane mask_lane(Lane lane) {
  switch (size_of(lane)) {
    case 1:
      return Lane::i8;
    case 2:
      return Lane::i16;
    case 4:
      return Lane::i32;
    default:
      return Lane::i64;
  }
}

namespace {
Node blank(Kind kind, Type type, std::vector<Value> args = {}) {
  Node node;
  node.kind = kind;
  node.type = type;
  node.args = std::move(args);
  return node;
}
Value make(Node node) {
  base::count_towards_deadline();
  return std::make_shared<const Node>(std::move(node));
}
bool is_integer(const Value& v) {
  return v->kind == Kind::integer && v->type.lanes == 1;
}
bool is_integer(const Value& v, tessera::i64 i) {
  return is_integer(v) && v->i == i;
}
constexpr Type index_type{};
}  // namespace

Value variable(std::string name, Type type) {
  Node node = blank(Kind::variable, type);
  node.name = std::move(name);
  return make(std::move(node));
}

Value integer(tessera::i64 value, Type type) {
  Node node = blank(Kind::integer, type);
  node.i = value;
  return make(std::move(node));
}

Value real(double value, Type type) {
  Node node = blank(Kind::real, type);
  node.f = value;
  return make(std::move(node));
}

Value operation(Op op, Type type, std::vector<Value> args) {
  if (type == index_type && args.size() == 2 && is_integer(args[0]) && is_integer(args[1])) {
    tessera::i64 a = args[0]->i, b = args[1]->i;
    if (op == Op::add) return integer(a + b);
    if (op == Op::sub) return integer(a - b);
    if (op == Op::mul) return integer(a * b);
    if (op == Op::min) return integer(std::min(a, b));
    if (op == Op::max) return integer(std::max(a, b));
  }
  if (type == index_type && args.size() == 2) {
    if ((op == Op::add || op == Op::sub) && is_integer(args[1], 0)) return args[0];
    if (op == Op::add && is_integer(args[0], 0)) return args[1];
    if (op == Op::mul && is_integer(args[1], 1)) return args[0];
    if (op == Op::mul && is_integer(args[0], 1)) return args[1];
    if (op == Op::mul && (is_integer(args[0], 0) || is_integer(args[1], 0))) return integer(0);
  }
  Node node = blank(Kind::operation, type, std::move(args));
  node.op = op;
  return make(std::move(node));
}

Value convert(Type to, Value v) {
  if (v->type == to) return v;
  return make(blank(Kind::convert, to, {std::move(v)}));
}

Value broadcast(Value v, int lanes) {
  if (lanes == 1) return v;
  Type type = v->type;
  type.lanes = lanes;
  return make(blank(Kind::broadcast, type, {std::move(v)}));
}

Value load(Value pointer, Value index, int lanes, tessera::i64 stride, tessera::i64 phase) {
  Type type{pointer->type.lane, lanes, false};
  Node node = blank(Kind::load, type, {std::move(pointer), std::move(index)});
  node.i = stride;
  node.phase = phase;
  return make(std::move(node));
}

Value address(Value pointer, Value index) {
  if (is_integer(index, 0)) return pointer;
  Type type = pointer->type;
  return make(blank(Kind::address, type, {std::move(pointer), std::move(index)}));
}

Value interleave(Value a, Value b, int half, int unit) {
  Type type = a->type;
  Node node = blank(Kind::interleave, type, {std::move(a), std::move(b)});
  node.i = half;
  node.phase = unit;
  return make(std::move(node));
}

int interleaved_lane(const Node& n, int lane) {
  const int lanes = n.type.lanes, unit = std::max(1, static_cast<int>(n.phase)), bytes = size_of(n.type.lane);
  const int group = n.phase > 0 && unit * bytes < 16 ? std::min(16 / bytes, lanes) : lanes;
  const int turn = lane % group / unit, first = static_cast<int>(n.i) * (group / unit / 2);
  return lane / group * group + (turn / 2 + first) * unit + lane % unit + (turn % 2) * lanes;
}

Value fused(Value a, Value b, Value c) {
  const Type type = a->type;
  return make(blank(Kind::fused, type, {std::move(a), std::move(b), std::move(c)}));
}

Value call(std::string name, Type type, std::vector<Value> args) {
  Node node = blank(Kind::call, type, std::move(args));
  node.name = std::move(name);
  return make(std::move(node));
}

namespace {
Value binary(Op op, const Value& a, const Value& b) {
  return operation(op, a->type, {a, b});
}
Value everywhere(tessera::i64 n, const Type& type) {
  return broadcast(integer(n, {type.lane, 1, false}), type.lanes);
}
Value compared(Op op, const Value& a, const Value& b) {
  return operation(op, flag_of(a->type), {a, b});
}
}  // namespace

Value operator+(const Value& a, const Value& b) {
  return binary(Op::add, a, b);
}
Value operator-(const Value& a, const Value& b) {
  return binary(Op::sub, a, b);
}
Value operator*(const Value& a, const Value& b) {
  return binary(Op::mul, a, b);
}
Value operator/(const Value& a, const Value& b) {
  return binary(Op::div, a, b);
}
Value operator%(const Value& a, const Value& b) {
  return binary(Op::rem, a, b);
}
Value operator&(const Value& a, const Value& b) {
  return binary(Op::bit_and, a, b);
}
Value operator|(const Value& a, const Value& b) {
  return binary(Op::bit_or, a, b);
}
Value operator^(const Value& a, const Value& b) {
  return binary(Op::bit_xor, a, b);
}
Value operator<<(const Value& a, const Value& b) {
  return binary(Op::shl, a, b);
}
Value operator>>(const Value& a, const Value& b) {
  return binary(Op::shr, a, b);
}
Value operator+(const Value& a, tessera::i64 b) {
  return a + everywhere(b, a->type);
}
Value operator-(const Value& a, tessera::i64 b) {
  return a - everywhere(b, a->type);
}
Value operator*(const Value& a, tessera::i64 b) {
  return a * everywhere(b, a->type);
}
Value operator/(const Value& a, tessera::i64 b) {
  return a / everywhere(b, a->type);
}
Value operator%(const Value& a, tessera::i64 b) {
  return a % everywhere(b, a->type);
}
Value operator&(const Value& a, tessera::i64 b) {
  return a & everywhere(b, a->type);
}
Value operator^(const Value& a, tessera::i64 b) {
  return a ^ everywhere(b, a->type);
}
Value operator<<(const Value& a, tessera::i64 b) {
  return a << everywhere(b, a->type);
}
Value operator>>(const Value& a, tessera::i64 b) {
  return a >> everywhere(b, a->type);
}
Value operator-(const Value& a) {
  return operation(Op::neg, a->type, {a});
}
Value operator~(const Value& a) {
  return operation(Op::bit_not, a->type, {a});
}
Value min(const Value& a, const Value& b) {
  return binary(Op::min, a, b);
}
Value max(const Value& a, const Value& b) {
  return binary(Op::max, a, b);
}
Value min(const Value& a, tessera::i64 b) {
  return min(a, everywhere(b, a->type));
}
Value max(const Value& a, tessera::i64 b) {
  return max(a, everywhere(b, a->type));
}
Value least(const Value& a, const Value& b) {
  return binary(Op::least, a, b);
}
Value most(const Value& a, const Value& b) {
  return binary(Op::most, a, b);
}
Value abs(const Value& a) {
  return operation(Op::abs, a->type, {a});
}

Type flag_of(const Type& operands) {
  return {operands.lanes > 1 ? mask_lane(operands.lane) : Lane::i32, operands.lanes, false};
}
Value less(const Value& a, const Value& b) {
  return compared(Op::lt, a, b);
}
Value at_most(const Value& a, const Value& b) {
  return compared(Op::le, a, b);
}
Value equal(const Value& a, const Value& b) {
  return compared(Op::eq, a, b);
}
Value differs(const Value& a, const Value& b) {
  return compared(Op::ne, a, b);
}
Value less(const Value& a, tessera::i64 b) {
  return less(a, everywhere(b, a->type));
}
Value at_most(const Value& a, tessera::i64 b) {
  return at_most(a, everywhere(b, a->type));
}
Value equal(const Value& a, tessera::i64 b) {
  return equal(a, everywhere(b, a->type));
}
Value differs(const Value& a, tessera::i64 b) {
  return differs(a, everywhere(b, a->type));
}
Value choose(const Value& flag, const Value& then, const Value& otherwise) {
  return operation(Op::select, then->type, {flag, then, otherwise});
}

}  // namespace tessera::ir::nest
