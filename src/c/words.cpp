// What the compiler advises is written with the flags of the command, once, where it is found out. Who calls the
// library has options instead: one table says which.
#include "c/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace tessera::c {

namespace {

struct Flag {
  std::string_view flag, option;
  bool named = false;  // NAME=VALUE after the flag is option.NAME=VALUE
};

constexpr std::array<Flag, 17> flags = {{{"--additions", "additions"},
                                         {"--chip", "chip"},
                                         {"--compile-limit", "compile_limit"},
                                         {"--compiler", "compiler"},
                                         {"--error", "error"},
                                         {"--exact", "numbers=exact"},
                                         {"--frequency", "frequency"},
                                         {"--input", "input", true},
                                         {"--json", "format=json"},
                                         {"--lanes", "lanes"},
                                         {"--max-size", "height and width"},
                                         {"--method", "method"},
                                         {"--name", "name"},
                                         {"--schedule", "schedule"},
                                         {"--size", "height, width and fixed"},
                                         {"--table", "table", true},
                                         {"--vectors", "vector_bits"}}};

// What follows a flag in a sentence and is no value of it.
constexpr std::array<std::string_view, 6> prose = {"and", "away", "for", "lists", "names", "or"};

// Beside the flag stands what C++ has for it.
constexpr std::array<std::string_view, 2> of_cpp = {" (compile_limit of the options)", " (RunOptions::compile_limit)"};

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

std::string_view value_after(std::string_view text) {
  if (text.size() < 2 || text[0] != ' ' || !in_word(text[1])) return {};
  std::size_t end = text.find_first_of(" ,;()\n", 1);
  if (end == std::string_view::npos) end = text.size();
  while (end > 1 && !in_word(text[end - 1])) --end;
  const std::string_view word = text.substr(1, end - 1);
  return std::find(prose.begin(), prose.end(), word) == prose.end() ? word : std::string_view{};
}

std::vector<std::string> each_in_options(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(in_options(text));
  return out;
}

}  // namespace

std::string in_options(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = text.find("--", at);
    out += text.substr(at, next - at);
    if (next == std::string_view::npos) break;
    std::size_t end = next;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::string_view word = text.substr(next, end - next);
    const auto* const known = std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.flag == word; });
    at = std::max(end, next + 2);
    if (known == flags.end() || (next > 0 && in_word(text[next - 1]))) {
      out += text.substr(next, at - next);
      continue;
    }
    const std::string_view value = value_after(text.substr(at));
    if (!value.empty()) at += value.size() + 1;
    const std::size_t equals = value.find('=');
    out += "option ";
    out += known->option;
    if (known->named && equals != std::string_view::npos) {
      out += '.';
      out += value.substr(0, equals);
      std::string rest(value.substr(equals));
      if (known->flag == "--input") std::replace(rest.begin(), rest.end(), '.', '/');
      if (rest != "=FILE") out += rest;  // it is given as a tensor
    } else if (!value.empty() && value != "HEIGHTxWIDTH") {
      out += '=';
      out += value;
    }
    for (const std::string_view also : of_cpp)
      if (text.substr(at).starts_with(also)) at += also.size();
  }
  return out;
}

Diagnostic in_options(Diagnostic d) {
  d.message = in_options(d.message);
  d.notes = each_in_options(d.notes);
  d.help = in_options(d.help);
  return d;
}

Error in_options(const Error& error) {
  if (error.diagnostics().empty())
    return {error.error_class(), in_options(error.message()), each_in_options(error.notes()), in_options(error.help())};
  std::vector<Diagnostic> diagnostics;
  for (const Diagnostic& d : error.diagnostics()) diagnostics.push_back(in_options(d));
  return {std::move(diagnostics)};
}

}  // namespace tessera::c
