// Expressions: one precedence table, climbed from below.
//
// The operators are those of C. Between images `u<i-1>` is a version and `a < b` a comparison: what follows tells.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/process/deadline.hpp"
#include "base/text.hpp"
#include "lang/functions.hpp"
#include "lang/syntax/parser.hpp"

namespace tessera::lang {
namespace {

struct Operator {
  std::string_view text;
  int precedence = 0;  // 0: none
};

constexpr int shifts = 8, additive = 9;
constexpr std::array<Operator, 19> operators = {{{"||", 1},
                                                 {"&&", 2},
                                                 {"|", 3},
                                                 {"&", 5},
                                                 {"==", 6},
                                                 {"!=", 6},
                                                 {"<", 7},
                                                 {">", 7},
                                                 {"<=", 7},
                                                 {">=", 7},
                                                 {"<<", 8},
                                                 {">>", 8},
                                                 {"+", 9},
                                                 {"-", 9},
                                                 {"*", 10},
                                                 {"/", 10},
                                                 {"%", 10},
                                                 {"^", 4},
                                                 {"", 0}}};

constexpr std::string_view power_message =
    "'^' is no operator here: some read it as a power, others as an exclusive or";

}  // namespace

Parser::Nest::Nest(Parser& p) : parser(p) {
  if (++parser.nesting_ > max_nesting) {
    const Span at = parser.peek().span;
    parser.nesting_ = 0;
    parser.report_.error(at, fmt::format("nested more than {} levels deep", max_nesting),
                         {{}, "name inner parts in statements of their own"});
    throw Stop{};
  }
}

Expr& Parser::make(ExprKind kind, Span begin) {
  if (static_cast<i64>(module_->exprs.size()) >= max_nodes_) {
    report_.error(begin,
                  fmt::format("the text has more than {} operations and numbers", base::format_count(max_nodes_)),
                  {{}, "write repeated terms as a loop or a reduction, and give large tables with --table name=FILE"});
    throw Stop{};
  }
  base::count_towards_deadline();
  Expr& e = module_->exprs.emplace_back();
  e.kind = kind;
  e.span = begin;
  return e;
}

const Expr* Parser::finish(Expr& e) {
  e.span = join(e.span, previous());
  for (const Expr* a : e.args) e.depth = std::max(e.depth, a->depth + 1);
  for (const CallArgument& a : e.arguments) {
    e.depth = std::max(e.depth, a.value->depth + 1);
    for (const Expr* key : a.keys) e.depth = std::max(e.depth, key->depth + 1);
  }
  for (const IndexItem& i : e.index)
    for (const Expr* part : {i.a, i.b})
      if (part != nullptr) e.depth = std::max(e.depth, part->depth + 1);
  for (const Expr* part : e.along) e.depth = std::max(e.depth, part->depth + 1);
  for (const Expr* part : {e.rank, e.test})
    if (part != nullptr) e.depth = std::max(e.depth, part->depth + 1);
  for (const ComposePiece& p : e.pieces) e.depth = std::max(e.depth, p.value->depth + 1);
  if (e.depth > 2 * max_nesting) {
    report_.error(e.span, fmt::format("nested more than {} levels deep", 2 * max_nesting),
                  {{}, "name inner parts in statements of their own"});
    throw Stop{};
  }
  return &e;
}

const Expr* Parser::expression(Where where) {
  const Where outer = std::exchange(where_, where);
  const Expr* e = select_expression();
  where_ = outer;
  return e;
}

// select := binary [ "?" select ":" select ]
const Expr* Parser::select_expression() {
  const Span begin = peek().span;
  const Expr* condition = binary_expression(1);
  if (!accept("?")) return condition;
  const Nest nest(*this);
  Expr& e = make(ExprKind::select, begin);
  e.args = {condition, select_expression()};
  expect(":", "the first choice of '?'");
  e.args.push_back(select_expression());
  return finish(e);
}

// binary := unary { operator unary }
const Expr* Parser::binary_expression(int min_precedence) {
  const Span begin = peek().span;
  const Expr* left = unary_expression();
  for (;;) {
    std::string_view text = peek().kind == TokenKind::symbol ? peek().text() : "";
    if (text == ">" && touches(1) && (peek(1).is("=") || peek(1).is(">"))) text = peek(1).is("=") ? ">=" : ">>";
    const Operator op =
        *std::find_if(operators.begin(), operators.end() - 1, [&](const Operator& o) { return o.text == text; });
    if (op.precedence == 0) return left;
    if (op.text == "^") report_.fail(peek().span, std::string(power_message), {{}, "write pow(a, b) or xor(a, b)"});
    if (op.precedence < min_precedence) return left;
    Expr& e = make(ExprKind::binary, begin);
    e.name = {peek().span, op.text};
    next();
    if (op.text == ">=" || op.text == ">>") {
      peek().role = Role::glued;
      e.name.span = join(e.name.span, next().span);
    }
    const Expr* right = binary_expression(op.precedence + 1);
    e.args = {left, right};
    e.span = join(begin, previous());
    e.depth = std::max(left->depth, right->depth + 1);
    left = &e;
  }
}

// unary := ( "-" | "!" | "~" | "+" ) unary | postfix
const Expr* Parser::unary_expression() {
  Token& t = peek();
  if (t.is("-") || t.is("!") || t.is("~") || t.is("+")) {
    const Nest nest(*this);
    t.role = Role::prefix;
    Expr& e = make(ExprKind::unary, t.span);
    e.name = {t.span, t.text()};
    next();
    e.args = {unary_expression()};
    return finish(e);
  }
  return postfix_expression();
}

// Is the ".0" that follows one of its parts, though read as a number? Behind a name inside a stencil nothing else can
// be meant, so that it may stand apart.
bool Parser::has_number(const Expr& e) const {
  const bool apart = e.kind == ExprKind::name && where_ == Where::point;
  const std::string_view text = peek().text();
  return peek().kind == TokenKind::real && (apart || peek().span.begin == previous().end) && text.size() > 1 &&
         text[0] == '.' && text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// postfix := primary { "@" "[" items "]" | "[" items "]" | "." NAME | "." DIGITS }
const Expr* Parser::postfix_expression() {
  const Span begin = peek().span;
  const Expr* e = primary_expression();
  for (;;) {
    if (accept("@")) {
      Expr& access = make(ExprKind::access, begin);
      access.args = {e};
      access.index = index_items(true, false);
      e = finish(access);
    } else if (peek().is("[")) {
      Expr& subscript = make(ExprKind::subscript, begin);
      subscript.args = {e};
      subscript.index = index_items(false, where_ == Where::image);
      e = finish(subscript);
    } else if (accept(".")) {
      Expr& field = make(ExprKind::field, begin);
      field.args = {e};
      field.name = expect_name("a field after '.'");
      e = finish(field);
    } else if (has_number(*e)) {
      Expr& field = make(ExprKind::field, begin);
      peek().role = Role::glued;
      const Token& number = next();
      field.args = {e};
      field.name = {number.span, number.text().substr(1)};
      e = finish(field);
    } else {
      return e;
    }
  }
}

// primary := number | NAME | NAME versions | NAME arguments | cast | saturate | record | reduce | compose
//          | stack | "(" e ")"
const Expr* Parser::primary_expression() {
  const Token& t = peek();
  switch (t.kind) {
    case TokenKind::integer:
    case TokenKind::real:
    case TokenKind::real_float:
      return number();
    case TokenKind::symbol: {
      if (!t.is("(")) break;
      if (where_ == Where::image && (peek(1).is("@") || peek(1).is("["))) return compose_expression();
      const Nest nest(*this);
      next();
      const Expr* e = select_expression();
      expect(")", "the expression in parentheses");
      return e;
    }
    case TokenKind::name: {
      if (t.is_word("struct")) return record_expression();
      if (t.is_word("cast") && peek(1).is("<")) return cast_expression(false);
      if (t.is_word("saturate") && peek(1).is("<")) return cast_expression(true);
      if (begins_reduction()) return reduce_expression();
      if (where_ == Where::image && t.is_word("for")) return stack_expression();
      const Span begin = t.span;
      if (find_type(t.text()) && peek(1).is("(") && is_keyword(t.text()))
        report_.fail(t.span, fmt::format("expected an expression, found the type {}", base::quoted(t.text())),
                     {{}, fmt::format("write cast<{}>(...)", t.text())});
      const Name name = expect_name("an expression");
      if (peek().is("(")) {
        Expr& call = make(ExprKind::call, begin);
        call.name = name;
        call.arguments = call_arguments();
        if (!call.arguments.empty() && !call.arguments.front().keys.empty()) call.kind = ExprKind::keyed;
        return finish(call);
      }
      if (peek().is("<") && where_ == Where::image && holds_version()) {
        const Nest nest(*this);
        Expr& version = make(ExprKind::version, begin);
        version.name = name;
        version.args = versions(name);
        return finish(version);
      }
      Expr& e = make(ExprKind::name, begin);
      e.name = name;
      return finish(e);
    }
    default:
      break;
  }
  expected("an expression");
}

const Expr* Parser::number() {
  const Token& t = next();
  Expr& e = make(ExprKind::number, t.span);
  std::string_view text = t.text();
  if (t.kind == TokenKind::integer) {
    const bool hexadecimal = text.size() > 2 && (text[1] == 'x' || text[1] == 'X');
    if (hexadecimal) text.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (status != std::errc{} || end != text.data() + text.size()) {
      report_.error(t.span, fmt::format("integer {} does not fit 32 bits: expected at most {}",
                                        base::quoted(t.text(), 40), hexadecimal ? "0xffffffff" : "4294967295"));
      value = 0;
    }
    e.value = value;
    e.type = value <= INT32_MAX ? ElementType::i32 : ElementType::u32;
    return finish(e);
  }
  e.type = ElementType::f64;
  if (t.kind == TokenKind::real_float) {
    e.type = ElementType::f32;
    text.remove_suffix(1);
  }
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), e.value);
  const bool fits = e.type == ElementType::f64 || std::isfinite(static_cast<float>(e.value));
  if (status != std::errc{} || end != text.data() + text.size() || !fits) {
    report_.error(t.span,
                  fmt::format("number {} is out of the range of {}", base::quoted(t.text(), 40), name_of(e.type)));
    e.value = 0;
  }
  if (e.type == ElementType::f32) e.value = static_cast<float>(e.value);
  return finish(e);
}

