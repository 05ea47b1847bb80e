// Printing loop nests as C.
#include "emit/c/c.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <set>

#include "base/deadline.hpp"
#include "data/element.hpp"
#include "emit/c/prelude.hpp"
#include "emit/statements.hpp"
#include "emit/tables.hpp"
#include "ir/functions/functions.hpp"
#include "ir/nest/library.hpp"

namespace tessera::emit {

using ir::Op;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::mask_lane;
using ir::nest::Node;
using ir::nest::Statement;
using ir::nest::StatementKind;
using ir::nest::Support;
using ir::nest::Type;
using ir::nest::Value;

namespace {

class Printer : private Statements {
 public:
  explicit Printer(const ir::nest::Module& module) : module_(module) {}

  ModuleText print() {
    check_tables(module_.tables);
    ModuleText text;
    for (std::size_t t = 0; t < module_.tables.size(); ++t) text.tables += table(t);
    for (const ir::nest::Function& f : module_.functions) text.functions += function(f);
    text.needs = std::move(needs_);
    return text;
  }

  TextApart print_apart() {
    TextApart result;
    std::string functions, tables;
    for (const ir::nest::Function& f : module_.functions) functions += function(f);
    for (std::size_t t = 0; t < module_.tables.size(); ++t) {
      if (!read_.contains(table_name(t))) continue;
      if (static_cast<i64>(module_.tables[t].values.size()) < apart_from && !module_.opaque.contains(t)) {
        tables += table(t);
        continue;
      }
      tables += declaration("extern", t) + ";\n";
      result.tables.push_back(bytes(t));
    }
    result.text = prelude(needs_) + tables + functions;
    return result;
  }

 private:
  static constexpr i64 apart_from = 4096;  // numbers

  static std::string table_name(std::size_t t) { return fmt::format("tsr_table_{}", t); }

  std::string declaration(const char* linkage, std::size_t t) {
    const ir::Table& table = module_.tables[t];
    const Lane lane = ir::nest::lane_of(table.type);
    if (lane == Lane::f16) needs_.vectors.insert({lane, 1, false});
    return fmt::format("/* {} */\n{} const {} {}[]", table.name, linkage, name_of(lane), table_name(t));
  }

  base::ConstantTable bytes(std::size_t t) const {
    struct alignas(base::ConstantTable::alignment) Line {
      std::byte bytes[base::ConstantTable::alignment];
    };
    const ir::Table& table = module_.tables[t];
    const auto each = static_cast<std::size_t>(ir::nest::size_of(ir::nest::lane_of(table.type)));
    const std::size_t size = each * table.values.size();
    auto lines = std::make_shared<Line[]>((size + sizeof(Line) - 1) / sizeof(Line));
    std::byte* const first = lines[0].bytes;
    for (std::size_t k = 0; k < table.values.size(); ++k) store_element(table.type, first + k * each, table.values[k]);
    return {table_name(t), {first, size}, std::move(lines)};
  }

  std::string table(std::size_t t) {
    const ir::Table& table = module_.tables[t];
    const Lane lane = ir::nest::lane_of(table.type);
    std::string text = declaration("static", t) + " __attribute__((unused)) = {";
    for (std::size_t k = 0; k < table.values.size(); ++k) {
      base::count_towards_deadline();
      text += k % 8 == 0 ? "\n  " : " ";
      text += number(table.values[k], lane);
      text += ',';
    }
    return text + "\n};\n";
  }

  static std::string number(double v, Lane lane) {
    if (!is_float(lane)) return fmt::format("{}{}", static_cast<i64>(v), lane == Lane::u32 ? "u" : "");
    std::string suffix = lane == Lane::f64 ? "" : "f";
    if (std::isnan(v)) return "__builtin_nan" + suffix + "(\"\")";
    if (std::isinf(v)) return (v < 0 ? "-" : "") + ("__builtin_inf" + suffix) + "()";
    // In decimal, with the digits that tell it from its neighbours: C++ before 17 has no other floats.
    std::string text = lane == Lane::f64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return (lane == Lane::f16 ? "(f16)" : "") + text + suffix;
  }

  std::string function(const ir::nest::Function& f) {
    std::string text = "\n";
    if (!f.essay.empty()) text += "/* " + f.essay + " */\n";
    text += (f.local ? "TSR_PASS " : "TSR_GROUP ") + (f.has_result ? spell(f.result) : std::string("void")) + " " +
            f.name + "(";
    for (std::size_t k = 0; k < f.parameters.size(); ++k) {
      const auto& p = f.parameters[k];
      if (k > 0) text += ", ";
      if (p.pointers)
        text += "void* const* " + p.name;
      else
        text += (p.constant_elements ? "const " : "") + spell(p.type) + " " + p.name;
    }
    text += ") {\n";
    for (const auto& p : f.parameters) text += "  (void)" + p.name + ";\n";
    statements(f.body, 1, text);
    return text + "}\n";
  }

