// See statements.hpp.
#include "emit/statements.hpp"

#include <fmt/format.h>

namespace tessera::emit {

using ir::Op;
using ir::nest::Lane;
using ir::nest::Statement;
using ir::nest::StatementKind;

std::string_view infix(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::rem:
      return "%";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    case Op::shl:
      return "<<";
    case Op::shr:
      return ">>";
    case Op::lt:
      return "<";
    case Op::le:
      return "<=";
    case Op::eq:
      return "==";
    case Op::ne:
      return "!=";
    default:
      return "";
  }
}

bool compares(Op op) {
  return op == Op::lt || op == Op::le || op == Op::eq || op == Op::ne;
}

bool wraps(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::shl || op == Op::neg;
}

Lane unsigned_lane(Lane lane) {
  switch (lane) {
    case Lane::i8:
      return Lane::u8;
    case Lane::i16:
      return Lane::u16;
    case Lane::i32:
      return Lane::u32;
    default:
      return lane;
  }
}

void Statements::statements(const std::vector<Statement>& list, int depth, std::string& out) {
  for (const Statement& s : list) statement(s, depth, out);
}

void Statements::statement(const Statement& s, int depth, std::string& out) {
  std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  switch (s.kind) {
    case StatementKind::let:
      note(s.type);
      if (s.type.pointer)
        out += fmt::format("{}{} const {} = {};\n", indent, spelled(s.type), s.name, text(s.values[0]));
      else
        out += fmt::format("{}const {} {} = {};\n", indent, spelled(s.type), s.name, text(s.values[0]));
      break;
    case StatementKind::var:
      note(s.type);
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
    case StatementKind::call: {
      if (s.name == "return") {
        out += fmt::format("{}return {};\n", indent, text(s.values[0]));
        break;
      }
      called(s.name);
      out += indent + s.name + "(";
      for (std::size_t k = 0; k < s.values.size(); ++k) out += (k ? ", " : "") + text(s.values[k]);
      out += ");\n";
      break;
    }
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

}  // namespace tessera::emit