// cast := ( "cast" | "saturate" ) "<" TYPE ">" "(" e ")"
const Expr* Parser::cast_expression(bool saturate) {
  const Nest nest(*this);
  Expr& e = make(saturate ? ExprKind::saturate : ExprKind::cast, next().span);
  expect("<", "'cast'").role = Role::angle_open;
  e.type_name = type_name(false);
  expect(">", "the type").role = Role::angle_close;
  expect("(", "the type").role = Role::call_open;
  e.args = {select_expression()};
  expect(")", "the value");
  return finish(e);
}

// record := "struct" NAME "(" [ e { "," e } ] ")"
const Expr* Parser::record_expression() {
  Expr& e = make(ExprKind::record, next().span);
  e.name = expect_name("the name of a struct");
  if (!peek().is("(")) expected("'(' and the fields of the struct");
  e.arguments = call_arguments();
  return finish(e);
}

// arguments := "(" [ argument { "," argument } ] ")" | "(" e "into" e { "," e } ")"     argument := e [ ":" modes ]
std::vector<CallArgument> Parser::call_arguments() {
  const Nest nest(*this);
  std::vector<CallArgument> all;
  expect("(", "the name").role = Role::call_open;
  if (accept(")")) return all;
  do {
    CallArgument a;
    a.value = select_expression();
    if (where_ == Where::image && peek().is(":")) {
      peek().role = Role::mode_colon;
      next();
      a.modes = modes();
    }
    if (where_ == Where::image && all.empty() && peek().is_word("into")) {
      next();
      do a.keys.push_back(select_expression());
      while (accept(","));
    }
    all.push_back(std::move(a));
  } while (accept(","));
  expect(")", "the arguments");
  return all;
}

