// See holes.hpp.
#include "emit/holes.hpp"

#include <algorithm>

namespace tessera::emit {

std::string_view section(std::string_view text, std::string_view name) {
  const std::string head = "//@ " + std::string(name) + "\n";
  text.remove_prefix(std::min(text.find(head), text.size()));
  text.remove_prefix(std::min(head.size(), text.size()));
  while (text.starts_with("// ")) text.remove_prefix(text.find('\n') + 1);
  return text.substr(0, text.find("//@ "));
}

std::string filled(std::string_view text, const Holes& holes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    const std::size_t close = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", 1);
    const bool closes = close != std::string_view::npos && text[close] == '}';
    const auto hole = closes ? holes.find(text.substr(1, close - 1)) : holes.end();
    if (hole != holes.end())
      out += hole->second;
    else
      out += text.substr(0, 1);
    text.remove_prefix(hole != holes.end() ? close + 1 : std::min<std::size_t>(1, text.size()));
  }
  return out;
}

}  // namespace tessera::emit
