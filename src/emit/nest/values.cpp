// Expressions: those of scalars, and of vectors what they share with these.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "emit/nest/printer.hpp"
#include "ir/nest/library.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

using ir::Op;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::Support;
using ir::nest::Type;

namespace {

bool is_real(const Type& type) {
  return !type.pointer && (type.lane == Lane::f32 || type.lane == Lane::f64);
}

}  // namespace

std::string NestPrinter::text(const Value& v) {
  if (v->type.lanes > 1 && !dialect_.vectors) throw Error(ErrorClass::internal, "a kernel has no vectors");
  needs_.use(v->type);
  switch (v->kind) {
    case Kind::variable:
      if (v->type.pointer && v->name.starts_with("tsr_table_")) tables_read_.insert(v->name);
      return v->name;
    case Kind::integer:
      return integer(*v);
    case Kind::real:
      return number(v->f, v->type.lane);
    case Kind::broadcast:
      return broadcast(*v);
    case Kind::convert:
      return conversion(*v);
    case Kind::load:
      return load(*v);
    case Kind::gather:
      return gather(*v);
    case Kind::interleave:
      return interleave(*v);
    case Kind::fused:
      return fused(*v);
    case Kind::iota: {
      std::string list;
      for (int k = 0; k < v->type.lanes; ++k) list += fmt::format("{}{}", k ? ", " : "", k);
      return fmt::format("({}){{{}}}", spell(v->type), list);
    }
    case Kind::address:
      return fmt::format("({} + ({}))", text(v->args[0]), text(v->args[1]));
    case Kind::call:
      return called(*v);
    case Kind::operation:
      return operation(*v);
  }
  return "";
}

std::string NestPrinter::list(const std::vector<Value>& values) {
  std::string out;
  for (std::size_t k = 0; k < values.size(); ++k) out += (k ? ", " : "") + text(values[k]);
  return out;
}

std::string NestPrinter::integer(const Node& n) const {
  if (n.type.lane == Lane::i64)
    return n.i < -1000000000 || n.i > 1000000000 ? fmt::format("{}{}", n.i, dialect_.long_suffix)
                                                 : fmt::format("{}", n.i);
  if (n.type.lane == Lane::i32 && n.i == -2147483648LL) return "(-2147483647 - 1)";
  if (n.i < 0 && dialect_.negatives_apart) return fmt::format("({})", n.i);
  return fmt::format("{}{}", n.i, n.type.lane == Lane::u32 ? "u" : "");
}

std::string NestPrinter::conversion(const Node& n) {
  const Type& from = n.args[0]->type;
  std::string v = text(n.args[0]);
  if (n.type.pointer)
    return fmt::format(fmt::runtime(from.pointer ? dialect_.pointer_of_pointer : dialect_.pointer_of_integer),
                       fmt::arg("type", spelled(n.type)), fmt::arg("a", v));
  if (n.type.lanes > 1) return fmt::format("__builtin_convertvector({}, {})", v, spell(n.type));
  if (dialect_.halves_are_bits) {
    if (from.lane == Lane::f16) v = fmt::format("tsr_from_half({})", v);
    if (from.lane == Lane::f16 && n.type.lane == Lane::f32) return v;
    if (n.type.lane == Lane::f16)
      return from.lane == Lane::f64 ? fmt::format("tsr_half_f64({})", v) : fmt::format("tsr_half_f32((f32)({}))", v);
  }
  return fmt::format("(({})({}))", spell(n.type), v);
}

std::string NestPrinter::called(const Node& n) {
  if (ir::nest::support_of(n.name) == Support::words) return field_words(n);
  needs_.call(n.name);
  return fmt::format("{}({})", n.name, list(n.args));
}

std::string NestPrinter::fused(const Node& n) {
  if (n.type.lanes == 1)
    return fmt::format(fmt::runtime(dialect_.fused), fmt::arg("type", name_of(n.type.lane)),
                       fmt::arg("a", text(n.args[0])), fmt::arg("b", text(n.args[1])), fmt::arg("c", text(n.args[2])));
  needs_.fused.insert(n.type);
  return fmt::format("tsr_fused_{}({})", spell(n.type), list(n.args));
}

// ---- operations ----------------------------------------------------------------------------------------------------

bool NestPrinter::computes(const Type& type) const {
  return is_float(type.lane) && !(type.lane == Lane::f16 && dialect_.halves_are_bits);
}

std::string NestPrinter::operation(const Node& n) {
  std::vector<std::string> a;
  for (const Value& arg : n.args) a.push_back(text(arg));
  if (compares(n.op)) return comparison(n, std::move(a));
  if (n.op == Op::select) return choice(n, a);
  const bool lesser = n.op == Op::min || n.op == Op::least;
  if (lesser || n.op == Op::max || n.op == Op::most) return extreme(n, lesser, std::move(a));
  if (n.op == Op::abs && is_float(n.type.lane)) {
    needs_.magnitudes.insert(n.type);
    return fmt::format("tsr_magnitude_{}({})", spell(n.type), a[0]);
  }
  if (ir::is_function(n.op)) {
    const ElementType type = n.type.lane == Lane::f64 ? ElementType::f64 : ElementType::f32;
    needs_.functions.insert({n.op, type, n.type.lanes});
    std::string given = a[0];
    for (std::size_t k = 1; k < a.size(); ++k) given += ", " + a[k];
    return fmt::format("{}({})", ir::function_name(n.op, type, n.type.lanes), given);
  }
  return arithmetic(n, a);
}

