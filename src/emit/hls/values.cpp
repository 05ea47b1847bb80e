// Expressions of HLS C++. Sums and products of ap_int are exact until they are assigned, and an assignment keeps the
// low bits: just what a netlist says. What is not so is made so here: both sides of a comparison get one format (of
// formats of different sign and 32 bits and more the tools compare as C does), what is shifted is widened first, what
// is selected has one type. So integers share nothing with the printer of loop nests (nest/dialect.hpp), where a type
// is one of the machine's and arithmetic wraps.
//
// Floats are variables of C++: operations of the language as C++ has them, functions by the names of hls_math.h. Where
// their bits are meant (lines, streams, selections) they are ap_uint.
#include "emit/hls/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>

#include "emit/hls/bench.hpp"
#include "emit/names.hpp"
#include "emit/nest/dialect.hpp"
#include "ir/graph.hpp"

namespace tessera::emit {

using hardware::Bits;
using hardware::FloatOperation;
using hardware::Lag;
using hardware::Node;
using hardware::NodeId;
using hardware::Signal;
using namespace fmt::literals;

namespace {

std::string literal(i64 v) {
  if (v == INT64_MIN) return "(-9223372036854775807LL - 1)";
  return v > INT32_MAX || v < -INT32_MAX ? fmt::format("{}LL", v) : fmt::format("{}", v);
}

// The ticks of a lag as a name: 1921, or 2r3, 2r_3 for two rows and three words more or less.
std::string ticks_name(const hardware::Netlist& netlist, Lag lag) {
  if (netlist.frame.fixed) return fmt::format("{}", netlist.ticks(lag));
  return fmt::format("{}r{}{}", lag.rows, lag.words < 0 ? "_" : "", std::abs(lag.words));
}

Bits common(Bits a, Bits b) {
  if (a.is_signed == b.is_signed) return {a.is_signed, std::max(a.width, b.width)};
  return {true, std::max(a.width + (a.is_signed ? 0 : 1), b.width + (b.is_signed ? 0 : 1))};
}

bool is_float_operation(const Node& node) {
  return node.op == Signal::float_unary || node.op == Signal::float_binary;
}

// The type of C++ in which a node's value is: a float, or nothing for whole numbers.
std::string_view own_type(const Node& node) {
  if (!is_float_operation(node)) return "";
  const ElementType type = FloatOperation::of(node.value).type;
  return type == ElementType::f32 ? "float" : type == ElementType::f64 ? "double" : "";
}

// With as many digits as say it exactly.
std::string float_literal(i64 pattern, ElementType type) {
  const double v = hardware::number_of(pattern, type);
  if (!std::isfinite(v)) return "";
  std::string text = type == ElementType::f32 ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return type == ElementType::f32 ? text + "f" : text;
}

// Of a power of two of elements, so that no index leaves the table.
std::string element(const hardware::Rom& rom, std::size_t k) {
  const i64 v = k < rom.values.size() ? rom.values[k] : 0;
  if (rom.bits.width <= 32) return fmt::format("{}", v);
  return rom.bits.is_signed ? fmt::format("{}LL", v) : fmt::format("{}ULL", static_cast<std::uint64_t>(v));
}

}  // namespace

std::string_view hls_number(ElementType type) {
  return type == ElementType::f64 ? "double" : type == ElementType::f32 || type == ElementType::f16 ? "float" : "int";
}

std::size_t HlsPositions::index_of(Lag lag) {
  const auto it = std::find(lags_.begin(), lags_.end(), lag);
  if (it != lags_.end()) return static_cast<std::size_t>(it - lags_.begin());
  lags_.push_back(lag);
  return lags_.size() - 1;
}

std::string hls_type(Bits b) {
  return fmt::format("{}<{}>", b.is_signed ? "ap_int" : "ap_uint", b.width);
}

std::string hls_name(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])) != 0) result = "x" + result;
  return safe_name(result);
}

