// Loop nests as text, so that a pass over them can be tested as text in, text out.
//
//   table "k" f32 [3] : 0x1p+0 0x1p+1 0x1p+0
//   table "spectrum" opaque f32 [2] : 0x1p+0 0x1p+1
//   function tsr_g0 "blur" (pointers u8* P) (const i64* N) (i64 tile) {
//     let lo_1 = (mul:i64 tile 8)
//     var done_2 = lo_1
//     array f32* rows_3 5
//     set done_2 = (add:i64 done_2 1)
//     put rows_3 0 = (call:f32* tsr_row N 3)
//     for y_4 lo_1 hi_5 1 {
//       if (lt:i32 y_4 3) {
//         store p_6 x_7 (add:f32x16 (load:f32x16 p_8 x_7) (broadcast:f32x16 0.5:f32))
//       } else {
//         stream p_6 x_7 v_9
//       }
//     }
//     do NAME {
//       call tsr_zero p_6 64
//     }
//     return lo_1
//   }
//
//   expression := NAME | INT | INT ":" TYPE | REAL ":" TYPE | "(" word ":" TYPE ["/" STRIDE or HALF] ["+" PHASE]
//   {operand} ")" word       := an operation of the stage graph | convert broadcast load gather interleave fused iota
//   address
//                 | call NAME
//   TYPE       := lane ["x" lanes] ["*"]; an integer without a type is i64
//
// Reals are hexadecimal, inf or nan. The type of a name is that of its declaration. A block has a name where it may
// become a function (lower/outline.hpp).
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "ir/nest/nest.hpp"
#include "ir/text/text_reader.hpp"

namespace tessera::ir::nest {

namespace {

using ir::text::quote;

constexpr int kDeepest = 2000;  // nesting of expressions, and of statements

std::string spell(const Type& t) {
  return fmt::format("{}{}{}", name_of(t.lane), t.lanes > 1 ? fmt::format("x{}", t.lanes) : "", t.pointer ? "*" : "");
}

std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  return fmt::format("{:a}", v);
}

// The kinds that are written with a word of their own.
std::string_view word_of(Kind kind) {
  switch (kind) {
    case Kind::convert:
      return "convert";
    case Kind::broadcast:
      return "broadcast";
    case Kind::load:
      return "load";
    case Kind::gather:
      return "gather";
    case Kind::interleave:
      return "interleave";
    case Kind::fused:
      return "fused";
    case Kind::iota:
      return "iota";
    case Kind::address:
      return "address";
    case Kind::call:
      return "call";
    default:
      return "";
  }
}

// ---- printing ------------------------------------------------------------------------------------------------------

void text_of(const Value& v, std::string& out) {
  if (v->kind == Kind::variable) {
    out += v->name;
    return;
  }
  auto to = std::back_inserter(out);
  if (v->kind == Kind::integer) {
    fmt::format_to(to, "{}", v->i);
    if (v->type != Type{}) out += ":" + spell(v->type);
    return;
  }
  if (v->kind == Kind::real) {
    fmt::format_to(to, "{}:{}", real_text(v->f), spell(v->type));
    return;
  }
  fmt::format_to(to, "({}:{}", v->kind == Kind::operation ? ir::name_of(v->op) : word_of(v->kind), spell(v->type));
  bool numbered = (v->kind == Kind::load && v->i != 1) || (v->kind == Kind::interleave && v->i != 0);
  if (numbered) fmt::format_to(to, "/{}", v->i);
  if (v->phase != 0) fmt::format_to(to, "+{}", v->phase);
  if (v->kind == Kind::call) out += " " + v->name;
  for (const Value& a : v->args) {
    out += ' ';
    text_of(a, out);
  }
  out += ')';
}

std::string text_of(const Value& v) {
  std::string out;
  text_of(v, out);
  return out;
}

void print(const std::vector<Statement>& list, std::size_t depth, std::string& out);

void print(const Statement& s, std::size_t depth, std::string& out) {
  const std::string indent(2 * depth, ' ');
  auto values = [&](std::size_t from = 0) {
    std::string text;
    for (std::size_t k = from; k < s.values.size(); ++k) {
      text += ' ';
      text_of(s.values[k], text);
    }
    return text;
  };
  auto block = [&](const std::string& head) {
    out += indent + head + " {\n";
    print(s.body, depth + 1, out);
    if (!s.orelse.empty()) {
      out += indent + "} else {\n";
      print(s.orelse, depth + 1, out);
    }
    out += indent + "}\n";
  };
  switch (s.kind) {
    case StatementKind::let:
      out += fmt::format("{}let {} ={}\n", indent, s.name, values());
      return;
    case StatementKind::var:
      if (s.i > 0)
        out += fmt::format("{}array {} {} {}\n", indent, spell(s.type), s.name, s.i);
      else
        out += fmt::format("{}var {} ={}\n", indent, s.name, values());
      return;
    case StatementKind::assign:
      if (s.values.size() == 2)
        out += fmt::format("{}put {} {} = {}\n", indent, s.name, text_of(s.values[1]), text_of(s.values[0]));
      else
        out += fmt::format("{}set {} ={}\n", indent, s.name, values());
      return;
    case StatementKind::loop:
      return block(fmt::format("for {}{}", s.name, values()));
    case StatementKind::branch:
      return block("if" + values());
    case StatementKind::store:
      out += indent + (s.streaming ? "stream" : "store") + values() + "\n";
      return;
    case StatementKind::call:
      out += indent + (s.name == "return" ? "return" : "call " + s.name) + values() + "\n";
      return;
    case StatementKind::comment:
      out += indent + "comment " + quote(s.name) + "\n";
      return;
    case StatementKind::block:
      return block(s.name.empty() ? "do" : "do " + s.name);
  }
}

void print(const std::vector<Statement>& list, std::size_t depth, std::string& out) {
  for (const Statement& s : list) print(s, depth, out);
}

// ---- parsing -------------------------------------------------------------------------------------------------------

class Parser : ir::text::Reader {
 public:
  explicit Parser(std::string_view text) : Reader("loop nest", text) {}

