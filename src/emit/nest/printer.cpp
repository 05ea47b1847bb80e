// Statements, tables and numbers.
#include "emit/nest/printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/process/deadline.hpp"
#include "data/half.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

using ir::nest::Lane;
using ir::nest::Statement;
using ir::nest::StatementKind;
using ir::nest::Type;

std::string table_name(std::size_t index) {
  return fmt::format("tsr_table_{}", index);
}

std::string NestPrinter::spelled(const Type& type) {
  if (type.lanes > 1 && !dialect_.vectors) throw Error(ErrorClass::internal, "a kernel has no vectors");
  needs_.use(type);
  return (type.pointer ? std::string(dialect_.pointed_to) : "") + spell(type);
}

void NestPrinter::statements(const std::vector<Statement>& list, int depth, std::string& out) {
  for (const Statement& s : list) statement(s, depth, out);
}

void NestPrinter::statement(const Statement& s, int depth, std::string& out) {
  std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  switch (s.kind) {
    case StatementKind::let:
      if (s.type.pointer)
        out += fmt::format("{}{} const {} = {};\n", indent, spelled(s.type), s.name, text(s.values[0]));
      else
        out += fmt::format("{}const {} {} = {};\n", indent, spelled(s.type), s.name, text(s.values[0]));
      break;
    case StatementKind::var:
      if (s.i > 0)
        out += fmt::format("{}{} {}[{}];\n", indent, spelled(s.type), s.name, s.i);
      else
        out += fmt::format("{}{} {} = {};\n", indent, spelled(s.type), s.name, text(s.values[0]));
      break;
    case StatementKind::assign:
      if (s.values.size() == 2)
        out += fmt::format("{}{}[{}] = {};\n", indent, s.name, text(s.values[1]), text(s.values[0]));
      else
        out += fmt::format("{}{} = {};\n", indent, s.name, text(s.values[0]));
      break;
    case StatementKind::loop:
      if (s.i > 0) out += fmt::format("#pragma unroll {}\n", s.i);
      out += fmt::format("{}for (i64 {} = {}; {} < {}; {} += {}) {{\n", indent, s.name, text(s.values[0]), s.name,
                         text(s.values[1]), s.name, text(s.values[2]));
      statements(s.body, depth + 1, out);
      out += indent + "}\n";
      break;
    case StatementKind::branch:
      out += fmt::format("{}if ({}) {{\n", indent, text(s.values[0]));
      statements(s.body, depth + 1, out);
      if (!s.orelse.empty()) {
        out += indent + "} else {\n";
        statements(s.orelse, depth + 1, out);
      }
      out += indent + "}\n";
      break;
    case StatementKind::store:
      store(s, indent, out);
      break;
    case StatementKind::call:
      if (s.name == "return") {
        out += fmt::format("{}return {};\n", indent, text(s.values[0]));
        break;
      }
      needs_.call(s.name);
      out += fmt::format("{}{}({});\n", indent, s.name, list(s.values));
      break;
    case StatementKind::comment:
      out += fmt::format("{}/* {} */\n", indent, s.name);
      break;
    case StatementKind::block:
      out += indent + "{\n";
      statements(s.body, depth + 1, out);
      out += indent + "}\n";
      break;
  }
}

void NestPrinter::store(const Statement& s, const std::string& indent, std::string& out) {
  const Type& type = s.values[2]->type;
  const std::string to = text(s.values[0]), index = text(s.values[1]), value = text(s.values[2]);
  if (type.lanes > 1 && s.streaming) {
    needs_.streams.insert(type);
    out += fmt::format("{}tsr_stream_{}({} + {}, {});\n", indent, spell(type), to, index, value);
  } else if (type.lanes > 1) {
    out += fmt::format("{}*({}u*)({} + {}) = {};\n", indent, spell(type), to, index, value);
  } else if (s.streaming && !dialect_.scalar_stream.empty()) {
    out += indent +
           fmt::format(fmt::runtime(dialect_.scalar_stream), fmt::arg("to", to), fmt::arg("index", index),
                       fmt::arg("a", value)) +
           ";\n";
  } else {
    out += fmt::format("{}{}[{}] = {};\n", indent, to, index, value);
  }
}

std::string NestPrinter::table(const ir::Table& table, std::size_t index) {
  const Lane lane = ir::nest::lane_of(table.type);
  needs_.use({lane, 1, false});
  const bool half_bits = lane == Lane::f16 && dialect_.halves_are_bits;
  const bool bits = !dialect_.table_of_bits.empty() && !half_bits &&
                    std::any_of(table.values.begin(), table.values.end(), [](double v) { return !std::isfinite(v); });
  const std::string name = table_name(index);
  const std::string_view type = !bits ? name_of(lane) : lane == Lane::f64 ? "u64" : "u32";
  std::string out = fmt::format("/* {} */\n", table.name);
  out += fmt::format(fmt::runtime(dialect_.table), fmt::arg("type", type),
                     fmt::arg("name", bits ? name + "_bits" : name)) +
         " = {";
  for (std::size_t k = 0; k < table.values.size(); ++k) {
    const double v = table.values[k];
    base::count_towards_deadline();
    out += k % 8 == 0 ? "\n  " : " ";
    if (!bits)
      out += number(v, lane);
    else if (lane == Lane::f64)
      out += fmt::format("{:#x}", std::bit_cast<std::uint64_t>(v));
    else
      out += fmt::format("{:#x}", std::bit_cast<std::uint32_t>(static_cast<float>(v)));
    out += ',';
  }
  out += "\n};\n";
  if (bits)
    out += fmt::format(fmt::runtime(dialect_.table_of_bits), fmt::arg("name", name), fmt::arg("type", name_of(lane)));
  return out;
}

std::string NestPrinter::number(double v, Lane lane) const {
  if (lane == Lane::f16 && dialect_.halves_are_bits)
    return fmt::format("{:#x}", static_cast<unsigned>(double_to_half(v)));
  if (!is_float(lane)) return fmt::format("{}{}", static_cast<i64>(v), lane == Lane::u32 ? "u" : "");
  if (std::isnan(v)) return std::string(dialect_.nan.of(lane));
  if (std::isinf(v)) return (v < 0 ? "-" : "") + std::string(dialect_.infinity.of(lane));
  const std::string suffix = lane == Lane::f64 ? "" : "f";
  if (lane == Lane::f32) v = static_cast<double>(static_cast<float>(v));  // as it is: compilers warn of roundings
  std::string text;
  if (dialect_.hexadecimal) {
    text = fmt::format("{:a}", v);
  } else {
    text = lane == Lane::f64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (lane == Lane::f16) text.insert(0, "(f16)");
  }
  text += suffix;
  return dialect_.negatives_apart && std::signbit(v) ? "(" + text + ")" : text;
}

}  // namespace tessera::emit