  void store(const Statement& s, const std::string& indent, std::string& out) override {
    const Type& type = s.values[2]->type;
    std::string at = fmt::format("{} + {}", text(s.values[0]), text(s.values[1]));
    if (type.lanes == 1)
      out += fmt::format("{}{}[{}] = {};\n", indent, text(s.values[0]), text(s.values[1]), text(s.values[2]));
    else if (s.streaming)
      needs_.streams.insert(type),
          out += fmt::format("{}tsr_stream_{}({}, {});\n", indent, spell(type), at, text(s.values[2]));
    else
      out += fmt::format("{}*({}u*)({}) = {};\n", indent, spell(type), at, text(s.values[2]));
  }

  std::string spelled(const Type& type) const override { return spell(type); }

  void called(const std::string& name) override {
    const Support support = ir::nest::support_of(name);
    needs_.guards |= support == Support::guards;
    if (support == Support::fields) needs_.fields.insert(name.back() - '0');
    if (support == Support::ranges) needs_.ranges.insert(name.ends_with("_f64") ? Lane::f64 : Lane::f32);
  }

  void note(const Type& type) override {
    if (type.lanes > 1) needs_.vectors.insert({type.lane, type.lanes, false});
    if (type.lane == Lane::f16) needs_.vectors.insert({type.lane, type.lanes, false});
  }

  std::string text(const Value& v) override {
    note(v->type);
    switch (v->kind) {
      case Kind::variable:
        if (v->type.pointer && v->name.starts_with("tsr_table_")) read_.insert(v->name);
        return v->name;
      case Kind::integer:
        if (v->type.lane == Lane::i64)
          return v->i < -1000000000 || v->i > 1000000000 ? fmt::format("{}LL", v->i) : fmt::format("{}", v->i);
        if (v->type.lane == Lane::i32 && v->i == -2147483648LL) return "(-2147483647 - 1)";
        return fmt::format("{}{}", v->i, v->type.lane == Lane::u32 ? "u" : "");
      case Kind::real:
        return number(v->f, v->type.lane);
      case Kind::broadcast:
        return broadcast(*v);
      case Kind::convert:
        return conversion(*v);
      case Kind::load:
        return load(*v);
      case Kind::gather: {
        const Type& index = v->args[1]->type;
        needs_.gathers.insert({v->type, index});
        note(index);
        return fmt::format("tsr_gather_{}_{}({}, {})", spell(v->type), spell(index), text(v->args[0]),
                           text(v->args[1]));
      }
      case Kind::interleave: {
        std::string list;
        for (int k = 0; k < v->type.lanes; ++k) list += fmt::format(", {}", ir::nest::interleaved_lane(*v, k));
        return fmt::format("__builtin_shufflevector({}, {}{})", text(v->args[0]), text(v->args[1]), list);
      }
      case Kind::fused: {
        const std::string a = text(v->args[0]), b = text(v->args[1]), c = text(v->args[2]);
        if (v->type.lanes == 1) return fmt::format("({} * {} + {})", a, b, c);
        needs_.fused.insert(v->type);
        return fmt::format("tsr_fused_{}({}, {}, {})", spell(v->type), a, b, c);
      }
      case Kind::iota: {
        std::string list;
        for (int k = 0; k < v->type.lanes; ++k) list += fmt::format("{}{}", k ? ", " : "", k);
        return fmt::format("({}){{{}}}", spell(v->type), list);
      }
      case Kind::address:
        return fmt::format("({} + ({}))", text(v->args[0]), text(v->args[1]));
      case Kind::call: {
        const Support support = ir::nest::support_of(v->name);
        if (support == Support::products) needs_.products.insert(v->type);
        if (support == Support::words) return field_words(*v);
        called(v->name);
        std::string list;
        for (std::size_t k = 0; k < v->args.size(); ++k) list += (k ? ", " : "") + text(v->args[k]);
        return fmt::format("{}({})", v->name, list);
      }
      case Kind::operation:
        return operation(*v);
    }
    return "";
  }

  std::string broadcast(const Node& n) {
    // s - 0 is s, the sign of a zero included.
    const Value& s = n.args[0];
    std::string scalar = text(s);
    if (!is_float(n.type.lane))
      return fmt::format("(({0})({2}) + ({1}){{0}})", name_of(n.type.lane), spell(n.type), scalar);
    // GCC computes with _Float16 in float where the processor has no half arithmetic, and then refuses to go back.
    if (n.type.lane == Lane::f16) return fmt::format("tsr_broadcast_{}({})", spell(n.type), scalar);
    return fmt::format("(({0})({2}) - ({1}){{0}})", name_of(n.type.lane), spell(n.type), scalar);
  }