  Module run() {
    while (next_line()) {
      if (accept_word("table"))
        table();
      else if (accept_word("function"))
        function();
      else
        fail("table or function");
    }
    return std::move(module_);
  }

 private:
  // ---- words

  std::string name() {
    skip();
    const std::size_t begin = at_;
    const std::string_view w = word();
    if (!w.empty() && (w[0] < '0' || w[0] > '9')) return std::string(w);
    at_ = begin;
    fail("a name");
  }
  Type type() {
    skip();
    const std::size_t begin = at_;
    const std::string_view w = word();
    const std::size_t cut = w.find('x');
    Type t;
    bool known = false;
    for (int k = 0; k <= static_cast<int>(Lane::f64); ++k)
      if (name_of(static_cast<Lane>(k)) == w.substr(0, cut)) t.lane = static_cast<Lane>(k), known = true;
    if (known && cut != std::string_view::npos) {
      const auto [end, error] = std::from_chars(w.data() + cut + 1, w.data() + w.size(), t.lanes);
      known = error == std::errc() && end == w.data() + w.size() && t.lanes > 1 && t.lanes <= 4096;
    }
    if (!known) {
      at_ = begin;
      fail("a type");
    }
    if (at_ < line_.size() && line_[at_] == '*') t.pointer = true, ++at_;
    return t;
  }

  // ---- names in scope

  void declare(const std::string& name, const Type& t) { scopes_.back()[name] = t; }

