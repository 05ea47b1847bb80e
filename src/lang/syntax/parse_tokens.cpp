// What every rule of the grammar is written with: the next tokens, what was expected of them, and where parsing goes on
// after an error.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lang/syntax/parser.hpp"

namespace tessera::lang {

Token& Parser::next() {
  Token& t = peek();
  if (t.kind != TokenKind::end) ++at_;
  return t;
}

bool Parser::accept(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  next();
  return true;
}

Token& Parser::expect(std::string_view symbol, const std::string& after) {
  if (!peek().is(symbol)) expected(fmt::format("'{}' after {}", symbol, after));
  return next();
}

bool Parser::touches(std::size_t ahead) const {
  return peek(ahead).span.begin == peek(ahead - 1).span.end;
}

std::string Parser::found() const {
  const Token& t = peek();
  return t.kind == TokenKind::end ? "the end of the text" : base::quoted(t.text(), 40);
}

// A missing ';' or ')' is shown where it should stand, behind the previous token, when the next one is on another line.
void Parser::expected(const std::string& what, Advice advice) {
  Span at = peek().span;
  if (at_ > 0 && (peek().newline_before || peek().kind == TokenKind::end)) {
    const Span before = previous();
    at = {before.source, before.end, before.end};
  }
  report_.fail(at, fmt::format("expected {}, found {}", what, found()), std::move(advice));
}

Name Parser::expect_name(const std::string& what) {
  if (peek().kind != TokenKind::name) expected(what);
  const Token& t = peek();
  if (is_keyword(t.text()))
    report_.fail(t.span, fmt::format("expected {}, found the keyword {}", what, base::quoted(t.text())),
                 {{}, "keywords cannot be names"});
  if (t.text().size() > 200) report_.fail(t.span, "expected a name of at most 200 characters");
  next();
  return {t.span, t.text()};
}

// After a syntax error in what began at `begin`: goes on behind it and remembers the names that it may have defined.
void Parser::skip(std::size_t begin, bool inside_block) {
  module_->complete = false;
  const std::size_t failed = at_;
  recover(inside_block);
  if (at_ == failed && at_ == begin) next();
  for (std::size_t i = begin; i < at_; ++i)
    if (tokens_[i].kind == TokenKind::name) module_->lost.push_back(tokens_[i].text());
}

// Goes behind the next ';' of this level (not of a compose), or behind a whole block; stops before what begins or ends
// a block.
void Parser::recover(bool inside_block) {
  static constexpr std::array<std::string_view, 5> beginnings = {"stencil", "vector", "parameter", "return", "struct"};
  int depth = 0;
  while (peek().kind != TokenKind::end) {
    const Token& t = peek();
    if (t.is("{")) ++depth;
    if (t.is("}")) {
      if (depth == 0 && inside_block) return;
      next();
      if (--depth <= 0) {
        if (!inside_block) accept(";");
        return;
      }
      continue;
    }
    if (depth == 0 && inside_block && (t.is_word("endfor") || t.is_word("while") || t.is_word("return"))) return;
    if (depth == 0 && t.newline_before && t.kind == TokenKind::name &&
        std::find(beginnings.begin(), beginnings.end(), t.text()) != beginnings.end() && at_ > 0)
      return;
    next();
    if (depth == 0 && t.is(";")) {
      const bool in_compose = peek().is("@") || (peek().is("[") && !inside_block) || peek().is(")");
      if (!in_compose) return;
    }
  }
}

}  // namespace tessera::lang