// modes := mode | "[" mode { "," mode } "]"      mode := NAME [ "(" e ")" ]
Modes Parser::modes() {
  Modes m;
  m.span = peek().span;
  const auto one = [&] {
    if (peek().kind != TokenKind::name) expected("a boundary mode such as mirror");
    Mode mode;
    mode.name = {peek().span, peek().text()};
    next();
    if (peek().is("(")) {
      next().role = Role::call_open;
      mode.value = select_expression();
      expect(")", "the value of the mode");
    }
    m.items.push_back(mode);
  };
  if (peek().is("[")) {
    m.per_dimension = true;
    next().role = Role::offset_open;
    do one();
    while (accept(","));
    expect("]", "the modes");
  } else {
    one();
  }
  m.span = join(m.span, previous());
  return m;
}

// items := "[" item { "," item } "]"
std::vector<IndexItem> Parser::index_items(bool pairs, bool ranges) {
  const Nest nest(*this);
  std::vector<IndexItem> all;
  expect("[", "'@'").role = pairs ? Role::offset_open : Role::index_open;
  do all.push_back(index_item(pairs, ranges));
  while (accept(","));
  expect("]", "the indices");
  return all;
}

// item := e | "(" e "," e ")" | [ e ] ".." [ e ]
IndexItem Parser::index_item(bool pairs, bool ranges) {
  IndexItem item;
  item.span = peek().span;
  if (pairs && peek().is("(") && paren_holds_pair()) {
    item.kind = IndexItem::pair;
    next();
    item.a = select_expression();
    expect(",", "the offset");
    item.b = select_expression();
    expect(")", "the stride");
  } else if (ranges && accept("..")) {
    item.kind = IndexItem::range;
    if (!peek().is(",") && !peek().is("]")) item.b = select_expression();
  } else {
    item.a = select_expression();
    if (ranges && accept("..")) {
      item.kind = IndexItem::range;
      if (!peek().is(",") && !peek().is("]")) item.b = select_expression();
    }
  }
  item.span = join(item.span, previous());
  return item;
}

