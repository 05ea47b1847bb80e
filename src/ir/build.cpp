// Typed building: promotion, conversion and exact folding, in one place for the language and for C++ callers.
//
// Everything goes through fold(), which evaluates constant operands exactly as the interpreter would and drops the
// operations that change no bit. Float identities are used only where they hold for NaN, infinities and -0.0 too.
#include "ir/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/variables.hpp"

namespace tessera::ir {
namespace {

bool is_integer(ElementType t) {
  return !is_float(t) && t != ElementType::boolean;
}

// Bits of magnitude and whether there is a sign, for the types that are sets of integers.
struct IntegerRange {
  int bits;
  bool sign;
};
IntegerRange integer_range(ElementType t) {
  switch (t) {
    case ElementType::boolean:
      return {1, false};
    case ElementType::u8:
      return {8, false};
    case ElementType::i16:
      return {15, true};
    case ElementType::u16:
      return {16, false};
    case ElementType::i32:
      return {31, true};
    default:
      return {32, false};
  }
}
int mantissa_bits(ElementType t) {
  return t == ElementType::f16 ? 11 : t == ElementType::f32 ? 24 : 53;
}

[[noreturn]] void refuse(Op op, std::string_view wanted, ElementType given) {
  throw Error(ErrorClass::compile,
              fmt::format("'{}' takes {}, but the operand is {}", name_of(op), wanted, tessera::name_of(given)));
}

ExprId leaf(Graph& g, Op op, ElementType type, i64 ivalue) {
  ExprNode n;
  n.op = op;
  n.type = type;
  n.ivalue = ivalue;
  return g.expr(std::move(n));
}

ExprId node(Graph& g, Op op, ElementType type, std::vector<ExprId> args) {
  ExprNode n;
  n.op = op;
  n.type = type;
  n.args = std::move(args);
  return fold(g, std::move(n));
}

ExprId as_index(Graph& g, ExprId e) {
  return convert(g, ElementType::i32, e);
}

// convert(to, convert(middle, x)) is convert(to, x) when the inner one keeps the value and the outer one then goes by
// the same rule: integer to integer wraps, but float to integer saturates.
bool may_skip(ElementType from, ElementType middle, ElementType to) {
  if (!embeds(from, middle)) return false;
  return to == from || is_float(to) || to == ElementType::boolean || is_float(from) == is_float(middle);
}

std::optional<ExprId> identity(Graph& g, const ExprNode& n) {
  if (n.args.size() != 2) return std::nullopt;
  const ExprId a = n.args[0], b = n.args[1];
  const auto x = constant_value(g, a), y = constant_value(g, b);
  if (is_float(n.type)) {
    const bool plus_zero = y && *y == 0 && !std::signbit(*y);
    if (n.op == Op::mul && y && *y == 1) return a;
    if (n.op == Op::mul && x && *x == 1) return b;
    if (n.op == Op::div && y && *y == 1) return a;
    if (n.op == Op::sub && plus_zero) return a;
    return std::nullopt;
  }
  switch (n.op) {
    case Op::add:
    case Op::bit_xor:
      if (x && *x == 0) return b;
      if (y && *y == 0) return a;
      return std::nullopt;
    case Op::bit_or:
      if (x && *x == 0) return b;
      if (y && *y == 0) return a;
      if (n.type == ElementType::boolean && ((x && *x == 1) || (y && *y == 1))) return constant(g, n.type, 1);
      return std::nullopt;
    case Op::sub:
    case Op::shl:
    case Op::shr:
      if (y && *y == 0) return a;
      return std::nullopt;
    case Op::mul:
      if (x && *x == 1) return b;
      if (y && *y == 1) return a;
      if ((x && *x == 0) || (y && *y == 0)) return constant(g, n.type, 0);
      return std::nullopt;
    case Op::div:
      if (y && *y == 1) return a;
      return std::nullopt;
    case Op::bit_and:
      if ((x && *x == 0) || (y && *y == 0)) return constant(g, n.type, 0);
      if (n.type == ElementType::boolean && x) return b;
      if (n.type == ElementType::boolean && y) return a;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// The element of a table at constant indices, each clamped.
ExprId fold_lookup(Graph& g, ExprNode n) {
  if (static_cast<std::size_t>(n.ivalue) >= g.tables.size()) return g.expr(std::move(n));
  const Table& t = g.tables[static_cast<std::size_t>(n.ivalue)];
  i64 at = 0;
  for (std::size_t d = 0; d < n.args.size() && d < t.extents.size(); ++d) {
    const auto v = constant_value(g, n.args[d]);
    if (!v) return g.expr(std::move(n));
    at = at * t.extents[d] + std::clamp<i64>(static_cast<i64>(*v), 0, t.extents[d] - 1);
  }
  if (n.args.size() != t.extents.size() || static_cast<std::size_t>(at) >= t.values.size()) return g.expr(std::move(n));
  return constant(g, n.type, t.values[static_cast<std::size_t>(at)]);
}

ElementType operation_type(Op op, ElementType t) {
  if ((is_function(op) || op == Op::least || op == Op::most) && !is_float(t)) return ElementType::f32;
  return t;
}

}  // namespace

bool embeds(ElementType from, ElementType to) {
  if (from == to) return true;
  if (to == ElementType::boolean) return false;
  if (is_float(from)) return is_float(to) && mantissa_bits(from) < mantissa_bits(to);
  const IntegerRange f = integer_range(from);
  if (is_float(to)) return f.bits <= mantissa_bits(to);
  const IntegerRange t = integer_range(to);
  return f.bits <= t.bits && (!f.sign || t.sign);
}

ElementType promote(ElementType a, ElementType b) {
  const auto either = [&](ElementType t) { return a == t || b == t; };
  if (either(ElementType::f64)) return ElementType::f64;
  if (either(ElementType::f32) || either(ElementType::f16)) return ElementType::f32;
  if (either(ElementType::u32)) return ElementType::u32;
  return ElementType::i32;
}

std::optional<double> constant_value(const Graph& g, ExprId e) {
  const ExprNode& n = g.node(e);
  if (n.op != Op::constant) return std::nullopt;
  return is_float(n.type) ? n.fvalue : static_cast<double>(n.ivalue);
}

ExprId constant(Graph& g, ElementType type, double value) {
  const double v = evaluate(Op::convert, type, ElementType::f64, &value);
  ExprNode n;
  n.type = type;
  if (is_float(type))
    n.fvalue = std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : v;
  else
    n.ivalue = static_cast<i64>(v);
  return g.expr(std::move(n));
}

ExprId var(Graph& g, std::uint32_t id) {
  g.reserve_vars(id + 1);
  return leaf(g, Op::var, ElementType::i32, id);
}
ExprId coord(Graph& g, std::size_t d) {
  return leaf(g, Op::coord, ElementType::i32, static_cast<i64>(d));
}
ExprId extent(Graph& g, std::size_t d) {
  return leaf(g, Op::extent, ElementType::i32, static_cast<i64>(d));
}
ExprId parameter(Graph& g, std::size_t i) {
  return leaf(g, Op::parameter, ElementType::i32, static_cast<i64>(i));
}

ExprId scalar(Graph& g, std::size_t argument) {
  if (argument >= g.arguments.size() || g.arguments[argument].is_array || g.arguments[argument].format.is_struct())
    throw Error(ErrorClass::compile, fmt::format("argument {} is not a scalar", argument));
  return leaf(g, Op::scalar, g.arguments[argument].format.scalar, static_cast<i64>(argument));
}

ExprId fold(Graph& g, ExprNode n) {
  if (n.op == Op::lookup) return fold_lookup(g, std::move(n));
  if (n.op < Op::convert || n.op > Op::select) return g.expr(std::move(n));
  const ElementType operand_type = g.node(n.args.back()).type;
  if (n.op == Op::convert || n.op == Op::saturate) {
    if (operand_type == n.type) return n.args[0];
    if (n.op == Op::saturate && embeds(operand_type, n.type)) return convert(g, n.type, n.args[0]);
    const ExprNode& inner = g.node(n.args[0]);
    if (n.op == Op::convert && inner.op == Op::convert) {
      const ExprId x = inner.args[0];
      if (may_skip(g.node(x).type, inner.type, n.type)) return convert(g, n.type, x);
    }
  }
  if (n.op == Op::select) {
    if (n.args[1] == n.args[2]) return n.args[1];
    if (const auto c = constant_value(g, n.args[0])) return n.args[*c != 0 ? 1 : 2];
  }
  double operands[3] = {};
  bool constants = true;
  for (std::size_t i = 0; i < n.args.size() && constants; ++i) {
    const auto v = constant_value(g, n.args[i]);
    constants = v.has_value();
    if (v) operands[i] = *v;
  }
  if (constants) return constant(g, n.type, evaluate(n.op, n.type, operand_type, operands));
  if (const auto same = identity(g, n)) return *same;
  return g.expr(std::move(n));
}

ExprId convert(Graph& g, ElementType to, ExprId e) {
  return g.node(e).type == to ? e : node(g, Op::convert, to, {e});
}

ExprId saturate(Graph& g, ElementType to, ExprId e) {
  // Rounded and clamped to 0 and 1: what a byte would be, but 0.
  if (to == ElementType::boolean) return truth(g, saturate(g, ElementType::u8, e));
  return is_integer(to) ? node(g, Op::saturate, to, {e}) : convert(g, to, e);
}

ExprId truth(Graph& g, ExprId e) {
  return convert(g, ElementType::boolean, e);
}

ExprId unary(Graph& g, Op op, ExprId e) {
  const ElementType given = g.node(e).type;
  if (arity_of(op) != 1 || op == Op::convert || op == Op::saturate || is_reduction(op))
    throw Error(ErrorClass::internal, fmt::format("'{}' is no operation of one operand", name_of(op)));
  if (op == Op::bit_not) {
    if (given == ElementType::boolean) return node(g, op, given, {e});
    if (is_float(given)) refuse(op, "integers", given);
  }
  if (!is_float(given) && op >= Op::floor && op <= Op::trunc) return e;
  const ElementType type = operation_type(op, promote(given, given));
  const ExprId operand = convert(g, type, e);
  if (op == Op::abs && type == ElementType::u32) return operand;
  return node(g, op, type, {operand});
}

ExprId binary(Graph& g, Op op, ExprId a, ExprId b) {
  if (arity_of(op) != 2)
    throw Error(ErrorClass::internal, fmt::format("'{}' is no operation of two operands", name_of(op)));
  const ElementType ta = g.node(a).type, tb = g.node(b).type;
  const bool booleans = ta == ElementType::boolean && tb == ElementType::boolean;
  const bool comparison = op == Op::lt || op == Op::le || op == Op::eq || op == Op::ne;
  const bool bits = op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor;
  const bool shift = op == Op::shl || op == Op::shr;
  if (bits || shift) {
    if (is_float(ta)) refuse(op, "integers", ta);
    if (is_float(tb)) refuse(op, "integers", tb);
  }
  ElementType type = operation_type(op, shift ? promote(ta, ta) : promote(ta, tb));
  if (booleans && (bits || op == Op::eq || op == Op::ne)) type = ElementType::boolean;
  if (op == Op::rem && is_float(type)) op = Op::fmod;
  const ExprId x = convert(g, type, a), y = convert(g, type, b);
  return node(g, op, comparison ? ElementType::boolean : type, {x, y});
}

ExprId select(Graph& g, ExprId condition, ExprId a, ExprId b) {
  const ElementType ta = g.node(a).type, tb = g.node(b).type;
  const bool booleans = ta == ElementType::boolean && tb == ElementType::boolean;
  const ElementType type = booleans ? ta : promote(ta, tb);
  const ExprId c = truth(g, condition), x = convert(g, type, a), y = convert(g, type, b);
  return node(g, Op::select, type, {c, x, y});
}

ExprId access(Graph& g, StageId stage, std::vector<Index> index, std::vector<Border> border) {
  if (stage >= g.stage_count()) throw Error(ErrorClass::internal, fmt::format("there is no stage {} to read", stage));
  const Stage& producer = g.stage(stage);
  const std::size_t rank = producer.domain.size();
  if (index.size() != rank || border.size() != rank)
    throw Error(ErrorClass::compile, fmt::format("'{}' has {} dimensions, but is read with {} indices and {} borders",
                                                 producer.name, rank, index.size(), border.size()));
  for (Index& i : index) {
    std::sort(i.vars.begin(), i.vars.end());
    std::vector<std::pair<std::uint32_t, i64>> merged;
    for (const auto& [v, c] : i.vars) {
      if (!merged.empty() && merged.back().first == v)
        merged.back().second += c;
      else
        merged.emplace_back(v, c);
    }
    std::erase_if(merged, [](const auto& term) { return term.second == 0; });
    i.vars = std::move(merged);
    const auto check = [&](std::string_view what, i64 v) {
      if (v < -max_offset || v > max_offset)
        throw Error(ErrorClass::compile,
                    fmt::format("the {} {} of an access to '{}' is out of range", what, v, producer.name),
                    {fmt::format("offsets and scales go from {} to {}", -max_offset, max_offset)});
    };
    check("offset", i.offset);
    check("scale", i.scale);
    for (const auto& term : i.vars) check("coefficient", term.second);
  }
  for (Border& b : border)
    if (b.mode != BorderMode::constant) b.value = 0;
  ExprNode n;
  n.op = Op::access;
  n.type = producer.type;
  n.stage = stage;
  n.index = std::move(index);
  n.border = std::move(border);
  return g.expr(std::move(n));
}

ExprId gather(Graph& g, StageId stage, std::vector<ExprId> indices) {
  if (stage >= g.stage_count()) throw Error(ErrorClass::internal, fmt::format("there is no stage {} to read", stage));
  const Stage& producer = g.stage(stage);
  if (indices.size() != producer.domain.size())
    throw Error(ErrorClass::compile, fmt::format("'{}' has {} dimensions, but {} indices are given", producer.name,
                                                 producer.domain.size(), indices.size()));
  ExprNode n;
  n.op = Op::gather;
  n.type = producer.type;
  n.stage = stage;
  for (ExprId e : indices) n.args.push_back(as_index(g, e));
  return g.expr(std::move(n));
}

ExprId lookup(Graph& g, std::size_t table, std::vector<ExprId> indices) {
  if (table >= g.tables.size()) throw Error(ErrorClass::internal, fmt::format("there is no table {}", table));
  const Table& t = g.tables[table];
  if (indices.size() != t.extents.size())
    throw Error(ErrorClass::compile, fmt::format("table '{}' has {} dimensions, but {} indices are given", t.name,
                                                 t.extents.size(), indices.size()));
  ExprNode n;
  n.op = Op::lookup;
  n.type = t.type;
  n.ivalue = static_cast<i64>(table);
  for (ExprId e : indices) n.args.push_back(as_index(g, e));
  return fold(g, std::move(n));
}

Var variable_over(Graph& g, SizeId extent) {
  const std::optional<i64> n = g.constant(extent);
  if (n) return {g.new_var(), 0, *n - 1, {}};
  return {g.new_var(), 0, max_window - 1, extent};
}

namespace {

// A reduction without its operands, its ranges looked at.
ExprNode reduction(Op op, std::vector<Var> vars) {
  if (!is_reduction(op)) throw Error(ErrorClass::internal, fmt::format("'{}' is no reduction", name_of(op)));
  if (vars.empty()) throw Error(ErrorClass::compile, fmt::format("'{}' has no range to run over", name_of(op)));
  i64 count = 1;
  for (const Var& v : vars) {
    if (std::min(v.lo, v.hi) < -max_offset || std::max(v.lo, v.hi) > max_offset)
      throw Error(ErrorClass::compile, fmt::format("the range {}..{} of '{}' leaves {}..{}", v.lo, v.hi, name_of(op),
                                                   -max_offset, max_offset));
    i64 extent = 0;
    if (v.end != SizeId{}) continue;
    if (v.lo > v.hi)
      throw Error(ErrorClass::compile, fmt::format("'{}' runs over the empty range {}..{}", name_of(op), v.lo, v.hi));
    if (__builtin_sub_overflow(v.hi, v.lo, &extent) || extent >= max_window || (count *= extent + 1) > max_window)
      throw Error(ErrorClass::compile, fmt::format("'{}' runs over more than {} points", name_of(op), max_window));
  }
  ExprNode n;
  n.op = op;
  n.vars = std::move(vars);
  return n;
}

ExprId promoted(Graph& g, ExprId e) {
  const ElementType given = g.node(e).type;
  return convert(g, promote(given, given), e);
}

}  // namespace

ExprId reduce(Graph& g, Op op, std::vector<Var> vars, ExprId body) {
  ExprNode n = reduction(op, std::move(vars));
  if (arity_of(op) != 1)
    throw Error(ErrorClass::internal, fmt::format("'{}' has more operands than a body", name_of(op)));
  const bool logical = op == Op::reduce_any || op == Op::reduce_all;
  n.args = {logical ? truth(g, body) : promoted(g, body)};
  n.type = g.node(n.args[0]).type;
  return g.expr(std::move(n));
}

ExprId reduce_rank(Graph& g, std::vector<Var> vars, ExprId body, ExprId rank) {
  ExprNode n = reduction(Op::reduce_rank, std::move(vars));
  n.args = {promoted(g, body), as_index(g, rank)};
  n.type = g.node(n.args[0]).type;
  return g.expr(std::move(n));
}

ExprId reduce_pick(Graph& g, std::vector<Var> vars, ExprId key, ExprId taken, ExprId value) {
  ExprNode n = reduction(Op::reduce_pick, std::move(vars));
  n.args = {promoted(g, key), truth(g, taken), promoted(g, value)};
  n.type = g.node(n.args[2]).type;
  return g.expr(std::move(n));
}

ExprId substitute(Graph& g, ExprId root, const std::vector<std::pair<std::uint32_t, i64>>& values) {
  const auto value_of = [&](std::uint32_t v) -> std::optional<i64> {
    for (const auto& [id, value] : values)
      if (id == v) return value;
    return std::nullopt;
  };
  return rewrite(g, root, [&](ExprId, const ExprNode& given) -> ExprId {
    ExprNode n = given;
    if (n.op == Op::var) {
      if (const auto v = value_of(static_cast<std::uint32_t>(n.ivalue)))
        return constant(g, ElementType::i32, static_cast<double>(*v));
    }
    for (Index& i : n.index) {
      for (const auto& [v, c] : i.vars)
        if (const auto value = value_of(v)) i.offset += c * *value;
      std::erase_if(i.vars, [&](const auto& term) { return value_of(term.first).has_value(); });
    }
    return fold(g, std::move(n));
  });
}

Op step_of(Op reduction) {
  switch (reduction) {
    case Op::reduce_sum:
      return Op::add;
    case Op::reduce_prod:
      return Op::mul;
    case Op::reduce_min:
      return Op::min;
    case Op::reduce_max:
      return Op::max;
    case Op::reduce_any:
      return Op::bit_or;
    case Op::reduce_all:
      return Op::bit_and;
    default:
      throw Error(ErrorClass::internal, fmt::format("'{}' repeats no operation of two operands", name_of(reduction)));
  }
}

std::optional<ExprId> unroll(Graph& g, ExprId reduction, i64 limit) {
  const ExprNode n = g.node(reduction);
  if (!is_reduction(n.op) || n.op == Op::reduce_median || arity_of(n.op) != 1 || runs_over_extents(n))
    return std::nullopt;
  const Op step = step_of(n.op);
  i64 count = 1;
  for (const Var& v : n.vars) {
    count *= v.hi - v.lo + 1;
    if (count > limit) return std::nullopt;
  }
  VariableValues at = first_values(n.vars);
  ExprId result;
  do {
    const ExprId term = substitute(g, n.args[0], at);
    result = result.valid() ? node(g, step, n.type, {result, term}) : term;
  } while (next_values(at, n.vars));
  return result;
}

}  // namespace tessera::ir
