// Byte offsets to lines and columns. Every stage of an unrolled program carries its place, so the beginnings of lines
// are looked up in a table.
#include "lang/syntax/source.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::lang {
namespace {

constexpr std::size_t longest_quoted_line = 4000;  // bytes

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

int characters(std::string_view s) {
  return static_cast<int>(std::count_if(s.begin(), s.end(), starts_character));
}

}  // namespace

Span join(Span a, Span b) {
  return {a.source, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

SourceSpan locate(const Span& span) {
  SourceSpan out;
  if (span.source == nullptr) return out;
  out.file = span.source->name;
  if (span.end < span.begin) return out;
  const std::string_view text = span.source->text;
  const std::size_t at = std::min<std::size_t>(span.begin, text.size());
  std::vector<std::uint32_t>& lines = span.source->lines;
  if (lines.empty()) {
    lines.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') lines.push_back(static_cast<std::uint32_t>(i + 1));
  }
  const auto line = std::upper_bound(lines.begin(), lines.end(), at) - 1;
  const std::size_t line_begin = *line;
  const std::size_t line_end = std::min(text.find('\n', at), text.size());

  out.line = 1 + static_cast<int>(line - lines.begin());
  out.column = 1 + characters(text.substr(line_begin, at - line_begin));
  const std::size_t end = std::clamp<std::size_t>(span.end, at, line_end);
  out.length = std::max(1, characters(text.substr(at, end - at)));
  if (at - line_begin < longest_quoted_line)
    out.text = text.substr(line_begin, std::min(line_end - line_begin, at - line_begin + longest_quoted_line));
  if (!out.text.empty() && out.text.back() == '\r') out.text.pop_back();
  return out;
}

std::string describe_place(const Span& place, const Span& from) {
  const SourceSpan at = locate(place);
  if (place.source == from.source) return fmt::format("line {}", at.line);
  return fmt::format("{}:{}", at.file, at.line);
}

}  // namespace tessera::lang
