// Small text tools shared by every layer: cutting, measuring, suggesting, quoting. Nothing here allocates more than a
// small multiple of its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::base {

std::string_view trim(std::string_view);                                // blanks, tabs and line ends off both sides
std::vector<std::string_view> split(std::string_view, char separator);  // "a,,b" gives a, "" and b; "" gives one ""
std::vector<std::string_view> split_words(std::string_view);            // between runs of white space, no empty ones
std::string join(const std::vector<std::string>&, std::string_view separator);
std::string to_lower(std::string_view);  // ASCII only, whatever the locale

// Whole-string numbers, independent of the locale; nothing when there is anything else or it does not fit.
std::optional<std::int64_t> parse_integer(std::string_view);
std::optional<double> parse_number(std::string_view);

// Levenshtein distance with transpositions of neighbours counted once.
std::size_t edit_distance(std::string_view, std::string_view);
// The candidate that `name` is most likely a slip of, if one is close enough to suggest. Case differences cost little.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);
// "did you mean 'x'?" or "" when nothing is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);
// "a", "a or b", "a, b or c".
std::string list_of(const std::vector<std::string>&, std::string_view conjunction = "or");

std::string format_bytes(double bytes);       // "0 B", "1023 B", "1.5 KiB", "12 GiB"
std::string format_duration(double seconds);  // "350 us", "1.25 s", "2m05s", "3h07m"
std::string format_count(std::int64_t);       // "1,234,567"

// User text made safe for one line of output: control characters and broken UTF-8 become \xNN, at most `limit`
// characters are kept.
std::string quoted(std::string_view, std::size_t limit = 120);  // with single quotes around it
// One string per character of a line: a tab is two spaces, anything unprintable is "?".
std::vector<std::string> printable_characters(std::string_view line);
// Terminal cells of one such string (tabs are 2, everything else 1).
std::size_t display_width(const std::string& character);

}  // namespace tessera::base