  std::optional<Type> find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(name); it != scope->end()) return it->second;
    return shared_memory(name);
  }
  Value known_name() {
    skip();
    const std::size_t begin = at_;
    std::string n = name();
    const std::optional<Type> t = find(n);
    if (!t) {
      at_ = begin;
      fail("a name that was declared before");
    }
    return variable(std::move(n), *t);
  }

  // ---- expressions

  // A number before ":", or an integer that stands alone.
  Value number() {
    skip();
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (end < line_.size() && std::string_view(" \t\r):").find(line_[end]) == std::string_view::npos) ++end;
    const std::string_view digits = line_.substr(at_, end - at_);
    at_ = end;
    Type t;
    if (at_ < line_.size() && line_[at_] == ':') {
      ++at_;
      t = type();
    }
    auto bad = [&](std::string_view expected) {
      at_ = begin;
      fail(expected);
    };
    if (!is_float(t.lane)) {
      i64 v = 0;
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
      if (error != std::errc() || stop != digits.data() + digits.size()) bad("an integer");
      return nest::integer(v, t);
    }
    if (digits == "nan") return nest::real(std::numeric_limits<double>::quiet_NaN(), t);
    const bool minus = digits.starts_with('-');
    std::string_view magnitude = digits.substr(minus ? 1 : 0);
    double v = 0;
    if (magnitude == "inf") {
      v = std::numeric_limits<double>::infinity();
    } else {
      const bool hexadecimal = magnitude.starts_with("0x");
      if (hexadecimal) magnitude.remove_prefix(2);
      const auto [stop, error] = std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), v,
                                                 hexadecimal ? std::chars_format::hex : std::chars_format::general);
      if (error != std::errc() || stop != magnitude.data() + magnitude.size()) bad("a number");
    }
    return nest::real(minus ? -v : v, t);
  }

  bool starts_number() {
    skip();
    if (at_ >= line_.size()) return false;
    const char c = line_[at_];
    if ((c >= '0' && c <= '9') || c == '-') return true;
    return line_.substr(at_).starts_with("inf:") || line_.substr(at_).starts_with("nan:");
  }

  Value expression(int depth = 0) {
    if (depth > kDeepest) fail("less deep nesting");
    if (starts_number()) return number();
    if (!accept('(')) return known_name();
    auto node = std::make_shared<Node>();
    skip();
    const std::size_t begin = at_;
    const std::string_view w = word();
    node->kind = Kind::operation;
    for (Kind k : {Kind::convert, Kind::broadcast, Kind::load, Kind::gather, Kind::interleave, Kind::fused, Kind::iota,
                   Kind::address, Kind::call})
      if (word_of(k) == w) node->kind = k;
    if (node->kind == Kind::operation) {
      const std::optional<Op> op = op_named(w);
      if (!op) {
        at_ = begin;
        fail("an operation");
      }
      node->op = *op;
    }
    expect(':');
    node->type = type();
    if (node->kind == Kind::load) node->i = accept('/') ? integer() : 1;
    if (node->kind == Kind::interleave) node->i = accept('/') ? integer() : 0;
    if ((node->kind == Kind::load || node->kind == Kind::interleave) && accept('+')) node->phase = integer();
    if (node->kind == Kind::call) node->name = name();
    while (!accept(')')) {
      if (at_ >= line_.size()) fail("')'");
      node->args.push_back(expression(depth + 1));
    }
    return node;
  }

  // ---- statements

  // Statements up to the line that starts with `}`, which is left open.
  std::vector<Statement> block(int depth) {
    if (depth > kDeepest) fail("less deep nesting");
    expect('{');
    end_of_line();
    std::vector<Statement> list;
    scopes_.emplace_back();
    for (;;) {
      if (!next_line()) fail("'}'");
      if (accept('}')) break;
      list.push_back(statement(depth));
    }
    scopes_.pop_back();
    return list;
  }

  Statement statement(int depth) {
    Statement s;
    auto values = [&](int count) {
      for (int k = 0; k < count; ++k) s.values.push_back(expression());
    };
    auto remaining = [&] {
      for (skip(); at_ < line_.size(); skip()) s.values.push_back(expression());
    };
    skip();
    const std::size_t begin = at_;
    const std::string_view w = word();
    if (w == "let" || w == "var") {
      s.kind = w == "let" ? StatementKind::let : StatementKind::var;
      s.name = name();
      expect('=');
      values(1);
      s.type = s.values[0]->type;
      declare(s.name, s.type);
    } else if (w == "array") {
      s.kind = StatementKind::var;
      s.type = type();
      s.name = name();
      s.i = integer();
      if (s.i < 1) fail("at least one element");
      declare(s.name, s.type);
    } else if (w == "set") {
      s.kind = StatementKind::assign;
      s.name = known_name()->name;
      expect('=');
      values(1);
    } else if (w == "put") {
      s.kind = StatementKind::assign;
      s.name = known_name()->name;
      Value index = expression();
      expect('=');
      values(1);
      s.values.push_back(std::move(index));
    } else if (w == "for") {
      s.kind = StatementKind::loop;
      s.name = name();
      values(3);
      scopes_.emplace_back();
      declare(s.name, {});
      s.body = block(depth + 1);
      scopes_.pop_back();
    } else if (w == "if" || w == "do") {
      s.kind = w == "if" ? StatementKind::branch : StatementKind::block;
      if (w == "if") values(1);
      skip();
      if (w == "do" && at_ < line_.size() && line_[at_] != '{') s.name = name();
      s.body = block(depth + 1);
      if (w == "if" && accept_word("else")) s.orelse = block(depth + 1);
    } else if (w == "store" || w == "stream") {
      s.kind = StatementKind::store;
      s.streaming = w == "stream";
      values(3);
    } else if (w == "call" || w == "return") {
      s.kind = StatementKind::call;
      s.name = w == "call" ? name() : "return";
      remaining();
    } else if (w == "comment") {
      s.kind = StatementKind::comment;
      s.name = string();
    } else {
      at_ = begin;
      fail("a statement");
    }
    end_of_line();
    return s;
  }

  void function() {
    Function f;
    f.name = name();
    if (peek('"')) f.essay = string();
    f.local = accept_word("local");
    if (accept('-')) {
      expect('>');
      f.has_result = true;
      f.result = type();
    }
    scopes_.emplace_back();
    while (accept('(')) {
      Function::Parameter p;
      p.pointers = accept_word("pointers");
      p.constant_elements = accept_word("const");
      p.type = type();
      p.name = name();
      expect(')');
      declare(p.name, p.type);
      f.parameters.push_back(std::move(p));
    }
    f.body = block(0);
    end_of_line();
    scopes_.pop_back();
    module_.functions.push_back(std::move(f));
  }

  void table() {
    Table t;
    t.name = string();
    if (accept_word("opaque")) module_.opaque.insert(module_.tables.size());
    const Type element = type();
    std::optional<ElementType> found;
    for (int k = 0; k <= static_cast<int>(ElementType::f64); ++k)
      if (static_cast<ElementType>(k) != ElementType::boolean && lane_of(static_cast<ElementType>(k)) == element.lane)
        found = static_cast<ElementType>(k);
    if (!found || element.lanes != 1 || element.pointer) fail("the type of an element");
    t.type = *found;
    expect('[');
    for (bool first = true; !accept(']'); first = false) {
      if (!first) expect(',');
      t.extents.push_back(integer());
    }
    expect(':');
    for (skip(); at_ < line_.size(); skip()) {
      // A number as an expression would have it, in the type of the table.
      std::size_t end = at_;
      while (end < line_.size() && line_[end] != ' ') ++end;
      const std::string wanted =
          fmt::format("{}:{}", line_.substr(at_, end - at_), is_float(element.lane) ? "f64" : "i64");
      Parser one(wanted);
      one.line_ = wanted;
      one.line_number_ = line_number_;
      const Value v = one.number();
      one.end_of_line();
      t.values.push_back(v->kind == Kind::real ? v->f : static_cast<double>(v->i));
      at_ = end;
    }
    scopes_.front()[fmt::format("tsr_table_{}", module_.tables.size())] = {element.lane, 1, true};
    module_.tables.push_back(std::move(t));
  }

  Module module_;
  std::vector<std::map<std::string, Type, std::less<>>> scopes_{1};
};

}  // namespace