std::string NestPrinter::comparison(const Node& n, std::vector<std::string> a) {
  if (n.type.lanes > 1) return fmt::format("(({})({} {} {}))", spell(n.type), a[0], infix(n.op), a[1]);
  if (n.args[0]->type.lane == Lane::f16 && dialect_.halves_are_bits)
    for (std::string& operand : a) operand = fmt::format("tsr_from_half({})", operand);
  return fmt::format(fmt::runtime(dialect_.flag), fmt::arg("a", a[0]), fmt::arg("op", infix(n.op)),
                     fmt::arg("b", a[1]));
}

std::string NestPrinter::choice(const Node& n, const std::vector<std::string>& a) {
  if (n.type.lanes > 1) {
    needs_.selects.insert(n.type);
    return fmt::format("tsr_pick_{}({}, {}, {})", spell(n.type), a[0], a[1], a[2]);
  }
  if (!is_real(n.type)) return fmt::format("({} ? {} : {})", a[0], a[1], a[2]);
  return fmt::format(fmt::runtime(dialect_.choice_of_reals), fmt::arg("m", a[0]), fmt::arg("a", a[1]),
                     fmt::arg("b", a[2]), fmt::arg("lane", name_of(n.type.lane)));
}

// A number beside which neither NaNs nor zeros need care.
bool NestPrinter::decides(const Value& v, bool lesser) const {
  const Node& n = v->kind == Kind::broadcast ? *v->args[0] : *v;
  if (n.kind != Kind::real || std::isnan(n.f)) return false;
  return n.f != 0 || (!dialect_.open_is_instruction && std::signbit(n.f) == lesser);
}

std::string NestPrinter::extreme(const Node& n, bool lesser, std::vector<std::string> a) {
  const bool vector = n.type.lanes > 1, real = computes(n.type);
  bool open = !real || n.op == Op::least || n.op == Op::most || decides(n.args[1], lesser);
  if (!open && !dialect_.open_is_instruction && decides(n.args[0], lesser)) {
    std::swap(a[0], a[1]);
    open = true;
  }
  const std::string_view word = lesser ? "min" : "max", relation = lesser ? "<" : ">";
  if (open && !vector && is_real(n.type))
    return fmt::format(fmt::runtime(dialect_.open_extreme.of(n.type.lane)), fmt::arg("a", a[0]), fmt::arg("b", a[1]),
                       fmt::arg("op", relation), fmt::arg("word", word), fmt::arg("lane", name_of(n.type.lane)));
  if (open && !vector && n.type.lane != Lane::i64)
    return fmt::format("({0} {2} {1} ? {0} : {1})", a[0], a[1], relation);
  if (!vector && !real) return fmt::format("tsr_{}({}, {})", word, a[0], a[1]);
  const bool free = open && real;
  (free ? needs_.open_extremes : needs_.extremes).insert(n.type);
  const std::string_view called = !free ? word : lesser ? "least" : "most";
  return fmt::format("tsr_{}_{}({}, {})", called, spell(n.type), a[0], a[1]);
}

std::string NestPrinter::arithmetic(const Node& n, const std::vector<std::string>& a) const {
  const auto [lane, lanes, pointer] = n.type;
  const bool wrapping = is_signed(lane) && (lane == Lane::i32 || lanes > 1);
  const Arithmetic& own = lane == Lane::f16   ? dialect_.halves
                          : is_float(lane)    ? dialect_.reals
                          : lane == Lane::i64 ? dialect_.longs
                          : wrapping          ? dialect_.wrapping
                                              : dialect_.shorts;
  const bool sum = n.op == Op::add || n.op == Op::sub;
  const Pattern pattern = n.op == Op::neg       ? own.neg
                          : n.op == Op::bit_not ? own.bit_not
                          : n.op == Op::mul     ? own.mul
                          : n.op == Op::shl     ? own.shl
                          : sum                 ? own.sum
                                                : own.infix;
  return fmt::format(fmt::runtime(pattern), fmt::arg("a", a[0]), fmt::arg("b", a.size() > 1 ? a[1] : ""),
                     fmt::arg("op", infix(n.op)), fmt::arg("type", spell(n.type)), fmt::arg("lane", name_of(lane)),
                     fmt::arg("unsigned", spell({unsigned_lane(lane), lanes, false})),
                     fmt::arg("product", ir::product_name(lanes * size_of(lane), lanes)));
}

}  // namespace tessera::emit
