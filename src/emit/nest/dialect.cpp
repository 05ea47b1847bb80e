// Words that all dialects share.
#include "emit/nest/dialect.hpp"

namespace tessera::emit {

using ir::Op;
using ir::nest::Lane;
using ir::nest::Type;

std::string spell(const Type& type) {
  std::string name(name_of(type.lane));
  if (type.lanes > 1) name += "x" + std::to_string(type.lanes);
  if (type.pointer) name += "*";
  return name;
}

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

}  // namespace tessera::emit