// Whether the parenthesis here has a comma at its own level: (a, b) against (a + b) * c.
bool Parser::paren_holds_pair() const {
  int depth = 0;
  for (std::size_t i = 0;; ++i) {
    const Token& t = peek(i);
    if (t.kind == TokenKind::end || t.is(";") || t.is("{")) return false;
    if (t.is("(") || t.is("[")) ++depth;
    if (t.is(")") || t.is("]")) --depth;
    if (depth == 0) return false;
    if (depth == 1 && t.is(",")) return true;
  }
}

// Whether the '<' here begins a version, u<t-1>, and is no comparison: integer arithmetic and a '>' follow, and no
// operand of that.
bool Parser::holds_version() const {
  int depth = 0;
  for (std::size_t i = 1;; ++i) {
    const Token& t = peek(i);
    if (depth == 0 && t.is(">")) {
      const Token& behind = peek(i + 1);
      return behind.kind == TokenKind::symbol && !behind.is("(") && !behind.is("!") && !behind.is("~");
    }
    if (t.is("(") || t.is("[")) ++depth;
    if ((t.is(")") || t.is("]")) && --depth < 0) return false;
    const bool operand = t.kind == TokenKind::name || t.kind == TokenKind::integer;
    if (!operand && !t.is(",") && !t.is("[") && !t.is("]") && !t.is("(") && !t.is(")") && !t.is("+") && !t.is("-") &&
        !t.is("*") && !t.is("/") && !t.is("%"))
      return false;
  }
}

// range := NAME "=" e ".." e
Range Parser::range() {
  Range r;
  r.name = expect_name("a name for the index");
  expect("=", base::quoted(r.name.text));
  r.lo = binary_expression(shifts);
  expect("..", "the lower bound");
  r.hi = binary_expression(shifts);
  return r;
}

// Whether a window begins here, and no call: sum(i = ..., sum(c : X.0, or rank(k; i = ...
bool Parser::begins_reduction() const {
  const Reduction* reduction = find_reduction(peek().text());
  if (reduction == nullptr || !peek(1).is("(")) return false;
  const auto begins_range = [&](std::size_t i) {
    const bool over = where_ == Where::point && peek(i + 1).is(":");
    return peek(i).kind == TokenKind::name && (peek(i + 1).is("=") || over);
  };
  if (begins_range(2)) return true;
  if (!reduction->ranked) return false;
  int depth = 0;
  for (std::size_t i = 1;; ++i) {
    const Token& t = peek(i);
    if (t.kind == TokenKind::end || t.is("{") || t.is("}")) return false;
    if (t.is("(") || t.is("[")) ++depth;
    if (t.is(")") || t.is("]")) --depth;
    if (depth == 0) return false;
    if (t.is(";")) return depth == 1 && begins_range(i + 1);
  }
}

