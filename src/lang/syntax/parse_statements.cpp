// Statements, of programs and of functions, and the choices that there are none of.
#include <fmt/format.h>

#include "base/text.hpp"
#include "lang/functions.hpp"
#include "lang/syntax/parser.hpp"

namespace tessera::lang {

// The text between the parentheses that come next; "" where it is long.
std::string Parser::condition() const {
  int depth = 0;
  for (std::size_t k = 1;; ++k) {
    const Token& t = peek(k);
    if (t.kind == TokenKind::end) return "";
    if (t.is("(")) ++depth;
    if (t.is(")") && --depth == 0) {
      const Span inner{t.span.source, peek(1).span.end, t.span.begin};
      const std::string_view text = base::trim(inner.text());
      return text.size() <= 60 && text.find('\n') == std::string_view::npos ? std::string(text) : "";
    }
  }
}

// Goes to the last part of an `if` with all that belongs to it, so that recovery ends behind it.
void Parser::skip_choice() {
  const auto balanced = [&](std::string_view open, std::string_view close) {
    int depth = 0;
    do {
      if (peek().is(open)) ++depth;
      if (next().is(close)) --depth;
    } while (depth > 0 && peek().kind != TokenKind::end);
  };
  const auto branch = [&] {  // where it can be gone on from
    std::size_t at = at_;
    if (peek().is("{")) {
      balanced("{", "}");
      return at;
    }
    while (peek().kind != TokenKind::end && !peek().is(";") && !peek().is("}")) next();
    at = at_;
    accept(";");
    return at;
  };
  for (;;) {
    next();
    if (peek().is("(")) balanced("(", ")");
    std::size_t last = branch();
    if (peek().is_word("else")) {
      next();
      if (peek().is_word("if")) continue;
      last = branch();
    }
    at_ = last;
    return;
  }
}

// `if` and `switch` are no words of the language, and may be names. Written as in C they get help.
void Parser::refuse_choice(bool at_a_point) {
  const Token t = peek();
  if (!(t.is_word("if") || t.is_word("switch")) || !peek(1).is("(")) return;
  const std::string test = condition(), word(t.text());
  const std::string value = fmt::format("{} ? A : B", test.empty() || word == "switch" ? "CONDITION" : test);
  skip_choice();
  if (at_a_point)
    report_.fail(
        t.span,
        fmt::format("{} '{}' has no meaning inside a stencil or function: expected NAME = ...; or return",
                    word == "if" ? "an" : "a", word),
        {{"a name is given its value once, so what is chosen is the value"}, fmt::format("write NAME = {};", value)});
  report_.fail(t.span,
               fmt::format("{} '{}' has no meaning between images: expected a statement such as NAME = ...;",
                           word == "if" ? "an" : "a", word),
               {{"which images are computed is fixed before the program runs; values are chosen at every point"},
                fmt::format("write stencil choose(vector#2 float X, float t) {{ return {}; }}",
                            test.empty() ? "X > t ? A : B" : value)});
}

// statement := loop | test_loop | NAME [ versions ] [ [ "@" ] "[" items "]" ] "=" e ";"
const Statement* Parser::statement() {
  if (peek().is_word("for")) return loop(Where::image, &Parser::statement);
  if (peek().is_word("do")) return test_loop();
  refuse_choice(false);
  where_ = Where::image;
  Statement& s = module_->statements.emplace_back();
  s.span = peek().span;
  s.name = expect_name("a statement such as NAME = ...;");
  if (peek().is("<")) s.version = versions(s.name);
  if (peek().is("@")) {
    next();
    s.kind = Statement::spread;
    s.place = index_items(true, false);
  } else if (peek().is("[")) {
    s.kind = Statement::paste;
    s.place = index_items(false, true);
  }
  expect("=", base::quoted(s.name.text));
  s.value = expression(Where::image);
  expect(";", "the statement");
  s.span = join(s.span, previous());
  return &s;
}

// loop := "for" NAME "=" e ".." e { statement } "endfor", of images or at a point
const Statement* Parser::loop(Where where, const Statement* (Parser::*inner)()) {
  const Nest nest(*this);
  Statement& s = module_->statements.emplace_back();
  s.kind = Statement::loop;
  where_ = where;
  loop_head(s);
  loop_body(s, "endfor", inner);
  next();
  accept(";");
  return &s;
}

// test_loop := "do" NAME "=" e ".." e { statement } "while" "(" e ")" ";"
const Statement* Parser::test_loop() {
  const Nest nest(*this);
  Statement& s = module_->statements.emplace_back();
  s.kind = Statement::test_loop;
  where_ = Where::image;
  loop_head(s);
  loop_body(s, "while", &Parser::statement);
  next();
  expect("(", "'while'");
  s.value = expression(Where::image);
  expect(")", "the test");
  expect(";", "the test");
  return &s;
}

void Parser::loop_head(Statement& s) {
  s.span = next().span;
  try {
    s.range = range();
    tokens_[at_ - 1].role = Role::loop_head_end;
  } catch (const Failed&) {
    s.range.lo = s.range.hi = nullptr;
    skip(at_, true);
  }
  s.span = join(s.span, previous());
}

// Statements up to the word that ends them.
void Parser::loop_body(Statement& s, std::string_view end, const Statement* (Parser::*inner)()) {
  while (!peek().is_word(end)) {
    const bool other_end = peek().is_word("endfor") || peek().is_word("while");
    if (peek().kind == TokenKind::end || peek().is("}") || peek().is_word("return") || other_end)
      expected(base::quoted(end));
    const std::size_t begin = at_;
    try {
      s.body.push_back((this->*inner)());
    } catch (const Failed&) {
      skip(begin, true);
    }
  }
}

// Goes behind its test, so that recovery finds no part of it.
void Parser::refuse_test_loop() {
  const Span at = peek().span;
  while (peek().kind != TokenKind::end && !peek().is_word("while") && !peek().is("}")) next();
  while (peek().kind != TokenKind::end && !peek().is(";") && !peek().is("}")) next();
  report_.fail(at, "a loop with a test has no meaning inside a stencil or function: expected NAME = ...; or return",
               {{"how often a point is computed is fixed before the program runs"}, "write for k = 0..7 ... endfor"});
}

// local := NAME "=" e ";" | loop
const Statement* Parser::local() {
  if (peek().is_word("for")) return loop(Where::point, &Parser::local);
  Statement& s = module_->statements.emplace_back();
  s.span = peek().span;
  refuse_choice(true);
  if (peek().is_word("do") || peek().is_word("while")) refuse_test_loop();
  s.name = expect_name("NAME = ...; or return");
  expect("=", base::quoted(s.name.text));
  s.value = expression(Where::point);
  expect(";", "the value of " + base::quoted(s.name.text));
  s.span = join(s.span, previous());
  return &s;
}

}  // namespace tessera::lang