  std::string conversion(const Node& n) {
    const Type& from = n.args[0]->type;
    if (n.type.pointer || n.type.lanes == 1) {
      if (n.type.pointer && !from.pointer) return fmt::format("(({})(tsr_word)({}))", spell(n.type), text(n.args[0]));
      if (n.type.pointer) return fmt::format("(({})(void*)({}))", spell(n.type), text(n.args[0]));
      return fmt::format("(({})({}))", spell(n.type), text(n.args[0]));
    }
    return fmt::format("__builtin_convertvector({}, {})", text(n.args[0]), spell(n.type));
  }

  std::string load(const Node& n) {
    std::string pointer = text(n.args[0]), index = text(n.args[1]), name = spell(n.type);
    if (n.type.lanes == 1) return fmt::format("{}[{}]", pointer, index);
    if (n.i == 1 && n.phase == 0) return fmt::format("*(const {}u*)({} + {})", name, pointer, index);
    if (n.i == 1) {
      std::string list;
      for (int k = 0; k < n.type.lanes; ++k) list += fmt::format(", {}", k + n.phase);
      return fmt::format("__builtin_shufflevector(*(const {0}u*)({1} + {2}), *(const {0}u*)({1} + {2} + {3}){4})", name,
                         pointer, index, n.type.lanes, list);
    }
    i64 odd = n.i;
    while (odd % 2 == 0) odd /= 2;
    if (odd == 1 || odd == 3) return whole_vectors(n, pointer, index);
    std::string list;
    for (int k = 0; k < n.type.lanes; ++k)
      list += fmt::format("{}{}[{} + {}]", k ? ", " : "", pointer, index, k * n.i + n.phase);
    return fmt::format("({}){{{}}}", name, list);
  }

  // One byte of every three, each in a lane of 32 bits: words first, then the bytes of every four points.
  std::string field_words(const Node& n) {
    const int lanes = n.type.lanes, field = n.name[std::string_view("tsr_field_").size()] - '0';
    const Type bytes{Lane::u8, 4 * lanes, false};
    note(bytes);
    std::string words, points;
    for (int k = 0; k < lanes; ++k) {
      words += fmt::format(", {}", 3 * (k / 4) + k % 4);
      points += fmt::format(", {}, {}, {}, {}", 16 * (k / 4) + 3 * (k % 4) + field, 4 * lanes, 4 * lanes, 4 * lanes);
    }
    const std::string from = fmt::format("*(const {}u*)({})", spell(n.type), text(n.args[0]));
    return fmt::format("(({0})__builtin_shufflevector(({1})__builtin_shufflevector({2}, {2}{3}), ({1}){{0}}{4}))",
                       spell(n.type), spell(bytes), from, words, points);
  }

  // A strided load as whole vectors, of which the wanted lanes are taken by halves. Loads of other phases share these
  // vectors and most of their halves.
  static std::string whole_vectors(const Node& n, const std::string& pointer, const std::string& index) {
    const i64 lanes = n.type.lanes;
    auto shuffle = [&](const std::string& a, const std::string& b, const std::function<i64(i64)>& lane) {
      std::string list;
      for (i64 k = 0; k < lanes; ++k) list += fmt::format(", {}", lane(k));
      return fmt::format("__builtin_shufflevector({}, {}{})", a, b, list);
    };
    std::vector<std::string> parts;
    for (i64 k = 0; k < n.i; ++k)
      parts.push_back(fmt::format("*(const {}u*)({} + {} + {})", spell(n.type), pointer, index, k * lanes));
    i64 phase = n.phase, stride = n.i;
    for (; stride % 2 == 0; stride /= 2, phase /= 2) {
      std::vector<std::string> halves;
      for (std::size_t k = 0; k < parts.size(); k += 2)
        halves.push_back(shuffle(parts[k], parts[k + 1], [&](i64 lane) { return 2 * lane + phase % 2; }));
      parts = std::move(halves);
    }
    if (stride == 1) return parts.front();
    auto at = [&](i64 k) { return 3 * k + phase; };
    std::string two = shuffle(parts[0], parts[1], [&](i64 k) { return at(k) < 2 * lanes ? at(k) : 0; });
    return shuffle(two, parts[2], [&](i64 k) { return at(k) < 2 * lanes ? k : at(k) - lanes; });
  }

  static bool has_choice(const Type& type) {
    return !type.pointer && (type.lane == Lane::f32 || type.lane == Lane::f64);
  }

  // A number beside which neither NaNs nor zeros need care: `a < b ? a : b` gives b for a NaN, and for its equal.
  static bool decides(const Value& v, bool lesser) {
    const Node& n = v->kind == Kind::broadcast ? *v->args[0] : *v;
    return n.kind == Kind::real && !std::isnan(n.f) && (n.f != 0 || std::signbit(n.f) == lesser);
  }