HlsValues::HlsValues(const hardware::Netlist& netlist) : netlist_(netlist) {
  for (std::uint32_t k = 0; k < netlist.size(); ++k) {
    const Node& node = netlist.node({k});
    // Names end with the number of their node, so no two are equal, whatever stages are called.
    const auto named = [&] {
      const std::string stage = node.stage < netlist.stages.size() ? netlist.stages[node.stage] : "";
      return fmt::format("{}_{}", hls_name(stage.empty() ? "result" : stage), k);
    };
    names_.push_back(named());
    if (!own_type(node).empty())
      texts_.push_back(fmt::format("tessera_streaming::bits({})", names_.back()));
    else if (node.op == Signal::constant)
      texts_.push_back(fmt::format("{}({})", hls_type(node.bits), literal(node.value)));
    else if (node.op == Signal::scalar) {
      const hardware::Port& port = netlist.scalars[static_cast<std::size_t>(node.value)];
      names_.back() = scalar(static_cast<std::size_t>(node.value));
      texts_.push_back(
          fmt::format("{}({})", is_float(port.type) ? "tessera_streaming::bits" : hls_type(node.bits), names_.back()));
    } else {
      if (node.op == Signal::delay) names_.back() += fmt::format("_{}_ago", ticks_name(netlist, node.lag));
      texts_.push_back(names_.back());
    }
  }
}

std::string HlsValues::scalar(std::size_t k) const {
  return fmt::format("{}_{}_value", hls_name(netlist_.scalars[k].name), k);
}

std::string HlsValues::table(std::size_t k) const {
  return fmt::format("{}_{}_table", hls_name(netlist_.tables[k].name), k);
}

std::string HlsValues::tables() const {
  std::vector<bool> used(netlist_.tables.size(), false);
  for (std::uint32_t k = 0; k < netlist_.size(); ++k)
    if (netlist_.node({k}).op == Signal::table) used[static_cast<std::size_t>(netlist_.node({k}).value)] = true;
  std::string text;
  for (std::size_t t = 0; t < used.size(); ++t) {
    if (!used[t]) continue;
    const hardware::Rom& rom = netlist_.tables[t];
    const int bytes = rom.bits.width <= 8 ? 8 : rom.bits.width <= 16 ? 16 : rom.bits.width <= 32 ? 32 : 64;
    const std::string_view names[] = {"char", "short", "int", "long long"};
    const std::string_view name = names[bytes == 8 ? 0 : bytes == 16 ? 1 : bytes == 32 ? 2 : 3];
    std::size_t size = 2;
    while (size < rom.values.size()) size *= 2;
    text += fmt::format("  static const {sign} {type} {table}[{size}] = {{",
                        "sign"_a = rom.bits.is_signed ? "signed" : "unsigned", "type"_a = name, "table"_a = table(t),
                        "size"_a = size);
    for (std::size_t k = 0; k < size; ++k) text += (k == 0 ? "" : k % 16 == 0 ? ",\n    " : ", ") + element(rom, k);
    text += fmt::format("}};\n#pragma HLS BIND_STORAGE variable={} type=rom_np\n", table(t));
  }
  return text;
}

std::string HlsValues::type(NodeId n) const {
  const std::string_view own = own_type(netlist_.node(n));
  return own.empty() ? hls_type(netlist_.node(n).bits) : std::string(own);
}

bool HlsValues::has_statement(NodeId n) const {
  const Signal op = netlist_.node(n).op;
  return op != Signal::constant && op != Signal::scalar;
}

std::string HlsValues::cast(Bits to, NodeId n) const {
  const Node& node = netlist_.node(n);
  if (node.bits == to) return text(n);
  if (node.op == Signal::constant) return fmt::format("{}({})", hls_type(to), literal(node.value));
  return fmt::format("{}({})", hls_type(to), text(n));
}

std::string HlsValues::mixed(NodeId a, std::string_view op, NodeId b) const {
  const Bits of_a = netlist_.node(a).bits, of_b = netlist_.node(b).bits;
  if (of_a.is_signed == of_b.is_signed) return fmt::format("{} {} {}", text(a), op, text(b));
  const Bits both = common(of_a, of_b);
  return fmt::format("{} {} {}", cast(both, a), op, cast(both, b));
}

