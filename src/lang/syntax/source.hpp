// Source texts and places in them.
//
// Every token and every node of the syntax tree carries a Span: two byte offsets into one text. Lines and columns are
// worked out only when a diagnostic needs them, so a place costs 16 bytes and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.hpp"

namespace tessera::lang {

struct Source {
  std::string name;  // as diagnostics print it
  std::string text;
  std::string folder;  // where its imports are looked for first; "" for a text that came from no file
  mutable std::vector<std::uint32_t> lines;  // where lines begin; filled by the first locate()
};

struct Span {
  const Source* source = nullptr;
  std::uint32_t begin = 0, end = 0;  // bytes; end < begin: the text as a whole, without a line

  static Span whole(const Source& s) { return {&s, 1, 0}; }
  std::string_view text() const { return std::string_view(source->text).substr(begin, end - begin); }
};

// From the beginning of `a` to the end of `b`, in the same text.
Span join(Span a, Span b);

// Line, column and length in characters (a UTF-8 sequence is one character), and the whole line for the caret. The
// line is cut where it is too long to quote.
SourceSpan locate(const Span&);

// "line 12", or "other.forma:12" when it is in another text than `from`.
std::string describe_place(const Span& place, const Span& from);

}  // namespace tessera::lang
