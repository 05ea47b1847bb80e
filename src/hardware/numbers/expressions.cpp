// What each operation makes of widths, fractions and errors: see expressions.hpp.
#include "hardware/numbers/expressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/grids.hpp"
#include "hardware/numbers/functions.hpp"
#include "ir/build.hpp"

namespace tessera::hardware {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;

namespace {

constexpr int most_bits = 60;  // of a value that stands for a float

Value with(Value v, int fraction, double error) {
  v.fraction = fraction;
  v.error = error;
  return v;
}

// The fewest bits of fraction in which c is exact, if they are not more than `most`.
std::optional<int> exact_bits(double c, int most) {
  for (int f = 0; f <= most; ++f)
    if (std::ldexp(c, f) == std::trunc(std::ldexp(c, f))) return f;
  return {};
}

}  // namespace

void Expressions::refuse(const std::string& what, const std::string& help) const {
  hardware::refuse(graph_.stage(stage_), what, help);
}

// An error that is infinite, or times 0 no number, would compare as if it were kept.
void Expressions::refuse_boundless() const {
  refuse("nothing bounds the error of a value in fixed point",
         "bound what goes into exponentials, powers and products with min and max");
}

bool Expressions::takes_floats(const ExprNode& node) const {
  return !node.args.empty() && is_float(graph_.node(node.args.back()).type);
}

// Of what an operation is made of: 64 bits stand for any number of them, whose upper ones would be lost.
void Expressions::refuse_wide(std::size_t from) const {
  for (std::size_t n = from; n < netlist_.size(); ++n)
    if (netlist_.node({static_cast<std::uint32_t>(n)}).bits.width > 63)
      refuse("a value on its way has more than 63 bits in fixed point",
             "bound it with min and max, or allow a larger --error");
}

void Expressions::decide(Op op, const Value& v, double error) {
  if (!std::isfinite(error)) refuse_boundless();
  if (error <= 0) return;
  decided = std::max(decided, error);
  // Of vectors, their length: functions.cpp bounds the errors of angles from there on.
  double& margin = margins[{stage_, now_}];
  margin = std::max({margin, error, op == Op::atan2 ? std::sqrt(2.0) / 256 * magnitude(v) : 0});
  decided_relative = std::max(decided_relative, error / std::max(magnitude(v), 1e-300));
  std::string what = "compares floats";
  if (op == Op::atan2) what = "takes angles of short vectors, and of those beside the negative axis";
  if (op == Op::fmod) what = "takes remainders of floats";
  if (op == Op::convert || op == Op::saturate || op == Op::floor || op == Op::ceil || op == Op::trunc ||
      op == Op::round)
    what = "makes floats whole";
  const std::string& name = graph_.stage(stage_).name;
  for (Decision& d : decisions)
    if (d.stage == name && d.what == what) {
      d.error = std::max(d.error, error);
      return;
    }
  decisions.push_back({name, what, error});
}

// What is known of a value, and of its node; where the language wraps, the former alone.
Value Expressions::checked(ExprId e, Value v) {
  const ExprNode& node = graph_.node(e);
  if (!std::isfinite(v.error)) refuse_boundless();
  if (!is_float(node.type)) {
    const analyze::Range r = ranges_.of(e);
    return v.lo < r.lo || v.hi > r.hi ? make_.wrapped(v, r.lo, r.hi) : v;
  }
  if (!exact_ && netlist_.node(v.node).bits.width > most_bits)
    refuse(fmt::format("a value has more than {} bits in fixed point", most_bits),
           "bound it with min and max, or allow a larger --error");
  return v;
}

Value Expressions::body(ir::StageId s, const std::function<Value(const ExprNode&)>& leaf) {
  const ir::StageId before = std::exchange(stage_, s);
  const Known outer = std::exchange(known_, {});  // of a stage whose window asked for this one
  for (const ExprId e : ir::postorder(graph_, {graph_.stage(s).body})) {
    const ExprNode& node = graph_.node(e);
    known_.sources[e] = source_of(e);
    if (asks_for_table(e))
      if (const auto v = tabulated(e)) {
        known_.values[e] = *v;
        known_.tabled[e] = true;
        continue;
      }
    std::vector<Value> args;
    std::optional<Error> wrong;
    for (const ExprId a : node.args) {
      if (const auto it = known_.broken.find(a); it != known_.broken.end()) wrong = it->second;
      args.push_back(known_.values[a]);
    }
    now_ = e;
    const std::size_t made = netlist_.size();
    try {
      if (wrong) throw Error(*wrong);
      known_.values[e] = checked(e, operation(node, args, leaf));
      if (!exact_ && takes_floats(node)) refuse_wide(made);
    } catch (const Error& error) {
      // What needs it may still be a table: log(x) where x is above 0.
      if (!is_narrow(e) || known_.sources[e] == e) throw;
      known_.broken.insert_or_assign(e, error);
    }
  }
  const ExprId body = graph_.stage(s).body;
  if (const auto it = known_.broken.find(body); it != known_.broken.end()) throw Error(it->second);
  Value result = known_.values.at(body);
  if (is_float(graph_.stage(s).type) && !exact_) result = rounded(result, fraction_);
  stage_ = before;
  known_ = outer;
  return result;
}

Value Expressions::rounded(Value v, int fraction) {
  return hardware::rounded(make_, v, fraction);
}

Value Expressions::constant(double c, int most_fraction) {
  if (!std::isfinite(c)) refuse("it computes with a number that is not finite");
  const int f = exact_bits(c, most_fraction).value_or(most_fraction);
  const double raw = std::round(std::ldexp(c, f));
  if (std::abs(raw) > std::exp2(most_bits)) refuse(fmt::format("the number {} is too large for fixed point", c));
  return with(make_.constant(raw), f, std::abs(c - std::ldexp(raw, -f)));
}

Value Expressions::border(double v, ElementType type) {
  if (is_float(type) && exact_) return float_constant(v, type);
  if (is_float(type)) return constant(v, fraction_ + 6);
  return make_.constant(ir::evaluate(Op::convert, type, ElementType::f64, &v));
}

Value Expressions::operation(const ExprNode& node, const std::vector<Value>& a,
                             const std::function<Value(const ExprNode&)>& leaf) {
  switch (node.op) {
    case Op::access:
    case Op::coord:
    case Op::extent:
    case Op::scalar:
      return leaf(node);
    case Op::constant:
      if (is_float(node.type) && exact_) return float_constant(node.fvalue, node.type);
      return is_float(node.type) ? constant(node.fvalue, fraction_ + 6)
                                 : make_.constant(static_cast<double>(node.ivalue));
    case Op::lookup:
      return lookup(node, a);
    default:
      break;
  }
  if (exact_ && (is_float(node.type) || takes_floats(node)) && node.op != Op::select) return float_operation(node, a);
  if (is_float(node.type)) return real(node, a);
  if (!takes_floats(node) || node.op == Op::select) return whole(node, a);
  if (a.size() == 1) return from_float(node, a[0]);
  const auto [x, y] = aligned(a[0], a[1]);
  decide(node.op, magnitude(x) > magnitude(y) ? x : y, x.error + y.error);
  return whole(node, {x, y});
}

// ---- whole numbers
// ---------------------------------------------------------------------------------------------------

Value Expressions::whole(const ExprNode& node, const std::vector<Value>& a) {
  const auto limits = ir::integer_limits(node.type);
  const auto kept = [&](Value v) { return make_.wrapped(v, limits.lo, limits.hi); };
  switch (node.op) {
    case Op::add:
      return kept(make_.add(a[0], a[1]));
    case Op::sub:
      return kept(make_.subtract(a[0], a[1]));
    case Op::neg:
      return kept(make_.subtract(make_.constant(0), a[0]));
    case Op::mul:
      return kept(make_.multiply(a[0], a[1]));
    case Op::div:
      return kept(make_.divide(a[0], a[1]));
    case Op::rem:
      return make_.remainder(a[0], a[1]);
    case Op::min:
      return make_.least(a[0], a[1]);
    case Op::max:
      return make_.most(a[0], a[1]);
    case Op::abs:
      return kept(make_.magnitude(a[0]));
    case Op::convert:
      if (node.type == ElementType::boolean && graph_.node(node.args[0]).type != ElementType::boolean)
        return make_.zero_or_one(make_.not_of(make_.equal(a[0], make_.constant(0))));
      return kept(a[0]);
    case Op::saturate:
      return make_.clamp(a[0], limits.lo, limits.hi);
    case Op::lt:
      return make_.zero_or_one(make_.less(a[0], a[1]));
    case Op::le:
      return make_.zero_or_one(make_.at_most(a[0], a[1]));
    case Op::eq:
      return make_.zero_or_one(make_.equal(a[0], a[1]));
    case Op::ne:
      return make_.zero_or_one(make_.not_of(make_.equal(a[0], a[1])));
    case Op::select:
      return make_.select(a[0].node, a[1], a[2]);
    case Op::bit_not:
      if (node.type == ElementType::boolean) return make_.zero_or_one(make_.not_of(a[0].node));
      return kept(make_.subtract(make_.constant(-1), a[0]));
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return bitwise(node, a);
    case Op::shl:
    case Op::shr:
      return shifted(node, a);
    default:
      refuse(fmt::format("it uses {}, which is not built for hardware", ir::name_of(node.op)));
  }
}

Value Expressions::lookup(const ExprNode& node, const std::vector<Value>& a) {
  const ir::Table& table = graph_.tables[static_cast<std::size_t>(node.ivalue)];
  if (table.values.size() > 65536)
    refuse(fmt::format("a table of {} elements; expected 65536 at most", table.values.size()));
  Value at = make_.constant(0);
  for (std::size_t d = 0; d < a.size(); ++d) {
    const auto n = static_cast<double>(table.extents[d]);
    at = make_.add(make_.multiply(at, make_.constant(n)), make_.clamp(a[d], 0, n - 1));
  }
  int fraction = 0;
  double error = 0;
  if (is_float(table.type) && !exact_) {
    for (const double v : table.values) {
      const auto exact = exact_bits(v, fraction_ + 6);
      fraction = std::max(fraction, exact.value_or(fraction_ + 6));
      if (!exact) error = std::exp2(-fraction_ - 7);
    }
  }
  Rom rom{table.name, {}, {}};
  double lo = 0, hi = 0;
  for (const double v : table.values) {
    const double raw = std::round(std::ldexp(v, fraction));
    lo = std::min(lo, raw), hi = std::max(hi, raw);
    rom.values.push_back(exact_ && is_float(table.type) ? pattern_of(v, table.type) : static_cast<i64>(raw));
  }
  if (exact_ && is_float(table.type)) {
    rom.bits = {false, static_cast<int>(size_of(table.type)) * 8};
    const auto which = static_cast<i64>(netlist_.add_table(rom));
    return pattern(make_.node(Signal::table, rom.bits, {at.node}, which), table.type);
  }
  rom.bits = bits_of(lo, hi);
  const Bits bits = rom.bits;
  const auto which = static_cast<i64>(netlist_.add_table(std::move(rom)));
  return {make_.node(Signal::table, bits, {at.node}, which), lo, hi, fraction, error};
}

Value Expressions::bitwise(const ExprNode& node, const std::vector<Value>& a) {
  const Signal op = node.op == Op::bit_and ? Signal::bit_and : node.op == Op::bit_or ? Signal::bit_or : Signal::bit_xor;
  const Bits bits = bits_of(std::min(a[0].lo, a[1].lo), std::max(a[0].hi, a[1].hi));
  const NodeId n = make_.node(op, bits, {make_.resized(a[0].node, bits), make_.resized(a[1].node, bits)});
  return {n, static_cast<double>(least_of(bits)), static_cast<double>(most_of(bits))};
}

Value Expressions::shifted(const ExprNode& node, const std::vector<Value>& a) {
  const auto limits = ir::integer_limits(node.type);
  if (a[1].lo == a[1].hi) {
    const i64 count = static_cast<i64>(a[1].lo) & 31;
    return make_.wrapped(node.op == Op::shl ? make_.shift_left(a[0], count) : make_.shift_right(a[0], count), limits.lo,
                         limits.hi);
  }
  const Bits five{false, 5}, all = bits_of(limits.lo, limits.hi);
  const NodeId count = make_.resized(a[1].node, five);
  const Signal op = node.op == Op::shl ? Signal::up : Signal::down;
  return {make_.node(op, all, {make_.resized(a[0].node, all), count}), limits.lo, limits.hi};
}

// ---- floats
// ----------------------------------------------------------------------------------------------------------

std::pair<Value, Value> Expressions::aligned(Value a, Value b) const {
  const int f = std::max(a.fraction, b.fraction);
  const auto to = [&](Value v) {
    const double squares = v.squares;
    if (f > v.fraction && std::ldexp(std::max(std::abs(v.lo), std::abs(v.hi)), f - v.fraction) > std::exp2(62))
      refuse("values of very different size meet: they have more than 63 bits in fixed point",
             "bound the larger ones with min and max, or allow a larger --error");
    v = with(make_.shift_left(v, f - v.fraction), f, v.error);
    v.squares = squares;
    return v;
  };
  return {to(a), to(b)};
}

Value Expressions::scaled(Value v, double factor) {
  if (factor == 0) return make_.constant(0);
  // Powers of two move the point.
  int exponent = 0;
  if (std::abs(std::frexp(factor, &exponent)) == 0.5) {
    const int up = exponent - 1;
    Value sign = factor < 0 ? with(make_.subtract(make_.constant(0), v), v.fraction, v.error) : v;
    const int f = sign.fraction - up;
    const double error = v.error * std::abs(factor);
    return f >= 0 ? with(sign, f, error) : with(make_.shift_left(sign, -f), 0, error);
  }
  const int needed = fraction_ + 3 + std::max(0, static_cast<int>(std::ceil(std::log2(magnitude(v) + 1))));
  const double size = std::abs(factor);  // small ones take fewer bits
  const int taken =
      std::max(-most_bits, size < 1 ? std::ilogb(size) + 2 : static_cast<int>(std::ceil(std::log2(size + 1))));
  const int room = most_bits - 2 - netlist_.node(v.node).bits.width - taken;
  const Value c = constant(factor, std::clamp(needed, 0, std::max(0, room)));
  const Value p = make_.multiply(v, c);
  return with(p, v.fraction + c.fraction, std::abs(factor) * v.error + c.error * (magnitude(v) + v.error));
}

Value Expressions::product(Value a, Value b) {
  if (b.lo == b.hi && b.error == 0) return scaled(a, std::ldexp(b.lo, -b.fraction));
  if (a.lo == a.hi && a.error == 0) return scaled(b, std::ldexp(a.lo, -a.fraction));
  a = rounded(a, fraction_), b = rounded(b, fraction_);
  const double error = magnitude(a) * b.error + magnitude(b) * a.error + a.error * b.error;
  Value p = with(make_.multiply(a, b), a.fraction + b.fraction, error);
  if (a.node == b.node) p.squares = a.error * a.error;
  return p;
}

Value Expressions::toward_zero(Value v) {
  if (v.fraction == 0) return v;
  const Value down = make_.shift_right(make_.magnitude(v), v.fraction);
  if (v.lo >= 0) return down;
  return make_.select(make_.less(v, make_.constant(0)), make_.subtract(make_.constant(0), down), down);
}

Value Expressions::real(const ExprNode& node, const std::vector<Value>& a) {
  const auto pair_of = [&](auto&& apply) {
    const auto [x, y] = aligned(a[0], a[1]);
    return with(apply(x, y), x.fraction, std::max(x.error, y.error));
  };
  const auto exactly = [&](Value v) { return with(v, a[0].fraction, a[0].error); };
  switch (node.op) {
    case Op::convert:
      return a[0];
    case Op::add:
    case Op::sub: {
      if (node.op == Op::sub && node.args[0] == node.args[1]) return make_.constant(0);
      const auto [x, y] = aligned(a[0], a[1]);
      Value sum = with(node.op == Op::add ? make_.add(x, y) : make_.subtract(x, y), x.fraction, x.error + y.error);
      if (node.op == Op::add && a[0].squares >= 0 && a[1].squares >= 0) sum.squares = a[0].squares + a[1].squares;
      return sum;
    }
    case Op::mul:
      for (const std::size_t k : {0u, 1u})
        if (const auto c = ir::constant_value(graph_, node.args[k])) return scaled(a[1 - k], *c);
      return product(a[0], a[1]);
    case Op::div:
      if (const auto c = ir::constant_value(graph_, node.args[1]); c && *c != 0) return scaled(a[0], 1 / *c);
      if (const auto m = mean(node, a[0], a[1])) return *m;
      return function(node, a);
    case Op::neg:
      return exactly(make_.subtract(make_.constant(0), a[0]));
    case Op::abs:
      return exactly(make_.magnitude(a[0]));
    case Op::min:
    case Op::least:
      return pair_of([&](Value x, Value y) { return make_.least(x, y); });
    case Op::max:
    case Op::most:
      return pair_of([&](Value x, Value y) { return make_.most(x, y); });
    case Op::select: {
      const auto [x, y] = aligned(a[1], a[2]);
      return with(make_.select(a[0].node, x, y), x.fraction, std::max(x.error, y.error));
    }
    case Op::hypot: {
      const auto [x, y] = aligned(product(a[0], a[0]), product(a[1], a[1]));
      Value sum = with(make_.add(x, y), x.fraction, x.error + y.error);
      if (x.squares >= 0 && y.squares >= 0) sum.squares = x.squares + y.squares;
      return function(node, {sum});
    }
    case Op::floor:
      decide(node.op, a[0], a[0].error);
      return make_.shift_right(a[0], a[0].fraction);
    case Op::ceil: {
      decide(node.op, a[0], a[0].error);
      const Value minus = make_.shift_right(make_.subtract(make_.constant(0), a[0]), a[0].fraction);
      return make_.subtract(make_.constant(0), minus);
    }
    case Op::trunc:
      decide(node.op, a[0], a[0].error);
      return toward_zero(a[0]);
    case Op::round: {
      decide(node.op, a[0], a[0].error);
      if (a[0].fraction == 0) return a[0];
      const Value half = make_.constant(std::exp2(a[0].fraction - 1));
      const Value away =
          make_.select(make_.less(a[0], make_.constant(0)), make_.subtract(a[0], half), make_.add(a[0], half));
      return toward_zero(with(away, a[0].fraction, 0));
    }
    default:
      return function(node, a);
  }
}

Value Expressions::function(const ExprNode& node, const std::vector<Value>& a) {
  Functions functions(
      netlist_, make_, fraction_, [&](const std::string& what, const std::string& help) { refuse(what, help); },
      [&](Op op, const Value& v, double error) { decide(op, v, error); });
  if (node.op == Op::div) return functions.quotient(a[0], a[1]);
  if (node.op == Op::hypot) return functions.root(a[0]);
  if (node.op == Op::pow)
    if (const auto c = ir::constant_value(graph_, node.args[1])) return functions.power(a[0], *c);
  return functions.of(node.op, a);
}

// ---- floats that become whole
// ----------------------------------------------------------------------------------------

Value Expressions::from_float(const ExprNode& node, Value v) {
  const auto limits = ir::integer_limits(node.type);
  decide(node.op, v, v.error);
  if (node.op == Op::convert && node.type == ElementType::boolean)
    return make_.zero_or_one(make_.not_of(make_.equal(v, make_.constant(0))));
  if (node.op == Op::convert) {
    const auto wide = ir::integer_limits(node.type == ElementType::u32 ? ElementType::u32 : ElementType::i32);
    return make_.wrapped(make_.clamp(toward_zero(v), wide.lo, wide.hi), limits.lo, limits.hi);
  }
  if (node.op != Op::saturate)
    refuse(fmt::format("it uses {} of floats, which is not built in fixed point", ir::name_of(node.op)));
  if (v.fraction == 0) return make_.clamp(v, limits.lo, limits.hi);
  // Half to even: up where it is half or more, and one back where it was half and came out odd.
  const Value half = make_.constant(std::exp2(v.fraction - 1));
  const Value up = make_.shift_right(make_.add(v, half), v.fraction);
  const Bits low{false, v.fraction};
  const NodeId tie = make_.node(Signal::eq, {}, {make_.resized(v.node, low), half.node});
  const NodeId back = make_.both(tie, make_.resized(up.node, Bits{}));
  return make_.clamp(make_.subtract(up, make_.zero_or_one(back)), limits.lo, limits.hi);
}

}  // namespace tessera::hardware
