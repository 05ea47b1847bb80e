// The text of errors: what a user sees, in the shape that editors and terminals already understand.
//
//   canny.forma:3:18: error: unknown name 'mag'
//      3 | edges = mag > 0.3
//        |         ^~~
//   note: 'mag2' is defined at line 2
//   help: did you mean 'mag2'?
//
// The source line comes from the user, so it is made safe first: control characters cannot reach the terminal, tabs
// become spaces in the line and under it alike, and a very long line is cut to a window around the caret.
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace tessera {
namespace {

constexpr int window = 160;  // columns of source shown at most

std::string label(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

void append_trailer(std::string& out, const std::vector<std::string>& notes, const std::string& help) {
  for (const std::string& note : notes) out += "note: " + note + "\n";
  if (!help.empty()) out += "help: " + help + "\n";
}

void append_excerpt(std::string& out, const SourceSpan& span) {
  std::vector<std::string> cells = base::printable_characters(span.text);
  const int count = static_cast<int>(cells.size());
  const int column = std::clamp(span.column - 1, 0, count);  // one past the end is a fair place for "expected ..."
  const int first = column > window - 40 ? column - window / 2 : 0;
  const int last = std::min(count, first + window);
  const int width = std::clamp(span.length, 1, std::max(1, last - column));

  std::string line = first > 0 ? "..." : "";
  std::string under(line.size(), ' ');
  for (int i = first; i < last; ++i) {
    line += cells[i];
    if (i < column) under.append(base::display_width(cells[i]), ' ');
  }
  if (last < count) line += "...";
  for (int i = 0; i < width; ++i) {
    const std::size_t cell_width = column + i < count ? base::display_width(cells[column + i]) : 1;
    for (std::size_t k = 0; k < cell_width; ++k) under += (i == 0 && k == 0) ? '^' : '~';
  }
  const std::string number = std::to_string(span.line);
  out += fmt::format("{:>5} | {}\n{:>5} | {}\n", number, line, "", under);
}

std::string render_plain(const std::string& message, const std::vector<std::string>& notes, const std::string& help) {
  std::string out = message + "\n";
  append_trailer(out, notes, help);
  out.pop_back();
  return out;
}

std::string render_all(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += d.render();
  if (!out.empty()) out.pop_back();
  return out;
}

std::string first_message(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics) {
    if (d.severity == Severity::error) return d.message;
  }
  return diagnostics.empty() ? "the program does not compile" : diagnostics.front().message;
}

}  // namespace

std::string Diagnostic::render() const {
  std::string out = span.file;
  if (span.line > 0) {
    out += fmt::format(":{}", span.line);
    if (span.column > 0) out += fmt::format(":{}", span.column);
  }
  if (!out.empty()) out += ": ";
  out += label(severity) + ": " + message + "\n";
  if (span.line > 0 && span.column > 0 && !span.text.empty()) append_excerpt(out, span);
  append_trailer(out, notes, help);
  return out;
}

Error::Error(ErrorClass cls, std::string message, std::vector<std::string> notes, std::string help)
    : std::runtime_error(render_plain(message, notes, help)),
      class_(cls),
      message_(std::move(message)),
      notes_(std::move(notes)),
      help_(std::move(help)) {}

Error::Error(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(render_all(diagnostics)),
      class_(ErrorClass::compile),
      message_(first_message(diagnostics)),
      diagnostics_(std::move(diagnostics)) {}

}  // namespace tessera