// window := range | NAME ":" NAME "." INT
Range Parser::window_range() {
  if (!peek(1).is(":")) return range();
  Range r;
  r.name = expect_name("a name for the index");
  next();
  r.over = postfix_expression();
  if (!number_of_field(*r.over) || r.over->args[0]->kind != ExprKind::name)
    report_.fail(
        r.over->span,
        fmt::format("{} is no dimension of an image: expected one such as X.0", base::quoted(r.over->span.text(), 40)),
        {{}, fmt::format("bounds are written {} = lo..hi", r.name.text)});
  return r;
}

// reduce := NAME "(" [ e ";" ] window { "," window } [ ";" e ] ")" ( "(" chosen ")" | "{" { local } "return" chosen ";"
// "}" )
const Expr* Parser::reduce_expression() {
  const Nest nest(*this);
  Expr& e = make(ExprKind::reduce, peek().span);
  e.name = {peek().span, peek().text()};
  next();
  expect("(", "the reduction").role = Role::call_open;
  if (find_reduction(e.name.text)->ranked) {
    e.rank = select_expression();
    expect(";", "the rank").role = Role::bounds_end;
  }
  do e.ranges.push_back(where_ == Where::point ? window_range() : range());
  while (accept(","));
  if (peek().is(";")) {
    next().role = Role::bounds_end;
    e.test = select_expression();
  }
  expect(")", e.test != nullptr ? "the test" : "the bounds");
  if (where_ == Where::point && peek().is("{")) {
    reduced_block(e);
    return finish(e);
  }
  expect("(", "the bounds");
  chosen(e);
  expect(")", "the reduced expression");
  return finish(e);
}

// chosen := e [ ":" e { "," e } ]
void Parser::chosen(Expr& e) {
  e.args = {select_expression()};
  if (!accept(":")) return;
  do e.along.push_back(select_expression());
  while (accept(","));
}

// Names of one element of a window, and what is reduced. An error in it is one of the whole: its end is not that of the
// stencil.
void Parser::reduced_block(Expr& e) {
  next().role = Role::value_open;
  const std::size_t begin = at_;
  try {
    while (!peek().is_word("return")) {
      if (peek().is("}") || peek().kind == TokenKind::end) expected("NAME = ...; or return");
      e.body.push_back(local());
    }
    next();
    chosen(e);
    expect(";", "the returned value");
    expect("}", "the return of " + base::quoted(e.name.text)).role = Role::value_close;
  } catch (const Failed&) {
    at_ = begin;
    for (int depth = 1; depth > 0 && peek().kind != TokenKind::end; next()) {
      if (peek().is("{")) ++depth;
      if (peek().is("}")) --depth;
    }
    throw;
  }
}

// stack := "for" range ":" e
const Expr* Parser::stack_expression() {
  const Nest nest(*this);
  Expr& e = make(ExprKind::stack, next().span);
  e.ranges.push_back(range());
  expect(":", "the upper bound").role = Role::stack_colon;
  e.args = {select_expression()};
  return finish(e);
}

// versions := "<" e { "," e } ">"
std::vector<const Expr*> Parser::versions(const Name& name) {
  std::vector<const Expr*> all;
  expect("<", base::quoted(name.text)).role = Role::angle_open;
  do all.push_back(binary_expression(additive));
  while (accept(","));
  expect(">", "the version of " + base::quoted(name.text)).role = Role::angle_close;
  return all;
}

// compose := "(" piece { piece } ")"      piece := [ "@" ] "[" items "]" "=" e ";"
const Expr* Parser::compose_expression() {
  const Nest nest(*this);
  Expr& e = make(ExprKind::compose, peek().span);
  next().role = Role::block_open;
  while (!peek().is(")")) {
    ComposePiece p;
    p.span = peek().span;
    if (!peek().is("@") && !peek().is("[")) expected("a piece such as '@[(0,2),(0,1)] = a;' or ')'");
    p.strided = accept("@");
    p.place = index_items(p.strided, !p.strided);
    p.span = join(p.span, previous());
    expect("=", "the place of the piece");
    p.value = select_expression();
    expect(";", "the piece");
    e.pieces.push_back(std::move(p));
  }
  next().role = Role::block_close;
  return finish(e);
}

}  // namespace tessera::lang