  std::string extreme(const Node& n, bool lesser, std::vector<std::string> a) {
    const std::string name = spell(n.type);
    const bool vector = n.type.lanes > 1, real = is_float(n.type.lane);
    bool open = !real || n.op == Op::least || n.op == Op::most || decides(n.args[1], lesser);
    if (!open && decides(n.args[0], lesser)) {
      std::swap(a[0], a[1]);
      open = true;
    }
    if (open && !vector && has_choice(n.type))
      return fmt::format("tsr_choose({0} {2} {1}, {0}, {1}, {3})", a[0], a[1], lesser ? "<" : ">",
                         name_of(n.type.lane));
    if (open && !vector && n.type.lane != Lane::i64)
      return fmt::format("({0} {2} {1} ? {0} : {1})", a[0], a[1], lesser ? "<" : ">");
    if (!vector && !real) return fmt::format("tsr_{}({}, {})", lesser ? "min" : "max", a[0], a[1]);
    const bool free = open && real;
    (free ? needs_.open_extremes : needs_.extremes).insert(n.type);
    return fmt::format("tsr_{}_{}({}, {})",
                       free     ? (lesser ? "least" : "most")
                       : lesser ? "min"
                                : "max",
                       name, a[0], a[1]);
  }

  std::string operation(const Node& n) {
    std::vector<std::string> a;
    for (const Value& arg : n.args) a.push_back(text(arg));
    std::string name = spell(n.type);
    bool vector = n.type.lanes > 1, real = is_float(n.type.lane);
    if (compares(n.op)) {
      if (!vector) return fmt::format("({} {} {})", a[0], infix(n.op), a[1]);
      return fmt::format("(({})({} {} {}))", name, a[0], infix(n.op), a[1]);
    }
    if (n.op == Op::select) {
      if (!vector && has_choice(n.type))
        return fmt::format("tsr_choose({}, {}, {}, {})", a[0], a[1], a[2], name_of(n.type.lane));
      if (!vector) return fmt::format("({} ? {} : {})", a[0], a[1], a[2]);
      needs_.selects.insert(n.type);
      return fmt::format("tsr_pick_{}({}, {}, {})", name, a[0], a[1], a[2]);
    }
    const bool lesser = n.op == Op::min || n.op == Op::least;
    if (lesser || n.op == Op::max || n.op == Op::most) return extreme(n, lesser, a);
    if (n.op == Op::abs && real && vector) {
      needs_.magnitudes.insert(n.type);
      return fmt::format("tsr_magnitude_{}({})", name, a[0]);
    }
    if (ir::is_function(n.op)) {
      needs_.functions.insert({n.op, n.type});
      std::string list = a[0];
      for (std::size_t k = 1; k < a.size(); ++k) list += ", " + a[k];
      return fmt::format(
          "{}({})",
          ir::function_name(n.op, n.type.lane == Lane::f64 ? ElementType::f64 : ElementType::f32, n.type.lanes), list);
    }
    Lane wide = unsigned_lane(n.type.lane);
    // Arithmetic that wraps: of vectors, and of scalars where C's would not.
    bool as_unsigned = (vector || (n.type.lane == Lane::i32 && !n.type.pointer)) && wraps(n.op) && wide != n.type.lane;
    std::string cast;
    if (as_unsigned) {
      Type u{wide, n.type.lanes, false};
      note(u);
      cast = "(" + spell(u) + ")";
    }
    std::string result;
    if (n.op == Op::neg && real)
      result = fmt::format("tsr_neg({}, {})", a[0], name_of(n.type.lane));
    else if (n.op == Op::neg)
      result = fmt::format("(-{}({}))", cast, a[0]);
    else if (n.op == Op::bit_not)
      result = fmt::format("(~{})", a[0]);
    else if (as_unsigned)
      result = fmt::format("({0}({1}) {2} {0}({3}))", cast, a[0], infix(n.op), a[1]);
    else if (n.op == Op::mul && real && n.type.lane != Lane::f16)
      result = fmt::format("{}({} * {})", ir::product_name(n.type.lanes * ir::nest::size_of(n.type.lane), n.type.lanes),
                           a[0], a[1]);
    else
      result = fmt::format("({} {} {})", a[0], infix(n.op), a[1]);
    return as_unsigned ? fmt::format("(({}){})", name, result) : result;
  }
  Needs needs_;
  std::set<std::string, std::less<>> read_;  // tables
  const ir::nest::Module& module_;
};

}  // namespace

ModuleText module_text(const ir::nest::Module& module) {
  return Printer(module).print();
}

std::string print_c(const ir::nest::Module& module) {
  ModuleText text = module_text(module);
  return prelude(text.needs) + text.tables + text.functions;
}

TextApart print_c_apart(const ir::nest::Module& module) {
  return Printer(module).print_apart();
}

}  // namespace tessera::emit
