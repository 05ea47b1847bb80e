// Lines, words and quoted strings.
#include "ir/text/text_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::ir::text {

namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string quote(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (u < 32 || u == 127)
      out += fmt::format("\\x{:02x}", u);
    else
      out += c;
  }
  return out + "\"";
}

void Reader::fail(std::string_view expected) const {
  throw Error(ErrorClass::compile,
              fmt::format("{}, line {}, column {}: expected {}, got {}", what_, line_number_, at_ + 1, expected,
                          base::quoted(line_.substr(std::min(at_, line_.size())), 40)));
}

bool Reader::next_line() {
  while (!text_.empty()) {
    const std::size_t end = text_.find('\n');
    line_ = text_.substr(0, end);
    text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    ++line_number_;
    at_ = 0;
    skip();
    if (at_ < line_.size() && line_[at_] != '#') return true;
  }
  return false;
}

void Reader::end_of_line() {
  skip();
  if (at_ != line_.size()) fail("the end of the line");
}

void Reader::skip() {
  while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
}

bool Reader::peek(char c) {
  skip();
  return at_ < line_.size() && line_[at_] == c;
}

bool Reader::accept(char c) {
  if (!peek(c)) return false;
  ++at_;
  return true;
}

void Reader::expect(char c) {
  if (!accept(c)) fail(std::string("'") + c + "'");
}

std::string_view Reader::word() {
  skip();
  const std::size_t begin = at_;
  while (at_ < line_.size() && is_name_character(line_[at_])) ++at_;
  return line_.substr(begin, at_ - begin);
}

bool Reader::accept_word(std::string_view wanted) {
  const std::size_t begin = at_;
  if (word() == wanted) return true;
  at_ = begin;
  return false;
}

i64 Reader::integer() {
  skip();
  i64 v = 0;
  const auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + line_.size(), v);
  if (error != std::errc()) fail("an integer");
  at_ = static_cast<std::size_t>(end - line_.data());
  return v;
}

std::string Reader::string() {
  expect('"');
  std::string s;
  while (at_ < line_.size() && line_[at_] != '"') {
    char c = line_[at_++];
    if (c == '\\' && at_ < line_.size()) {
      c = line_[at_++];
      if (c == 'x') {
        unsigned v = 0;
        if (at_ + 2 > line_.size()) fail("two hexadecimal digits");
        const auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + at_ + 2, v, 16);
        if (error != std::errc() || end != line_.data() + at_ + 2) fail("two hexadecimal digits");
        at_ += 2;
        c = static_cast<char>(v);
      }
    }
    s += c;
  }
  expect('"');
  return s;
}

}  // namespace tessera::ir::text