std::string print(const Function& f) {
  std::string out;
  out += "function " + f.name;
  if (!f.essay.empty()) out += " " + quote(f.essay);
  if (f.local) out += " local";
  if (f.has_result) out += " -> " + spell(f.result);
  for (const Function::Parameter& p : f.parameters)
    out += fmt::format(" ({}{}{} {})", p.pointers ? "pointers " : "", p.constant_elements ? "const " : "",
                       spell(p.type), p.name);
  out += " {\n";
  print(f.body, 1, out);
  out += "}\n";
  return out;
}

std::string print(const Module& m) {
  std::string out;
  for (std::size_t k = 0; k < m.tables.size(); ++k) {
    const Table& t = m.tables[k];
    const Lane lane = lane_of(t.type);
    std::string extents;
    for (i64 n : t.extents) extents += fmt::format("{}{}", extents.empty() ? "" : ", ", n);
    const char* opaque = m.opaque.contains(k) ? "opaque " : "";
    out += fmt::format("table {} {}{} [{}] :", quote(t.name), opaque, name_of(lane), extents);
    for (double v : t.values) out += " " + (is_float(lane) ? real_text(v) : fmt::format("{}", static_cast<i64>(v)));
    out += "\n";
  }
  for (const Function& f : m.functions) out += print(f);
  return out;
}

Module parse_module(std::string_view text) {
  return Parser(text).run();
}

}  // namespace tessera::ir::nest
