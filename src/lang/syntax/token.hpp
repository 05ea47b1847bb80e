// Tokens: what the lexer hands to the parser and to the formatter.
//
// Keywords are names here; the parser knows them by their text, because most words of the language (sum, table, half,
// import ...) are ordinary names wherever the grammar does not ask for them. `>` is always a token of its own: the
// parser joins `>=` and `>>` where they touch, since `g<i>=f(x);` is an assignment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/syntax/report.hpp"
#include "lang/syntax/source.hpp"

namespace tessera::lang {

enum class TokenKind : std::uint8_t { end, name, integer, real, real_float, string, symbol };

// How the formatter sets a token; the parser fills it in where the text alone does not say.
enum class Role : std::uint8_t {
  plain,
  prefix,      // - ! ~ before an operand
  angle_open,  // of a version or cast
  angle_close,
  glued,        // second half of >= or >>: no blank before it
  call_open,    // ( of a call or of struct NAME(
  index_open,   // [ of a gather, look-up or sub-domain
  offset_open,  // [ after @, of extents, of a list of modes
  table_open,   // { of a table's values
  table_close,
  mode_colon,  // f(a:mirror)
  block_open,  // { of a function or struct, and the ( of a compose
  block_close,
  value_open,  // { of what a reduction gives: the expression goes on behind its end
  value_close,
  stack_colon,    // `for k = a..b: image`
  bounds_end,     // ; in the bounds of a reduction
  loop_head_end,  // last token of `for i = a..b`: the body starts on a new line
};

struct Comment {
  std::uint32_t begin = 0, end = 0;
  bool own_line = false;      // nothing but white space before it on its line
  bool blank_before = false;  // an empty line stands above
};

struct Token {
  TokenKind kind = TokenKind::end;
  Role role = Role::plain;
  bool newline_before = false, blank_before = false;
  std::uint32_t first_comment = 0;  // comments [first_comment, next token's first_comment) stand before this token
  Span span;

  std::string_view text() const { return span.text(); }
  bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text() == symbol; }
  bool is_word(std::string_view word) const { return kind == TokenKind::name && text() == word; }
};

struct TokenList {
  std::vector<Token> tokens;  // the last one is `end`
  std::vector<Comment> comments;
};

// Faults go to the report; a text that is no text at all (NUL bytes, broken UTF-8) is one error and Stop.
TokenList tokenize(const Source&, Report&);

// The reserved words of the published language.
bool is_keyword(std::string_view);

}  // namespace tessera::lang
