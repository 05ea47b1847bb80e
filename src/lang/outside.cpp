// Values of parameters as text, the way they come from a command line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "lang/compile.hpp"
#include "lang/functions.hpp"
#include "lang/syntax/token.hpp"

namespace tessera::lang {
namespace {

Border parse_border(std::string_view text, std::string_view what) {
  const std::size_t open = text.find('(');
  const std::string_view word = base::trim(text.substr(0, open));
  const std::optional<BorderMode> mode = find_mode(word);
  if (!mode) {
    const std::string_view ours = mode_synonym(word);
    throw Error(
        ErrorClass::argument,
        fmt::format("{} {} is no boundary mode, expected {}", what, base::quoted(word), base::list_of(mode_words())),
        {}, ours.empty() ? base::did_you_mean(word, mode_words()) : fmt::format("write {}", ours));
  }
  if (*mode != BorderMode::constant) {
    if (open != std::string_view::npos)
      throw Error(ErrorClass::argument, fmt::format("{} {} cannot be used: mode {} takes no value", what,
                                                    base::quoted(text), base::quoted(word)));
    return {*mode, 0};
  }
  std::optional<double> value;
  if (open != std::string_view::npos && text.back() == ')')
    value = base::parse_number(base::trim(text.substr(open + 1, text.size() - open - 2)));
  if (!value || !std::isfinite(*value))
    throw Error(ErrorClass::argument,
                fmt::format("{} {} cannot be used: expected a number, as in constant(0)", what, base::quoted(text)));
  return {*mode, *value};
}

}  // namespace

std::vector<Border> parse_borders(std::string_view text, std::string_view what) {
  text = base::trim(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  std::vector<Border> all;
  for (const std::string_view part : base::split(text, ',')) all.push_back(parse_border(base::trim(part), what));
  if (all.size() > 4)
    throw Error(ErrorClass::argument,
                fmt::format("{} {} has {} modes, expected at most 4", what, base::quoted(text), all.size()));
  return all;
}

std::string text_of(const Border& b) {
  return b.mode == BorderMode::constant ? fmt::format("constant({})", b.value) : std::string(name_of(b.mode));
}

bool is_free_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= 200 && letter(text[0]) && !is_keyword(text) && !find_type(text) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

std::optional<ElementType> parse_type(std::string_view text) {
  return find_type(text);
}

}  // namespace tessera::lang
