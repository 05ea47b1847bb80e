// Text to tokens.
//
//   name    := letter { letter | digit | "_" }
//   number  := digits [ "." digits ] [ ("e"|"E") ["+"|"-"] digits ] [ "f" ]   -- "3." and ".5" too, but "1..4" is 1 ..
//   4
//            | ("0x"|"0X") hexadecimal digits
//   string  := '"' characters '"'                                             -- of imports only
//   comment := "//" to the end of the line | "/*" to "*/"
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lang/syntax/token.hpp"

namespace tessera::lang {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

constexpr std::array<std::string_view, 7> two_characters = {"..", "&&", "||", "==", "!=", "<=", "<<"};
constexpr std::string_view one_character = "()[]{}<>=+-*/%!&|~^?:;,.@#";

// Length of the UTF-8 sequence at `at`, or 0 when it is broken.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : (lead & 0xf0) == 0xe0       ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  return length;
}

class Lexer {
 public:
  Lexer(const Source& source, Report& report) : source_(source), text_(source.text), report_(report) {}

  TokenList run() {
    check_is_text();
    while (skip_space()) {
      const std::size_t begin = at_;
      if (is_letter(text_[at_])) {
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
        push(TokenKind::name, begin);
      } else if (is_digit(text_[at_]) || (text_[at_] == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        number();
      } else if (text_[at_] == '"') {
        string();
      } else {
        symbol();
      }
    }
    push(TokenKind::end, at_);
    return std::move(out_);
  }

 private:
  Span span(std::size_t begin, std::size_t end) const {
    return {&source_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }

  void push(TokenKind kind, std::size_t begin) {
    Token t;
    t.kind = kind;
    t.newline_before = newline_;
    t.blank_before = blank_;
    t.first_comment = first_comment_;
    t.span = span(begin, at_);
    out_.tokens.push_back(t);
    newline_ = blank_ = false;
    first_comment_ = static_cast<std::uint32_t>(out_.comments.size());
  }

  [[noreturn]] void not_text(std::size_t at, const std::string& what) {
    report_.error(span(at, at + 1), "the file is not Forma text: " + what);
    throw Stop{};
  }

  void check_is_text() {
    for (std::size_t i = 0; i < text_.size();) {
      const char c = text_[i];
      const std::size_t length = sequence_length(text_, i);
      const bool control = static_cast<unsigned char>(c) < 0x20 && !is_blank(c);
      if (length == 0 || control || c == 0x7f)
        not_text(i, fmt::format("byte 0x{:02x} at offset {} is no character of UTF-8 text",
                                static_cast<unsigned>(static_cast<unsigned char>(c)), i));
      i += length;
    }
  }

  // White space and comments; false at the end of the text.
  bool skip_space() {
    int newlines = 0;
    bool own_line = out_.tokens.empty();
    const auto comment = [&](std::size_t begin, std::size_t end) {
      out_.comments.push_back(
          {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), own_line, newlines > 1});
      at_ = end;
      newlines = 0;
    };
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        ++newlines;
        own_line = newline_ = true;
        ++at_;
      } else if (is_blank(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        std::size_t end = std::min(text_.find('\n', at_), text_.size());
        comment(at_, end);
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t close = text_.find("*/", at_ + 2);
        if (close == std::string_view::npos) {
          report_.error(span(at_, at_ + 2), "comment without an end", {{}, "close it with '*/'"});
          throw Stop{};
        }
        comment(at_, close + 2);
      } else {
        break;
      }
    }
    blank_ = newlines > 1;
    return at_ < text_.size();
  }

  void digits() {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }

  void number() {
    const std::size_t begin = at_;
    const std::string_view prefix = text_.substr(at_, 2);
    TokenKind kind = TokenKind::integer;
    if ((prefix == "0x" || prefix == "0X") && at_ + 2 < text_.size() && is_hexadecimal(text_[at_ + 2])) {
      at_ += 2;
      while (at_ < text_.size() && is_hexadecimal(text_[at_])) ++at_;
    } else {
      kind = decimal();
    }
    if (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) {
      const std::size_t tail = at_;
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      report_.error(span(begin, at_), fmt::format("{} is not a number: expected an operator after {}, found {}",
                                                  base::quoted(text_.substr(begin, at_ - begin)),
                                                  base::quoted(text_.substr(begin, tail - begin)),
                                                  base::quoted(text_.substr(tail, at_ - tail))));
      push(kind, begin);
      out_.tokens.back().span.end = static_cast<std::uint32_t>(tail);
      return;
    }
    push(kind, begin);
  }

  TokenKind decimal() {
    bool real = false;
    digits();
    if (at_ < text_.size() && text_[at_] == '.' && text_.substr(at_, 2) != "..") {
      real = true;
      ++at_;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      std::size_t digit = at_ + 1;
      if (digit < text_.size() && (text_[digit] == '+' || text_[digit] == '-')) ++digit;
      if (digit < text_.size() && is_digit(text_[digit])) {
        real = true;
        at_ = digit;
        digits();
      }
    }
    if (at_ == text_.size() || (text_[at_] != 'f' && text_[at_] != 'F'))
      return real ? TokenKind::real : TokenKind::integer;
    ++at_;
    return TokenKind::real_float;
  }

  void string() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n') {
      at_ = std::min(end, text_.size());
      report_.error(span(begin, at_), "text without a closing '\"'");
    } else {
      at_ = end + 1;
    }
    push(TokenKind::string, begin);
  }

  void symbol() {
    const std::size_t begin = at_;
    const std::string_view two = text_.substr(at_, 2);
    if (std::find(two_characters.begin(), two_characters.end(), two) != two_characters.end()) {
      at_ += 2;
    } else if (one_character.find(text_[at_]) != std::string_view::npos) {
      ++at_;
    } else {
      while (at_ < text_.size() && !is_blank(text_[at_]) && !is_letter(text_[at_]) && !is_digit(text_[at_]) &&
             one_character.find(text_[at_]) == std::string_view::npos)
        at_ += std::max<std::size_t>(1, sequence_length(text_, at_));
      report_.error(span(begin, at_),
                    fmt::format("{} has no meaning here", base::quoted(text_.substr(begin, at_ - begin), 20)),
                    {{}, "names are made of letters, digits and '_'"});
      return;
    }
    push(TokenKind::symbol, begin);
  }

  const Source& source_;
  std::string_view text_;
  Report& report_;
  TokenList out_;
  std::size_t at_ = 0;
  bool newline_ = false, blank_ = false;
  std::uint32_t first_comment_ = 0;
};

}  // namespace

TokenList tokenize(const Source& source, Report& report) {
  return Lexer(source, report).run();
}

bool is_keyword(std::string_view word) {
  static constexpr std::array<std::string_view, 21> keywords = {
      "for",    "endfor",   "do",      "while",  "float", "double", "int",    "int8",      "int16",   "cast",
      "struct", "constant", "clamped", "extend", "wrap",  "mirror", "vector", "parameter", "stencil", "return"};
  return std::find(keywords.begin(), keywords.end(), word) != keywords.end() && !word.empty();
}

}  // namespace tessera::lang