std::string HlsValues::widened_shift(const Node& node, std::string_view op, const std::string& count) const {
  Bits from = netlist_.node(node.args[0]).bits;
  from.width = std::max(from.width, node.bits.width);
  return fmt::format("{} {} {}", cast(from, node.args[0]), op, count);
}

std::string HlsValues::position(const Node& node) {
  const std::size_t at = positions_.index_of(node.lag);
  const i64 lanes = netlist_.frame.lanes;
  const std::string column = lanes == 1 ? fmt::format("at{}_word.to_int()", at)
                                        : fmt::format("at{}_word.to_int() * {} + {}", at, lanes, node.lane);
  const auto end = [&](const char* name, i64 extent) {
    if (netlist_.frame.fixed && node.extent < 0) return fmt::format("{}", extent - node.value - 1);
    const bool rows = node.op == Signal::row_left_is;
    const hardware::Extent& e = node.extent >= 0 ? netlist_.extents[static_cast<std::size_t>(node.extent)]
                                : rows           ? netlist_.given.high
                                                 : netlist_.given.wide;
    return fmt::format("{} - {}", hls_fine(e, name, netlist_.frame.fixed), node.value + 1);
  };
  const auto there = [&](const std::string& what) { return fmt::format("at{}_there && {}", at, what); };
  switch (node.op) {
    case Signal::row:
      return fmt::format("at{}_row", at);
    case Signal::column:
      return fmt::format("at{}_there ? {} : 0", at, column);
    case Signal::row_is:
      return there(fmt::format("at{}_row == {}", at, node.value));
    case Signal::row_phase:
      return there(fmt::format("at{}_row.to_int() % {} == {}", at, node.value, node.lane));
    case Signal::word_phase:
      return there(fmt::format("at{}_word.to_int() % {} == {}", at, node.value, node.lane));
    case Signal::row_left_is:
      return there(fmt::format("at{}_row.to_int() == {}", at, end("height", netlist_.frame.height)));
    case Signal::column_is: {
      const i64 from = node.value - node.lane;
      return from < 0 || from % lanes != 0 ? "0" : there(fmt::format("at{}_word == {}", at, from / lanes));
    }
    default:
      return there(fmt::format("{} == {}", column, end("width", netlist_.frame.width)));
  }
}

std::string HlsValues::float_operand(NodeId n, ElementType type) const {
  const Node& node = netlist_.node(n);
  if (!is_float(type)) return fmt::format("{}.to_int64()", text(n));
  if (node.op == Signal::constant && type != ElementType::f16)
    if (const std::string literal = float_literal(node.value, type); !literal.empty()) return literal;
  if (!own_type(node).empty() || (node.op == Signal::scalar && type != ElementType::f16)) return name(n);
  return fmt::format("tessera_streaming::{}_of({})", type == ElementType::f16 ? "half" : hls_number(type),
                     cast({false, static_cast<int>(size_of(type)) * 8}, n));
}

std::string HlsValues::float_expression(const Node& node) const {
  const FloatOperation f = FloatOperation::of(node.value);
  const auto op = static_cast<ir::Op>(f.op);
  const std::string a = float_operand(node.args[0], f.operands);
  const std::string b = node.args.size() > 1 ? float_operand(node.args[1], f.operands) : "";
  if (const std::string_view sign = infix(op); !sign.empty()) return fmt::format("{} {} {}", a, sign, b);
  switch (op) {
    case ir::Op::convert: {
      if (f.type == ElementType::f16) return fmt::format("tessera_streaming::half_bits({})", a);
      if (is_float(f.type)) return fmt::format("static_cast<{}>({})", hls_number(f.type), a);
      if (f.type == ElementType::boolean) return fmt::format("{} != 0", a);
      const bool wide = f.type == ElementType::u32;
      return fmt::format("tessera_streaming::toward_zero({}, {}, {})", a, wide ? "0" : "-2147483648LL",
                         wide ? "4294967295LL" : "2147483647LL");
    }
    case ir::Op::saturate:
      return fmt::format("tessera_streaming::nearest({}, {}LL, {}LL)", a, hardware::least_of(node.bits),
                         hardware::most_of(node.bits));
    case ir::Op::neg:
      return fmt::format("-{}", a);
    case ir::Op::abs:
      return fmt::format("hls::fabs{}({})", f.type == ElementType::f32 ? "f" : "", a);
    case ir::Op::least:
      return fmt::format("{0} < {1} ? {0} : {1}", a, b);
    case ir::Op::most:
      return fmt::format("{0} > {1} ? {0} : {1}", a, b);
    case ir::Op::min:
      return fmt::format("tessera_streaming::lesser({}, {})", a, b);
    case ir::Op::max:
      return fmt::format("tessera_streaming::greater({}, {})", a, b);
    default: {
      const std::string_view called = op == ir::Op::fast_exp ? "exp" : ir::name_of(op);
      const std::string given = b.empty() ? a : fmt::format("{}, {}", a, b);
      return fmt::format("hls::{}{}({})", called, f.type == ElementType::f32 ? "f" : "", given);
    }
  }
}

