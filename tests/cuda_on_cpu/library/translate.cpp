// See translate.hpp. It knows the form of texts that compile: what it does not understand it leaves to g++ to refuse.
#include "translate.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace cuda_on_cpu {
namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// Behind a string, a comment or whatever else is one thing at `at`.
std::size_t behind(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "/*") return std::min(text.find("*/", at + 2), text.size() - 2) + 2;
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text[at] == '"') {
    ++at;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return at + 1;
  }
  if (text[at] == '(') {
    ++at;
    while (at < text.size() && text[at] != ')') at = behind(text, at);
    return at + 1;
  }
  const std::size_t begin = at;
  while (at < text.size() && in_name(text[at])) ++at;
  return at > begin ? at : at + 1;
}

// "cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h) as "cuda_asm_cvt_f32_f16(x, h)".
std::string call_of(std::string_view assembly) {
  const std::size_t end = behind(assembly, 0);
  const std::string_view instruction = assembly.substr(1, end - 2);
  std::vector<std::string> operands;
  for (std::size_t at = end; at < assembly.size(); at = behind(assembly, at))
    if (assembly[at] == '(') operands.emplace_back(assembly.substr(at, behind(assembly, at) - at));
  std::string name;
  for (const char c : instruction.substr(0, instruction.find(' '))) name += in_name(c) ? c : '_';
  std::string list;
  for (std::size_t k = 0; k + 1 < instruction.size(); ++k) {
    if (instruction[k] != '%') continue;
    std::size_t number = 0;
    for (std::size_t d = k + 1; d < instruction.size() && std::isdigit(static_cast<unsigned char>(instruction[d])); ++d)
      number = 10 * number + static_cast<std::size_t>(instruction[d] - '0');
    if (number < operands.size()) list += (list.empty() ? "" : ", ") + operands[number];
  }
  const bool one = std::count(instruction.begin(), instruction.end(), ';') == 1;
  return (one ? "cuda_asm_" + name : "cuda_asm_of_several_instructions") + "(" + list + ")";
}

// " int row[]" as "CUDA_DYNAMIC( int, row)".
std::string dynamic_array(std::string_view declaration) {
  const std::size_t end = std::min(declaration.find('['), declaration.size());
  std::size_t begin = end;
  while (begin > 0 && in_name(declaration[begin - 1])) --begin;
  return "CUDA_DYNAMIC(" + std::string(declaration.substr(0, begin)) + ", " +
         std::string(declaration.substr(begin, end - begin)) + ")";
}

// Where the text has the word, with nothing but space ahead of it: behind it; else npos.
std::size_t behind_word(std::string_view text, std::size_t at, std::string_view word) {
  at = skip_space(text, at);
  const std::size_t end = at < text.size() ? behind(text, at) : at;
  return text.substr(at, end - at) == word ? end : std::string_view::npos;
}

// The name behind "__global__": the last one before the arguments.
std::string kernel_name(std::string_view text, std::size_t at) {
  std::string name;
  for (at = skip_space(text, at); at < text.size(); at = skip_space(text, at)) {
    if (text[at] == '(') {
      if (name != "__launch_bounds__") return name;
    } else {
      name = text.substr(at, behind(text, at) - at);
    }
    at = behind(text, at);
  }
  return "";
}

}  // namespace

std::string translate(const std::string& source) {
  const std::string_view text = source;
  std::string out, entries;
  for (std::size_t at = 0; at < text.size();) {
    // What is in parentheses matters as well.
    const std::size_t end = text[at] == '(' ? at + 1 : std::min(behind(text, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (word == "__global__") entries += "CUDA_KERNEL(" + kernel_name(text, at) + ")\n";
    if (const std::size_t declared = behind_word(text, at, "__shared__");
        word == "extern" && declared != std::string_view::npos) {
      at = std::min(text.find(';', declared), text.size());
      out += dynamic_array(text.substr(declared, at - declared));
      continue;
    }
    if (word != "asm") {
      out += word;
      continue;
    }
    at = skip_space(text, at);
    if (text.substr(at).starts_with("volatile")) at = skip_space(text, at + 8);
    const std::size_t closed = std::min(behind(text, at), text.size());
    const std::string_view inside = text.substr(at + 1, closed - at - 2);
    out += call_of(inside.substr(skip_space(inside, 0)));
    at = closed;
  }
  return out + "\n" + entries;
}

}  // namespace cuda_on_cpu
