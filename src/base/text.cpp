// Small text tools; see text.hpp.
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera::base {
namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Bytes of the well-formed UTF-8 character that starts at s[0], or 0.
std::size_t character_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = byte(0);
  std::size_t n = 0;
  if (c < 0x80) {
    return 1;
  } else if (c >= 0xc2 && c < 0xe0) {
    n = 2;
  } else if (c >= 0xe0 && c < 0xf0) {
    n = 3;
  } else if (c >= 0xf0 && c < 0xf5) {
    n = 4;
  } else {
    return 0;
  }
  if (s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if ((c == 0xe0 && byte(1) < 0xa0) || (c == 0xf0 && byte(1) < 0x90) || (c == 0xf4 && byte(1) > 0x8f)) return 0;
  return n;
}

// Control characters of both ranges: C0, DEL and C1 (which some terminals obey as well).
bool is_control(std::string_view character) {
  const auto c = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return c < 0x20 || c == 0x7f;
  return character.size() == 2 && c == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::string_view trim(std::string_view s) {
  const std::size_t first = s.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = s.find(separator);
    parts.push_back(s.substr(0, end));
    if (end == std::string_view::npos) return parts;
    s.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view s) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t first = s.find_first_not_of(blanks);
    if (first == std::string_view::npos) return words;
    s.remove_prefix(first);
    const std::size_t end = std::min(s.find_first_of(blanks), s.size());
    words.push_back(s.substr(0, end));
    s.remove_prefix(end);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string to_lower(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

std::optional<std::int64_t> parse_integer(std::string_view s) {
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (code != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view s) {
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (code != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: transposition looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 256;  // nobody mistypes more; keeps the quadratic table small
  if (name.empty() || name.size() > longest) return std::nullopt;
  const std::size_t budget = std::max<std::size_t>(1, name.size() / 3);
  const std::string folded = to_lower(name);
  std::optional<std::string> best;
  std::size_t best_cost = 2 * budget + 2;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate == name || candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(folded, to_lower(candidate));
    // A one-letter name is one edit away from every other one: not a slip.
    if (distance > budget || distance >= std::max(name.size(), candidate.size())) continue;
    const std::size_t cost = 2 * distance + (edit_distance(name, candidate) != distance ? 1 : 0);
    if (cost < best_cost) {
      best_cost = cost;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::optional<std::string> found = nearest(name, candidates);
  return found ? "did you mean '" + *found + "'?" : std::string();
}

std::string list_of(const std::vector<std::string>& items, std::string_view conjunction) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? fmt::format(" {} ", conjunction) : ", ";
    out += items[i];
  }
  return out;
}

std::string format_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (!(bytes >= 0)) bytes = 0;
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0: the next unit says it better.
  while (unit + 1 < std::size(units) && bytes >= (unit == 0 ? 1024.0 : 1023.95)) {
    bytes /= 1024;
    ++unit;
  }
  const double tenths = std::round(bytes * 10) / 10;
  const bool whole = unit == 0 || tenths >= 100 || tenths == std::floor(tenths);
  return fmt::format("{:.{}f} {}", bytes, whole ? 0 : 1, units[unit]);
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0)) seconds = 0;
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 59.5) return fmt::format("{:.3g} s", seconds);
  if (seconds > 3.6e9) return "over 1000000h";
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string format_count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string quoted(std::string_view s, std::size_t limit) {
  std::string out = "'";
  std::size_t count = 0;
  for (std::size_t i = 0; i < s.size();) {
    if (count++ == limit) {
      out += "...";
      break;
    }
    const std::size_t n = character_length(s.substr(i));
    if (n == 0 || is_control(s.substr(i, n))) {
      for (std::size_t k = 0; k < std::max<std::size_t>(n, 1); ++k) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(s[i + k]));
      }
    } else {
      out += s.substr(i, n);
    }
    i += std::max<std::size_t>(n, 1);
  }
  return out + "'";
}

std::vector<std::string> printable_characters(std::string_view line) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t n = character_length(line.substr(i));
    if (line[i] == '\n' || line[i] == '\r') break;
    if (line[i] == '\t') {
      cells.push_back("  ");
    } else if (n == 0 || is_control(line.substr(i, n))) {
      cells.push_back("?");
    } else {
      cells.emplace_back(line.substr(i, n));
    }
    i += std::max<std::size_t>(n, 1);
  }
  return cells;
}

std::size_t display_width(const std::string& character) {
  return character == "  " ? 2 : 1;
}

}  // namespace tessera::base