std::string HlsValues::expression(NodeId id) {
  const Node& node = netlist_.node(id);
  const auto arg = [&](std::size_t k) { return node.args[k]; };
  switch (node.op) {
    case Signal::row:
    case Signal::column:
    case Signal::row_is:
    case Signal::row_left_is:
    case Signal::column_is:
    case Signal::column_left_is:
    case Signal::row_phase:
    case Signal::word_phase:
      return position(node);
    case Signal::add:
      return mixed(arg(0), "+", arg(1));
    case Signal::sub:
      return mixed(arg(0), "-", arg(1));
    case Signal::mul:
      return mixed(arg(0), "*", arg(1));
    case Signal::eq:
      return mixed(arg(0), "==", arg(1));
    case Signal::lt:
      return mixed(arg(0), "<", arg(1));
    case Signal::le:
      return mixed(arg(0), "<=", arg(1));
    case Signal::shift_left:
      return widened_shift(node, "<<", fmt::format("{}", node.value));
    case Signal::shift_right:
      return fmt::format("{} >> {}", text(arg(0)), node.value);
    case Signal::up:
      return widened_shift(node, "<<", text(arg(1)));
    case Signal::down:
      return fmt::format("{} >> {}", text(arg(0)), text(arg(1)));
    case Signal::resize:
      return text(arg(0));
    case Signal::bit_and:
      return fmt::format("{} & {}", cast(node.bits, arg(0)), cast(node.bits, arg(1)));
    case Signal::bit_or:
      return fmt::format("{} | {}", cast(node.bits, arg(0)), cast(node.bits, arg(1)));
    case Signal::bit_xor:
      return fmt::format("{} ^ {}", cast(node.bits, arg(0)), cast(node.bits, arg(1)));
    case Signal::bit_not:
      return fmt::format("~{}", cast(node.bits, arg(0)));
    case Signal::select:
      return fmt::format("{} ? {} : {}", text(arg(0)), cast(node.bits, arg(1)), cast(node.bits, arg(2)));
    case Signal::divide:
    case Signal::remainder:
      return fmt::format("{by} == 0 ? {type}(0) : {type}({quotient})", "by"_a = text(arg(1)),
                         "type"_a = hls_type(node.bits),
                         "quotient"_a = mixed(arg(0), node.op == Signal::divide ? "/" : "%", arg(1)));
    case Signal::root:
      return fmt::format("tessera_streaming::whole_root<{}>({})", netlist_.node(arg(0)).bits.width,
                         cast({false, netlist_.node(arg(0)).bits.width}, arg(0)));
    case Signal::float_unary:
    case Signal::float_binary:
      return float_expression(node);
    case Signal::table: {
      const hardware::Rom& rom = netlist_.tables[static_cast<std::size_t>(node.value)];
      // A table has a power of two of elements, so that no index leaves it.
      const int bits = std::max(1, static_cast<int>(std::bit_width(rom.values.size() - 1)));
      return fmt::format("{}[{}.to_int()]", table(static_cast<std::size_t>(node.value)), cast({false, bits}, arg(0)));
    }
    default:
      return "";
  }
}

}  // namespace tessera::emit
